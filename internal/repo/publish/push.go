package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/repo/history"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
)

// pushTime bounds a push whose context has no deadline.
const pushTime = 10 * time.Minute

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
func (b *Branch) Push(ctx context.Context) error {
	if !b.opt.Push || b.Remote == nil || !b.Pending {
		return nil
	}
	if b.changesNothing() {
		b.Pending = false
		return nil
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, pushTime, fmt.Errorf("no answer within %s", pushTime))
		defer cancel()
	}
	if err := b.inspectOutgoing(ctx, b.Tip, b.OnServer); err != nil {
		return fmt.Errorf("push %s: %w", b.Name, err)
	}
	if err := b.uploadLarge(ctx); err != nil {
		return fmt.Errorf("push %s: %w", b.Name, err)
	}
	var seen plumbing.Hash
	stuck := 0                               // attempts in a row that found the branch where it was
	for attempt := 1; b.Pending; attempt++ { // what a server refuses is taken out, and nothing may be left
		err := b.Remote.Retry(ctx, func() error { return b.pushOnce(ctx) })
		var conflict *ConflictError
		if stuck++; b.ServerTip != seen {
			seen, stuck = b.ServerTip, 0
		}
		switch {
		case err == nil:
			b.Pending = false
			return nil
		case b.withoutRefused(err):
		case errors.Is(err, errDeleted):
			b.sidestep("somebody deleted it")
		case errors.As(err, &conflict) && b.Aside && b.ServerTip.IsZero():
			b.abortRebase(conflict.Path)
		case errors.As(err, &conflict) && !b.opt.Stay:
			b.sidestep(fmt.Sprintf("somebody else changed %q on it too", printable.Line(conflict.Path, 200)))
		case errors.Is(err, remote.ErrNotFastForward) && attempt == pushAttempts && !b.opt.Stay:
			b.sidestep("it kept moving")
		case errors.Is(err, remote.ErrNotFastForward) && stuck < pushStuck && attempt < pushAttempts && b.takeTurn(ctx, attempt):
		default:
			return fmt.Errorf("push %s: %w", b.Name, err)
		}
	}
	return nil
}

// changesNothing reports whether the line has nothing but empty commits on top of what
// the server has of the base: a branch of those would be one without a pull request.
func (b *Branch) changesNothing() bool {
	if b.Remote == nil || !b.opt.Push || b.Updated || !b.Pushed.IsZero() {
		return false
	}
	fresh := b.ServerTip.IsZero() && b.Published[b.Start] || b.Restarted
	for h := b.Tip; fresh; {
		c, err := b.Store.Commit(h)
		switch {
		case err != nil || c.TreeHash != b.TipTree:
			return false
		case h == b.Start:
			return true
		case len(c.ParentHashes) != 1:
			return false
		}
		h = c.ParentHashes[0]
	}
	return false
}

// OnServer reports whether the server has a commit, as far as is known before it is
// asked again.
func (b *Branch) OnServer(h plumbing.Hash) bool {
	return h == b.ServerTip || b.Published[h]
}

