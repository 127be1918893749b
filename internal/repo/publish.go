package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
)

// pushAttempts is how often a push is built anew on a branch that somebody else
// moves, before the work goes to a branch of its own. The time of the context
// usually ends first.
const pushAttempts = 200

// pushStuck is how often a branch may be refused as moved although it is where it
// was: that is no race, but a rule of the server's.
const pushStuck = 6

// answerAfterPush is how long the question where the branches are may stay without an
// answer after the push that went with it has arrived.
const answerAfterPush = 2 * time.Second

// Push brings the branch on the server to the last checkpoint, if it is not
// there already. Errors: *remote.PermissionError, *remote.RejectedError, or what the network
// said. A branch that moved meanwhile is no error: our commits are replayed on
// top, or, where both changed the same file, published under another name;
// State tells.
func (r *Repo) Push(ctx context.Context) error {
	r.settle()
	if !r.opt.Push || r.objects.Remote == nil || !r.server.pending {
		return nil
	}
	if r.changesNothing() {
		r.server.pending = false
		return nil
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, pushTime, fmt.Errorf("no answer within %s", pushTime))
		defer cancel()
	}
	if err := r.gate(ctx, r.line.tip, r.onServerNow); err != nil {
		return fmt.Errorf("push %s: %w", r.server.branch, err)
	}
	if err := r.uploadLarge(ctx); err != nil {
		return fmt.Errorf("push %s: %w", r.server.branch, err)
	}
	var seen plumbing.Hash
	stuck := 0                                      // attempts in a row that found the branch where it was
	for attempt := 1; r.server.pending; attempt++ { // what a server refuses is taken out, and nothing may be left
		err := r.objects.Remote.Retry(ctx, func() error { return r.pushOnce(ctx) })
		var conflict *conflictError
		if stuck++; r.server.tip != seen {
			seen, stuck = r.server.tip, 0
		}
		switch {
		case err == nil:
			r.server.pending = false
			return nil
		case r.withoutRefused(err):
		case errors.Is(err, errDeleted):
			r.sidestep("somebody deleted it")
		case errors.As(err, &conflict) && r.server.aside && r.server.tip.IsZero():
			r.comeBack(conflict.path)
		case errors.As(err, &conflict):
			r.sidestep(fmt.Sprintf("somebody else changed %q on it too", printable.Line(conflict.path, 200)))
		case errors.Is(err, remote.ErrNotFastForward) && attempt == pushAttempts:
			r.sidestep("it kept moving")
		case errors.Is(err, remote.ErrNotFastForward) && stuck < pushStuck && attempt < pushAttempts && r.takeTurn(ctx, attempt):
		default:
			return fmt.Errorf("push %s: %w", r.server.branch, err)
		}
	}
	return nil
}

// changesNothing reports whether the line has nothing but empty commits on top of what
// the server has of the base: a branch of those would be one without a pull request.
func (r *Repo) changesNothing() bool {
	if r.objects.Remote == nil || !r.opt.Push || r.line.updated || !r.server.pushed.IsZero() {
		return false
	}
	fresh := r.server.tip.IsZero() && r.objects.Known[r.line.startHead] || r.start.Restarted
	for h := r.line.tip; fresh; {
		c, err := r.objects.Store.Commit(h)
		switch {
		case err != nil || c.TreeHash != r.line.tipTree:
			return false
		case h == r.line.startHead:
			return true
		case len(c.ParentHashes) != 1:
			return false
		}
		h = c.ParentHashes[0]
	}
	return false
}

// onServerNow says that the server has a commit, as far as is known before it is
// asked again.
func (r *Repo) onServerNow(h plumbing.Hash) bool {
	return h == r.server.tip || r.objects.Known[h]
}

