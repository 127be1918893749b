package repo

import (
	"cmp"
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
	// Restarted reports whether the branch existed, and that all it changed is in the
	// base already (a squash merge): the work starts again from the base.
	Restarted bool
	// Updated reports whether the base was merged into the branch, or the branch
	// rebased (Options.UpdateBase). HeadSHA is the result.
	Updated bool
	// Conflict is a file that branch and base both changed, for which reason the
	// branch was not updated. Foreign text. Tip is the newest commit of the base; with a
	// conflict the workspace has it.
	Conflict, Tip string
	// Messages are those of the branch's commits that the base does not have,
	// newest first, at most 1,000 of at most 4 KiB: an earlier run's trailers.
	// Foreign text. Cut reports whether there are more.
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
	r.branch.Synced = r.base
	r.branch.Published = map[plumbing.Hash]bool{r.base: true}
	r.state = state{held: map[string]store.Entry{}, judged: map[string]store.Entry{}, touched: map[string]bool{}, rewritten: map[string]int{}}
	r.own = map[string]store.Change{}

	adv, err := r.advertised(ctx)
	if err != nil {
		return Start{}, err
	}
	r.branch.Reads = adv
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
	origin := r.tree.Origin(checkedOut, r.base)
	r.origin = &origin
	r.learn(word)
	if r.branch.Remote != nil {
		if err := r.findPublished(ctx, adv); err != nil {
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
	r.start.HeadSHA, r.start.Tip = head.String(), cmp.Or(r.start.Tip, r.branch.BaseTip.String())
	switch {
	case r.start.Restarted, r.start.Updated, r.branch.Aside:
		r.branch.OnBase = r.branch.BaseTip
	case !r.start.Resumed && (r.base == r.branch.BaseTip || checkedOut == r.start.Base && len(r.branch.Published) == 1 && r.branch.Published[r.base]):
		r.branch.OnBase = r.base
	}
	synced := r.branch.Synced
	if err := r.noteDirt(ctx, head); err != nil {
		return Start{}, err
	}
	if r.start.Restarted || r.branch.Aside || r.start.Updated && r.opt.UpdateBase != UpdateRebase {
		r.branch.Synced = synced // what the line starts with is published too
	}
	if r.opt.Push && (r.start.Updated && !r.branch.ServerTip.IsZero() || r.unpublishedLocal(ctx, head)) {
		r.branch.Updated, r.branch.Pending = true, true
	}
	r.keepRecord(false)
	r.start.Notes = slices.Clone(r.branch.Notes)
	return r.start, nil
}

// GoBack checks out what was checked out before Begin: the run ends before its loop.
func (r *Repo) GoBack(ctx context.Context) error {
	if r.origin == nil {
		return nil
	}
	return r.tree.GoBack(ctx, *r.origin, r.branch.Start)
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
		err = r.rebaseOntoBase(ctx, checkedOut)
	} else {
		head, err = r.resume(ctx, b.tip, head)
	}
	if err == nil {
		head, err = r.update(ctx, b.tip, head)
	}
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if r.branch.Remote != nil {
		next := head
		if r.start.Updated && r.opt.UpdateBase == UpdateRebase && !b.tip.IsZero() {
			next = b.tip // what the server has is rewritten on purpose
		}
		if err := r.keepLocal(ctx, next); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	if head != r.base {
		return head, r.checkOut(ctx, head)
	}
	if err := r.attachFirst(ctx); err != nil {
		return head, fmt.Errorf("attach the branch %s: %w", r.opt.Branch, err)
	}
	return head, nil
}

// advertised reads the branches of the branch's server, and of the base's when
// that is another one.
func (r *Repo) advertised(ctx context.Context) (remote.Advertisement, error) {
	if r.branch.Remote == nil {
		return remote.Advertisement{}, nil
	}
	adv, err := r.branch.Remote.Refs(ctx, remote.UploadPack)
	if err != nil {
		return adv, fmt.Errorf("read the branches of %s: %w", r.branch.Remote.URL.Redacted(), err)
	}
	if r.branch.BaseRemote == nil {
		r.branch.BaseOffer = adv
		return adv, nil
	}
	if r.branch.BaseOffer, err = r.branch.BaseRemote.Refs(ctx, remote.UploadPack); err != nil {
		return adv, fmt.Errorf("read the branches of %s: %w", r.branch.BaseRemote.URL.Redacted(), err)
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
	case r.opt.Here:
		r.branch.BaseTip = r.base
		return "", nil
	case base != "":
	case r.opt.Killed != nil && checkedOut == r.opt.Killed.Name:
		base = r.opt.Killed.Base // it had left its branch checked out, whichever this run is for
	case checkedOut != r.opt.Branch:
		base = checkedOut
	}
	if base == "" {
		base = r.opt.DefaultBranch
	}
	r.start.AskedBase = base
	if to := moved[base]; to != "" {
		r.branch.Note("somebody retargeted the pull request of %s from %s to %s: that is its base", r.opt.Branch, base, printable.Line(to, 200))
		base = to
	}
	switch {
	case base == "" && r.branch.Remote == nil:
		// A local run that goes on with its work branch needs none.
		r.branch.BaseTip, err = r.tree.LikelyBase(ctx)
		return checkedOut, err
	case base == "":
		return "", errors.New("no branch is checked out and the repository's default branch is not known: name the base branch (input base)")
	case base == r.opt.Branch && r.branch.BaseRemote == nil:
		return "", fmt.Errorf("the branch to publish and the base branch are both %q: choose another branch", base)
	}
	if err := ralph.CheckRef(base); err != nil {
		return "", fmt.Errorf("base %q: %w", base, err)
	}
	r.start.Base, r.branch.Base = base, base
	if r.branch.Remote != nil {
		if r.branch.BaseTip = r.branch.BaseOffer.Branch(base); r.branch.BaseTip.IsZero() {
			from := r.branch.Remote
			if r.branch.BaseRemote != nil {
				from = r.branch.BaseRemote
			}
			return "", fmt.Errorf("the base branch %q does not exist on %s", base, from.URL.Redacted())
		}
		return checkedOut, nil
	}
	if checkedOut == base {
		r.branch.BaseTip = r.base
		return checkedOut, nil
	}
	if r.branch.BaseTip, err = r.tree.Base(ctx, base); err != nil || !r.branch.BaseTip.IsZero() || r.opt.Base == "" {
		return checkedOut, err
	}
	return "", fmt.Errorf("the base branch %q does not exist here", base)
}

// noteDirt stages the tree as it is before the agent starts and remembers what
// differs from the commit.
func (r *Repo) noteDirt(ctx context.Context, head plumbing.Hash) error {
	c, err := r.store.Commit(head)
	if err != nil {
		return err
	}
	modules, err := r.store.Lookup(c.TreeHash, ".gitmodules")
	if err != nil {
		return err
	}
	var staged map[string]string
	if !r.clean {
		if staged, err = r.tree.Staged(ctx, head); err != nil {
			return err
		}
		for path := range r.own {
			delete(staged, path)
		}
	}
	tree := c.TreeHash
	// A broken submodule, which status passes over, is refused now and not after
	// the agent has worked.
	if !r.clean || modules != (store.Entry{}) || head != r.base && !r.tree.Unchanged(ctx, head) {
		var notes []string
		if tree, notes, err = r.tree.Stage(ctx); err != nil {
			return err
		}
		r.branch.Notes = append(r.branch.Notes, notes...)
	}
	l := &r.state
	r.branch.Start, r.branch.Tip, r.branch.TipTree = head, head, c.TreeHash
	l.staged = staged
	l.startTree, l.begun, l.headTree, l.seenTree = tree, tree, c.TreeHash, c.TreeHash
	r.branch.Ours[head] = true
	r.branch.Synced = head
	if tree == c.TreeHash {
		return nil
	}
	if err := r.branch.ImportNew(ctx, []plumbing.Hash{tree}, c.TreeHash); err != nil {
		return err
	}
	l.seenTree = tree
	changes, err := r.store.Diff(c.TreeHash, tree, nil)
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
	l.startTree, err = r.store.Edit(tree, taken)
	return err
}

// attachFirst attaches the work branch at the commit that is checked out.
func (r *Repo) attachFirst(ctx context.Context) error {
	if !r.clean || r.tree.Attached() || !r.tree.LacksRef("refs/heads/"+r.opt.Branch) {
		return r.tree.Attach(ctx, r.base)
	}
	// Branch and HEAD in one command. Without -q, a new branch is all that git
	// makes; with it, it also writes the index.
	args := []string{"-c", "branch.autoSetupMerge=false", "-c", "submodule.recurse=false", "checkout", "-b", r.opt.Branch}
	if r.tree.Git(ctx, nil, nil, args...) == nil {
		if head, err := r.tree.Head(ctx); err == nil && head == r.base {
			return nil
		}
	}
	return r.tree.Attach(ctx, r.base) // HEAD had moved, or git says what is wrong
}

// Update is what becomes of a branch whose base has moved.
type Update string

// Values of Update.
const (
	UpdateNone   Update = ""       // it stays where it is
	UpdateMerge  Update = "merge"  // the base is merged into it
	UpdateRebase Update = "rebase" // its commits, all of them ours, are put on top of the base
)