// takeTurn waits, so that many who push to one branch do not meet again. It says
// whether there is time left for another attempt.
func (b *Branch) takeTurn(ctx context.Context, attempt int) bool {
	timer := time.NewTimer(rand.N(min(b.Remote.Delay<<min(attempt, 5), remote.MaxDelay)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// sidestep leaves the work on a branch of its own.
func (b *Branch) sidestep(why string) {
	from := b.Name
	b.Name = b.opt.Branch + "-" + b.Tip.String()[:7]
	b.ServerTip, b.Onto, b.Synced = plumbing.ZeroHash, plumbing.ZeroHash, b.Start
	b.Note("the branch %s could not be continued (%s): the work is on %s", from, why, b.Name)
}

// errDeleted is a branch of somebody else's that is not there any more.
var errDeleted = errors.New("the branch was deleted")

// ConflictError is a path that we and somebody else changed differently.
type ConflictError struct{ Path string }

func (e *ConflictError) Error() string { return "both sides changed " + printable.Line(e.Path, 200) }

// pushOnce pushes on top of the branch as the server has it. It never forces: the
// old value goes with the command, and our commit stands on it. The first time it
// takes the branch to be where it was seen last, and asks where it is meanwhile:
// a server where it is elsewhere refuses the push.
func (b *Branch) pushOnce(ctx context.Context) error {
	seen := b.writes
	b.writes = remote.Advertisement{}
	assumed := seen.Caps != nil && seen.Branch(b.Name) == b.ServerTip && b.opt.Signer == nil
	var err error
	if assumed {
		asking, stop := context.WithCancel(ctx)
		defer stop()
		b.Remote.Ask(asking, remote.ReceivePack)
		if err = b.pushOn(ctx, seen); err == nil {
			defer time.AfterFunc(answerAfterPush, stop).Stop() // only later questions need the answer
		}
	}
	now, asked := b.Remote.Refs(ctx, remote.ReceivePack)
	switch {
	case asked == nil:
		b.baseSeen(now)
	case !assumed:
		return asked
	}
	switch {
	case assumed && (err == nil || asked != nil || now.Branch(b.Name) == seen.Branch(b.Name)):
		// It arrived, or the server had another reason to refuse it.
	case b.opt.Signer != nil:
		err = b.pushSigned(ctx, now)
	default:
		err = b.pushOn(ctx, now)
	}
	if err == nil && asked == nil {
		now.Refs[plumbing.NewBranchReferenceName(b.Name).String()] = b.ServerTip
		b.writes = now
	}
	return err
}

// baseSeen notes where the base is on the server.
func (b *Branch) baseSeen(adv remote.Advertisement) {
	if b.BaseRemote == nil && b.Base != "" {
		b.BaseTip = adv.Branch(b.Base)
	}
}

// pushOn pushes on top of what the server offers.
func (b *Branch) pushOn(ctx context.Context, adv remote.Advertisement) error {
	old := adv.Branch(b.Name)
	if err := b.buildOn(ctx, old); err != nil {
		return err
	}
	tip, err := b.publicTip(ctx)
	if err != nil {
		return err
	}
	if tip != old {
		have := func(h plumbing.Hash) bool { return h == old || b.Published[h] }
		if err := b.inspectOutgoing(ctx, tip, have); err != nil {
			return err
		}
		if err := b.onlyAdds(ctx, old, tip); err != nil {
			return err
		}
		objects, err := b.Store.Missing(tip, have)
		if err != nil {
			return err
		}
		err = b.Remote.Send(ctx, adv, b.Name, old, tip, func(w io.Writer) error { return b.Store.WritePack(w, objects) })
		if err != nil {
			return err
		}
	}
	b.ServerTip, b.Synced, b.Pushed = tip, b.Tip, tip
	b.Published[tip] = true
	if !b.Onto.IsZero() {
		b.Onto = tip
	}
	b.Join = plumbing.ZeroHash
	return nil
}

// onlyAdds returns an error unless the branch's commit on the server is an ancestor of tip.
// A branch that was rebased on purpose is not checked.
func (b *Branch) onlyAdds(ctx context.Context, old, tip plumbing.Hash) error {
	if old.IsZero() || b.Rebased && b.Pushed.IsZero() {
		return nil
	}
	ok, err := b.IsAncestor(ctx, b.Reads, old, tip)
	if err == nil && !ok {
		err = fmt.Errorf("the commits here are not based on what the branch %s holds on the server, although the checkout says so: check the repository out again, from scratch", b.Name)
	}
	return err
}

// buildOn notes where the branch is on the server.
func (b *Branch) buildOn(ctx context.Context, old plumbing.Hash) error {
	switch {
	case old == b.ServerTip:
		return nil
	case !old.IsZero() && old == b.Join:
		// A push whose answer got lost.
		b.ServerTip, b.Onto, b.Synced, b.Join = old, old, b.Tip, plumbing.ZeroHash
		return nil
	case old.IsZero() && b.opt.Continue && b.Name == b.opt.Branch:
		return errDeleted // it is somebody else's
	case old.IsZero():
		// Somebody deleted the branch: it is made again.
		b.ServerTip = old
		return nil
	case b.Ours[old] && b.Onto.IsZero():
		// A push whose answer got lost.
		b.ServerTip, b.Synced = old, old
		return nil
	}
	if err := b.fetchForeign(ctx, old); err != nil {
		return fmt.Errorf("fetch what somebody else pushed: %w", err)
	}
	if !b.Edge.IsZero() && b.Pushed.IsZero() && b.Synced == b.Start {
		b.Synced = b.Edge // commits that were made here before the run come along
	}
	if tip, err := b.replay(ctx, old); err == nil && tip == old {
		// Replaying is repeatable: this is our own last push, or holds it.
		b.Synced = b.Tip
	}
	b.ServerTip, b.Onto = old, old
	return nil
}

// fetchForeign takes the server's branch into the store, and only there. Without
// its whole tree (the new commits may reuse directories of a history we do not
// have) it is fetched once more, by itself.
func (b *Branch) fetchForeign(ctx context.Context, tip plumbing.Hash) error {
	f, err := b.Store.Spool()
	if err != nil {
		return err
	}
	defer store.Discard(f)
	have := slices.Collect(maps.Keys(b.Published))
	for _, want := range []remote.Wanted{{Have: have}, {Depth: 1}} {
		want.Tips = []plumbing.Hash{tip}
		if err := b.Remote.FetchOnce(ctx, b.Reads, want, f); err != nil {
			return err
		}
		if _, err := b.Store.ImportPack(f, false); err != nil {
			return err
		}
		c, err := b.Store.Commit(tip)
		if err == nil && b.Store.Whole(c.TreeHash) {
			b.Published[tip] = true
			return nil
		}
	}
	return fmt.Errorf("the server did not send all of %s", tip)
}

// publicTip is what to push: the line itself, or its new commits replayed on
// somebody else's.
func (b *Branch) publicTip(ctx context.Context) (plumbing.Hash, error) {
	tip, err := b.Tip, error(nil)
	if !b.Onto.IsZero() {
		tip, err = b.replay(ctx, b.Onto)
	}
	if err != nil || b.Join.IsZero() {
		return tip, err
	}
	join, err := b.Store.Commit(b.Join)
	if err != nil || join.ParentHashes[0] != tip {
		b.Join = plumbing.ZeroHash // somebody moved the branch
		return tip, err
	}
	b.Onto = join.Hash
	return join.Hash, nil
}

// replay puts our commits since the last push on top of onto: same author,
// committer and message. A merge becomes one commit with what it brought; a
// commit of which nothing is left disappears, and one that was empty stays: its
// message is the record of a run.
func (b *Branch) replay(ctx context.Context, onto plumbing.Hash) (plumbing.Hash, error) {
	chain, err := b.aboveSynced(func(h plumbing.Hash) bool { return b.Published[h] })
	if err != nil {
		return plumbing.ZeroHash, err
	}
	made, err := b.Rebase(ctx, chain, onto)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if len(made) == 0 {
		return onto, nil
	}
	return made[len(made)-1], nil
}

// OwnOnly refuses to rebase a branch with commits of somebody else. A commit is ours when
// it says which run made it, or when our committer made it, as the agent's are.
func (b *Branch) OwnOnly(sp history.Range) error {
	if sp.Cut {
		return fmt.Errorf("update-base: rebase is for branches of at most %d commits, and %s has more: use merge", history.MaxMessages, b.opt.Branch)
	}
	for _, n := range sp.Commits {
		if n.Committer == b.opt.Committer || ralphRun.MatchString(n.Message) {
			continue
		}
		return fmt.Errorf("update-base: rebase would rewrite %s by %q on %s, which is not ralph's: use merge, or another branch", n.Hash.String()[:7], printable.Line(n.Committer.Name, 80), b.opt.Branch)
	}
	return nil
}

// ralphRun is the trailer that names the run a commit was made by.
var ralphRun = lazyregexp.New(`(?m)^Ralph-Run: \S`)

// Rebase makes the commits of a chain, newest first, anew on top of onto, and
// returns the new ones, oldest first. The merge a line starts with keeps its
// other parents, which the server has. Commits that were empty from the beginning
// are kept.
func (b *Branch) Rebase(ctx context.Context, chain []*store.Commit, onto plumbing.Hash) ([]plumbing.Hash, error) {
	var made []plumbing.Hash
	for _, c := range slices.Backward(chain) {
		was, err := b.Store.ParentTree(c)
		if err != nil {
			return nil, err
		}
		base, err := b.Store.Commit(onto)
		if err != nil {
			return nil, err
		}
		tree, conflicts, err := b.Merge(ctx, was, c.TreeHash, base.TreeHash)
		if err != nil {
			return nil, err
		}
		if len(conflicts) > 0 {
			return nil, &ConflictError{Path: conflicts[0]}
		}
		parents := []plumbing.Hash{onto}
		if c.Hash == b.Start {
			parents = append(parents, c.ParentHashes[1:]...)
		}
		if tree == base.TreeHash && len(parents) == 1 && c.TreeHash != was {
			continue
		}
		if onto, err = b.Store.Recommit(c, tree, parents...); err != nil {
			return nil, err
		}
		made = append(made, onto)
	}
	return made, nil
}

// abortRebase keeps the commits on what was checked out: they do not fit on the base.
func (b *Branch) abortRebase(path string) {
	b.Onto, b.Synced, b.Aside = plumbing.ZeroHash, b.Start, false
	b.OnBase = plumbing.ZeroHash
	b.Note("the work conflicts with %s, which has another %q: the commits that were checked out are proposed with it", b.Base, printable.Line(path, 200))
}
