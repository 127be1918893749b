package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
)

// Start is what the run begins with.
type Start struct {
	Base string // branch the pull request goes to
	// AskedBase is the branch that it should have gone to. Somebody may have
	// retargeted it (Word.Moved).
	AskedBase string
	BaseSHA   string // commit that was checked out
	Branch    string
	HeadSHA   string // commit the work starts from; differs from BaseSHA when Resumed, Restarted or Updated
	Existed   bool   // the branch was on the server
	Resumed   bool   // the branch existed with changes of its own and is continued
	// Restarted says that the branch existed, and that all it changed is in the
	// base already (a squash merge): the work starts again from the base.
	Restarted bool
	// Updated says that the base was merged into the branch, or the branch
	// rebased (Options.UpdateBase). HeadSHA is the result.
	Updated bool
	// Conflict is a file that branch and base both changed, for which reason the
	// branch was not updated. Foreign text.
	Conflict string
	// Messages are those of the branch's commits that the base does not have,
	// newest first, at most 1,000 of at most 4 KiB: an earlier run's trailers.
	// Foreign text. Cut says that there are more.
	Messages []string
	Cut      bool
	Dirty    []string // files changed before the run, sorted, at most 100
	Notes    []string
}

const (
	maxListed = 100
	maxLocal  = 1000 // commits of the checkout that the server may lack
)

// Begin attaches the work branch and notes the state of the tree.
//
//   - A branch that is not on the server starts from what is checked out.
//   - One whose changes are not in the base is fetched and continued.
//   - One that was merged starts again from what is checked out, which is a
//     fast-forward for it.
//   - One whose changes the base has, though not its commits (a squash merge),
//     starts again from the base, below a merge commit that keeps a push a
//     fast-forward.
//
// Without a remote the branch in the workspace takes the place of the server's.
func (r *Repo) Begin(ctx context.Context) (Start, error) {
	r.start = Start{Branch: r.opt.Branch, BaseSHA: r.base.String()}
	r.server = server{branch: r.opt.Branch, synced: r.base}
	r.objects.Known = map[plumbing.Hash]bool{r.base: true}
	r.line = line{held: map[string]store.Entry{}, judged: map[string]store.Entry{}, touched: map[string]bool{}, rewritten: map[string]int{}, ours: map[plumbing.Hash]bool{}}
	r.own = map[string]store.Change{}

	adv, err := r.advertised(ctx)
	if err != nil {
		return Start{}, err
	}
	r.server.reads = adv
	if other := adv.InTheWay(r.opt.Branch); other != "" {
		return Start{}, fmt.Errorf("branch %q: %q exists on the server, and no branch can lie below the name of another: choose another name, or delete that branch", r.opt.Branch, other)
	}
	word, err := r.ask(ctx, adv.Branch(r.opt.Branch))
	if err != nil {
		return Start{}, err
	}
	checkedOut, err := r.findBase(ctx, word.Moved)
	if err != nil {
		return Start{}, err
	}
	r.learn(word)
	if r.objects.Remote != nil {
		if err := r.findKnown(ctx, adv); err != nil {
			return Start{}, err
		}
	}
	if r.killed == nil {
		r.keepRecord(false) // the branch is about to be checked out
	} else if err := r.takeOver(ctx, r.killed); err != nil {
		return Start{}, err
	}
	head, err := r.startFrom(ctx, adv, checkedOut)
	if err != nil {
		return Start{}, err
	}
	r.start.HeadSHA = head.String()
	switch {
	case r.start.Restarted, r.start.Updated, r.server.aside:
		r.onBase = r.baseTip
	case !r.start.Resumed && (r.base == r.baseTip || checkedOut == r.start.Base && len(r.objects.Known) == 1 && r.objects.Known[r.base]):
		r.onBase = r.base
	}
	synced := r.server.synced
	if err := r.noteDirt(ctx, head); err != nil {
		return Start{}, err
	}
	if r.start.Restarted || r.server.aside || r.start.Updated && r.opt.UpdateBase != UpdateRebase {
		r.server.synced = synced // what the line starts with is published too
	}
	if r.opt.Push && (r.start.Updated && !r.server.tip.IsZero() || r.unpublishedLocal(ctx, head)) {
		r.line.updated, r.server.pending = true, true
	}
	r.keepRecord(false)
	r.start.Notes = slices.Clone(r.notes)
	return r.start, nil
}