// takeTurn waits, so that many who push to one branch do not meet again. It says
// whether there is time left for another attempt.
func (r *Repo) takeTurn(ctx context.Context, attempt int) bool {
	timer := time.NewTimer(rand.N(min(r.objects.Remote.Delay<<min(attempt, 5), remote.MaxDelay)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// sidestep leaves the work on a branch of its own.
func (r *Repo) sidestep(why string) {
	from := r.server.branch
	r.server.branch = r.opt.Branch + "-" + r.line.tip.String()[:7]
	r.server.tip, r.server.onto, r.server.synced = plumbing.ZeroHash, plumbing.ZeroHash, r.line.startHead
	r.note("the branch %s could not be continued (%s): the work is on %s", from, why, r.server.branch)
}

// errDeleted is a branch of somebody else's that is not there any more.
var errDeleted = errors.New("the branch was deleted")

// conflictError is a path that we and somebody else changed differently.
type conflictError struct{ path string }

func (e *conflictError) Error() string { return "both sides changed " + printable.Line(e.path, 200) }

// pushOnce pushes on top of the branch as the server has it. It never forces: the
// old value goes with the command, and our commit stands on it. The first time it
// takes the branch to be where it was seen last, and asks where it is meanwhile:
// a server where it is elsewhere refuses the push.
func (r *Repo) pushOnce(ctx context.Context) error {
	seen := r.writes
	r.writes = remote.Advertisement{}
	assumed := seen.Caps != nil && seen.Branch(r.server.branch) == r.server.tip && r.opt.Signer == nil
	var err error
	if assumed {
		asking, stop := context.WithCancel(ctx)
		defer stop()
		r.objects.Remote.Ask(asking, remote.ReceivePack)
		if err = r.pushOn(ctx, seen); err == nil {
			defer time.AfterFunc(answerAfterPush, stop).Stop() // only later questions need the answer
		}
	}
	now, asked := r.objects.Remote.Refs(ctx, remote.ReceivePack)
	switch {
	case asked == nil:
		r.baseSeen(now)
	case !assumed:
		return asked
	}
	switch {
	case assumed && (err == nil || asked != nil || now.Branch(r.server.branch) == seen.Branch(r.server.branch)):
		// It arrived, or the server had another reason to refuse it.
	case r.opt.Signer != nil:
		err = r.pushSigned(ctx, now)
	default:
		err = r.pushOn(ctx, now)
	}
	if err == nil && asked == nil {
		now.Refs[plumbing.NewBranchReferenceName(r.server.branch).String()] = r.server.tip
		r.writes = now
	}
	return err
}

// baseSeen takes note of where the base is on the server.
func (r *Repo) baseSeen(adv remote.Advertisement) {
	if b := adv.Branch(r.start.Base); r.objects.BaseRemote == nil && r.start.Base != "" {
		r.baseTip = b
	}
}

// pushOn pushes on top of what the server offers.
func (r *Repo) pushOn(ctx context.Context, adv remote.Advertisement) error {
	old := adv.Branch(r.server.branch)
	if err := r.buildOn(ctx, old); err != nil {
		return err
	}
	tip, err := r.publicTip(ctx)
	if err != nil {
		return err
	}
	if tip != old {
		have := func(h plumbing.Hash) bool { return h == old || r.objects.Known[h] }
		if err := r.gate(ctx, tip, have); err != nil {
			return err
		}
		if ok, err := r.standsOn(ctx, tip, old); !ok || err != nil {
			return errors.Join(err, notOn(ok, r.server.branch))
		}
		objects, err := r.objects.Store.Missing(tip, have)
		if err != nil {
			return err
		}
		err = r.objects.Remote.Send(ctx, adv, r.server.branch, old, tip, func(w io.Writer) error { return r.objects.Store.WritePack(w, objects) })
		if err != nil {
			return err
		}
	}
	r.server.tip, r.server.synced, r.server.pushed = tip, r.line.tip, tip
	r.objects.Known[tip] = true
	if !r.server.onto.IsZero() {
		r.server.onto = tip
	}
	r.server.join = plumbing.ZeroHash
	return nil
}

// buildOn takes note of where the branch is on the server.
func (r *Repo) buildOn(ctx context.Context, old plumbing.Hash) error {
	switch {
	case old == r.server.tip:
		return nil
	case !old.IsZero() && old == r.server.join:
		// A push whose answer got lost.
		r.server.tip, r.server.onto, r.server.synced, r.server.join = old, old, r.line.tip, plumbing.ZeroHash
		return nil
	case old.IsZero() && r.opt.Continue && r.server.branch == r.opt.Branch:
		return errDeleted // it is somebody else's
	case old.IsZero():
		// Somebody deleted the branch: it is made again.
		r.server.tip = old
		return nil
	case r.line.ours[old] && r.server.onto.IsZero():
		// A push whose answer got lost.
		r.server.tip, r.server.synced = old, old
		return nil
	}
	if err := r.fetchForeign(ctx, old); err != nil {
		return fmt.Errorf("fetch what somebody else pushed: %w", err)
	}
	if !r.line.edge.IsZero() && r.server.pushed.IsZero() && r.server.synced == r.line.startHead {
		r.server.synced = r.line.edge // commits that were made here before the run come along
	}
	if tip, err := r.replay(ctx, old); err == nil && tip == old {
		// Replaying is repeatable: this is our own last push, or holds it.
		r.server.synced = r.line.tip
	}
	r.server.tip, r.server.onto = old, old
	return nil
}

// fetchForeign takes the server's branch into the store, and only there. Without
// its whole tree (the new commits may reuse folders of a history we do not
// have) it is fetched once more, by itself.
func (r *Repo) fetchForeign(ctx context.Context, tip plumbing.Hash) error {
	f, err := r.objects.Store.Spool()
	if err != nil {
		return err
	}
	defer store.Discard(f)
	have := make([]plumbing.Hash, 0, len(r.objects.Known))
	for h := range r.objects.Known {
		have = append(have, h)
	}
	for _, want := range []remote.Wanted{{Have: have}, {Depth: 1}} {
		want.Tips = []plumbing.Hash{tip}
		if err := r.objects.Remote.FetchOnce(ctx, r.server.reads, want, f); err != nil {
			return err
		}
		if _, err := r.objects.Store.ImportPack(f, false); err != nil {
			return err
		}
		c, err := r.objects.Store.Commit(tip)
		if err == nil && r.objects.Store.Whole(c.TreeHash) {
			r.objects.Known[tip] = true
			return nil
		}
	}
	return fmt.Errorf("the server did not send all of %s", tip)
}

// publicTip is what to push: the line itself, or its new commits replayed on
// somebody else's.
func (r *Repo) publicTip(ctx context.Context) (plumbing.Hash, error) {
	tip, err := r.line.tip, error(nil)
	if !r.server.onto.IsZero() {
		tip, err = r.replay(ctx, r.server.onto)
	}
	if err != nil || r.server.join.IsZero() {
		return tip, err
	}
	join, err := r.objects.Store.Commit(r.server.join)
	if err != nil || join.ParentHashes[0] != tip {
		r.server.join = plumbing.ZeroHash // somebody moved the branch
		return tip, err
	}
	r.server.onto = join.Hash
	return join.Hash, nil
}

// replay puts our commits since the last push on top of onto: same author,
// committer and message. A merge becomes one commit with what it brought; a
// commit of which nothing is left disappears, and one that was empty stays: its
// message is the record of a run.
func (r *Repo) replay(ctx context.Context, onto plumbing.Hash) (plumbing.Hash, error) {
	var chain []*object.Commit
	for h := r.line.tip; h != r.server.synced; {
		c, err := r.objects.Store.Commit(h)
		if err != nil {
			return plumbing.ZeroHash, fmt.Errorf("no way from %s down to %s: %w", r.line.tip, r.server.synced, err)
		}
		chain = append(chain, c)
		if len(c.ParentHashes) == 0 || r.objects.Known[h] {
			return plumbing.ZeroHash, fmt.Errorf("no way from %s down to %s", r.line.tip, r.server.synced)
		}
		h = c.ParentHashes[0]
	}
	made, err := r.graftOn(ctx, chain, onto)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if len(made) == 0 {
		return onto, nil
	}
	return made[len(made)-1], nil
}

// graftOn makes the commits of a chain, newest first, anew on top of onto, and
// returns the new ones, oldest first. The merge a line starts with keeps its
// other parents, which the server has. Commits that were empty from the beginning
// are kept.
func (r *Repo) graftOn(ctx context.Context, chain []*object.Commit, onto plumbing.Hash) ([]plumbing.Hash, error) {
	var made []plumbing.Hash
	for _, c := range slices.Backward(chain) {
		var was plumbing.Hash
		if len(c.ParentHashes) > 0 {
			parent, err := r.objects.Store.Commit(c.ParentHashes[0])
			if err != nil {
				return nil, err
			}
			was = parent.TreeHash
		}
		base, err := r.objects.Store.Commit(onto)
		if err != nil {
			return nil, err
		}
		tree, conflict, err := r.objects.Merge(ctx, was, c.TreeHash, base.TreeHash)
		if err != nil {
			return nil, err
		}
		if conflict != "" {
			return nil, &conflictError{path: conflict}
		}
		parents := []plumbing.Hash{onto}
		if c.Hash == r.line.startHead {
			parents = append(parents, c.ParentHashes[1:]...)
		}
		if tree == base.TreeHash && len(parents) == 1 && c.TreeHash != was {
			continue
		}
		onto, err = r.objects.Store.WriteCommit(&object.Commit{
			Author: c.Author, Committer: c.Committer, Message: c.Message,
			TreeHash: tree, ParentHashes: parents,
		})
		if err != nil {
			return nil, err
		}
		made = append(made, onto)
	}
	return made, nil
}