// startFrom finds the commit the work starts from, and brings the workspace to
// it.
func (r *Repo) startFrom(ctx context.Context, adv remote.Advertisement, checkedOut string) (plumbing.Hash, error) {
	b, err := r.existing(ctx, adv)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	r.start.Existed = !b.tip.IsZero()
	head := b.tip
	if b.tip.IsZero() || b.in {
		head = r.base
	}
	if b.tip.IsZero() {
		err = r.stepAside(ctx, checkedOut)
	} else {
		head, err = r.goOn(ctx, b.tip, head)
	}
	if err == nil {
		head, err = r.update(ctx, b.tip, head)
	}
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if r.objects.Remote != nil {
		next := head
		if r.start.Updated && r.opt.UpdateBase == UpdateRebase && !b.tip.IsZero() {
			next = b.tip // what the server has is rewritten on purpose
		}
		if err := r.keepLocal(ctx, next); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	if head != r.base {
		return head, r.resume(ctx, head)
	}
	if err := r.attachFirst(ctx); err != nil {
		return head, fmt.Errorf("attach the branch %s: %w", r.opt.Branch, err)
	}
	return head, nil
}

// advertised reads the branches of the branch's server, and of the base's when
// that is another one.
func (r *Repo) advertised(ctx context.Context) (remote.Advertisement, error) {
	if r.objects.Remote == nil {
		return remote.Advertisement{}, nil
	}
	adv, err := r.objects.Remote.Refs(ctx, remote.UploadPack)
	if err != nil {
		return adv, fmt.Errorf("read the branches of %s: %w", r.objects.Remote.URL.Redacted(), err)
	}
	if r.objects.BaseRemote == nil {
		r.objects.BaseOffer = adv
		return adv, nil
	}
	if r.objects.BaseOffer, err = r.objects.BaseRemote.Refs(ctx, remote.UploadPack); err != nil {
		return adv, fmt.Errorf("read the branches of %s: %w", r.objects.BaseRemote.URL.Redacted(), err)
	}
	return adv, nil
}

// findBase settles the base branch and returns the branch that is checked out,
// "" when HEAD is detached. moved is where pull requests go by now.
func (r *Repo) findBase(ctx context.Context, moved map[string]string) (string, error) {
	checkedOut, err := r.tree.CheckedOut(ctx)
	if err != nil {
		return "", err
	}
	base := r.opt.Base
	switch {
	case base != "":
	case r.killed != nil && checkedOut == r.killed.Name:
		base = r.killed.Base // it had left this branch checked out
	case checkedOut != r.opt.Branch:
		base = checkedOut
	}
	if base == "" {
		base = r.opt.DefaultBranch
	}
	r.start.AskedBase = base
	if to := moved[base]; to != "" {
		r.note("somebody retargeted the pull request of %s from %s to %s: that is its base", r.opt.Branch, base, printable.Line(to, 200))
		base = to
	}
	switch {
	case base == "" && r.objects.Remote == nil:
		// A desk that goes on with its work branch needs none.
		r.baseTip, err = r.likelyBase(ctx)
		return checkedOut, err
	case base == "":
		return "", errors.New("no branch is checked out and the repository's default branch is not known: name the base branch (input base)")
	case base == r.opt.Branch && r.objects.BaseRemote == nil:
		return "", fmt.Errorf("the branch to publish and the base branch are both %q: choose another branch", base)
	}
	if err := ralph.CheckRef(base); err != nil {
		return "", fmt.Errorf("base %q: %w", base, err)
	}
	r.start.Base = base
	if r.objects.Remote != nil {
		if r.baseTip = r.objects.BaseOffer.Branch(base); r.baseTip.IsZero() {
			from := r.objects.Remote
			if r.objects.BaseRemote != nil {
				from = r.objects.BaseRemote
			}
			return "", fmt.Errorf("the base branch %q does not exist on %s", base, from.URL.Redacted())
		}
		return checkedOut, nil
	}
	if checkedOut == base {
		r.baseTip = r.base
		return checkedOut, nil
	}
	if r.baseTip, err = r.localBase(ctx, base); err != nil || !r.baseTip.IsZero() || r.opt.Base == "" {
		return checkedOut, err
	}
	return "", fmt.Errorf("the base branch %q does not exist here", base)
}

// localBase is a base branch as the workspace knows it; zero when it does not.
func (r *Repo) localBase(ctx context.Context, base string) (plumbing.Hash, error) {
	for _, ref := range []string{"refs/heads/", "refs/remotes/origin/"} {
		if h, err := r.tree.Ref(ctx, ref+base); err != nil || !h.IsZero() {
			return h, err
		}
	}
	return plumbing.ZeroHash, nil
}

// likelyBase guesses where the branch that is checked out began; zero when there
// is nothing to go by.
func (r *Repo) likelyBase(ctx context.Context) (plumbing.Hash, error) {
	if h, err := r.tree.Ref(ctx, "refs/remotes/origin/HEAD"); err != nil || !h.IsZero() {
		return h, err
	}
	for _, name := range []string{"main", "master"} {
		if name == r.opt.Branch {
			continue
		}
		if h, err := r.localBase(ctx, name); err != nil || !h.IsZero() {
			return h, err
		}
	}
	return plumbing.ZeroHash, nil
}

// noteDirt stages the tree as it is before the agent starts and remembers what
// differs from the commit.
func (r *Repo) noteDirt(ctx context.Context, head plumbing.Hash) error {
	c, err := r.objects.Store.Commit(head)
	if err != nil {
		return err
	}
	modules, err := r.objects.Store.Lookup(c.TreeHash, ".gitmodules")
	if err != nil {
		return err
	}
	tree := c.TreeHash
	// A broken submodule, which status passes over, is refused now and not after
	// the agent has worked.
	if !r.clean || modules != (store.Entry{}) || head != r.base && !r.tree.Unchanged(ctx, head) {
		var notes []string
		if tree, notes, err = r.tree.Stage(ctx); err != nil {
			return err
		}
		r.notes = append(r.notes, notes...)
	}
	l := &r.line
	l.startHead, l.tip, l.tipTree = head, head, c.TreeHash
	l.startTree, l.begun, l.headTree, l.seenTree = tree, tree, c.TreeHash, c.TreeHash
	l.ours[head] = true
	r.server.synced = head
	if tree == c.TreeHash {
		return nil
	}
	if err := r.objects.ImportNew(ctx, []plumbing.Hash{tree}, c.TreeHash); err != nil {
		return err
	}
	l.seenTree = tree
	changes, err := r.objects.Store.Diff(c.TreeHash, tree, nil)
	if err != nil {
		return err
	}
	taken := map[string]store.Entry{}
	for _, ch := range changes {
		if _, ours := r.own[ch.Path]; ours {
			taken[ch.Path] = ch.Old
			continue
		}
		if !r.opt.IncludeDirty {
			l.held[ch.Path] = ch.New
		}
		if len(r.start.Dirty) < maxListed {
			r.start.Dirty = append(r.start.Dirty, ch.Path)
		}
	}
	// Work that a killed run left counts as done since the start.
	l.startTree, err = r.objects.Store.Edit(tree, taken)
	return err
}

// CanPush asks the server, without writing anything, whether the token may
// push. A *remote.PermissionError says what is missing.
func (r *Repo) CanPush(ctx context.Context) error {
	if r.objects.Remote == nil {
		return errors.New("no remote to push to")
	}
	var err error
	r.writes, err = r.objects.Remote.Refs(ctx, remote.ReceivePack)
	return err
}
