package repo

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/inspection"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// returnTime bounds bringing the workspace to a checkpoint, which also happens when the
// push used its context up.
const returnTime = 30 * time.Second

// Checkpoint commits the last snapshot on the work branch, and moves the workspace's
// branch and index there. Its message is the record of what was done: on top of new
// commits of the agent's own it stands in a commit of ours even where that changes
// nothing. Where a push is wanted the Commit is Pushing: PushCheckpoint does it. While
// the snapshot holds what blocks, the error is a *inspection.BlockedError, and the
// snapshot stays.
func (r *Repo) Checkpoint(ctx context.Context, it ralph.Iteration) (ralph.Commit, error) {
	s, err := r.takeSnapshot()
	if err != nil {
		return ralph.Commit{}, err
	}
	parent, err := r.store.Commit(s.parent)
	if err != nil {
		return ralph.Commit{}, err
	}
	tip := s.parent
	if s.public != parent.TreeHash || s.own > 0 || r.state.untold {
		changes, err := r.store.Diff(parent.TreeHash, s.public, nil)
		if err != nil {
			return ralph.Commit{}, err
		}
		message := r.opt.Message(it, r.files(changes, nil))
		if tip, err = r.store.NewCommitOf(r.opt.Author, r.opt.Committer, r.opt.Clock(), message, s.public, s.parent); err != nil {
			return ralph.Commit{}, err
		}
	}
	if tip == r.branch.Tip {
		r.catchUp(ctx, s)
		return ralph.Commit{}, nil
	}
	r.state.untold = false
	c, err := r.advance(s, tip, s.public)
	if err != nil {
		return ralph.Commit{}, err
	}
	c.Ours = true
	r.catchUp(ctx, s)
	return c, nil
}

// CheckpointOwn is Checkpoint for a run in which only the agent commits: what it
// committed itself since the last checkpoint is taken over, and what it left
// uncommitted stays where it is. No commit of ours is made, so that no message
// tells of the iterations: the Checkpoint that ends such a run makes up for it.
func (r *Repo) CheckpointOwn(ctx context.Context, _ ralph.Iteration) (ralph.Commit, error) {
	s, err := r.takeSnapshot()
	if err != nil || s.parent == r.branch.Tip {
		return ralph.Commit{}, err
	}
	parent, err := r.store.Commit(s.parent)
	if err != nil {
		return ralph.Commit{}, err
	}
	r.state.untold = true
	return r.advance(s, s.parent, parent.TreeHash)
}

// takeSnapshot returns the last snapshot, unless it holds what blocks.
func (r *Repo) takeSnapshot() (*snapshot, error) {
	s := r.last
	if s == nil {
		return nil, errors.New("checkpoint without a snapshot")
	}
	if err := inspection.Blocked(s.findings); err != nil {
		return nil, err
	}
	r.settle()
	r.last = nil
	r.published(s)
	return s, nil
}

// advance moves the branch to a commit on top of a snapshot's parent, or to the parent
// itself.
func (r *Repo) advance(s *snapshot, tip, tree plumbing.Hash) (ralph.Commit, error) {
	before := r.branch.TipTree
	r.before = r.branch.Tip
	own, _ := r.ownCommits(s.parent)
	for _, h := range append(own, tip) {
		r.branch.Ours[h] = true
	}
	r.branch.Tip, r.branch.TipTree = tip, tree
	r.branch.Large.Need(s.large)
	commit, err := r.store.Commit(tip)
	if err != nil {
		return ralph.Commit{}, err
	}
	changes, err := r.store.Diff(before, tree, nil)
	if err != nil {
		return ralph.Commit{}, err
	}
	subject, _, _ := strings.Cut(strings.TrimSpace(commit.Message), "\n")
	r.branch.Pending = r.branch.Pending || r.opt.Push && r.branch.Remote != nil
	return ralph.Commit{SHA: tip.String(), Subject: printable.Line(subject, 300), Files: len(changes), Own: s.own, Pushing: r.branch.Pending}, nil
}

// PushCheckpoint pushes the last commit of Checkpoint or CheckpointOwn, and returns it
// with what became of it: the zero Commit, but for PushError, when the server refused all
// of it. A push that failed is told in the Commit and tried again with the next. Only Work,
// Judging, Seen and LeftOut may be called while it goes on. The workspace is not touched:
// the next Snapshot or Push brings it to what the server left of the commit.
func (r *Repo) PushCheckpoint(ctx context.Context, c ralph.Commit) ralph.Commit {
	err := r.push(ctx)
	c.Pushing = false
	if err != nil {
		c.PushError = printable.Line(err.Error(), 500)
	} else if !r.branch.Pushed.IsZero() { // else nothing was left to push
		c.Pushed, c.SHA = true, r.branch.Pushed.String()
	}
	if r.branch.Tip == r.before {
		return ralph.Commit{PushError: c.PushError}
	}
	return c
}

// push brings the branch on the server to its tip, which is another one where the server
// refused a part.
func (r *Repo) push(ctx context.Context) error {
	tip := r.branch.Tip
	err := r.branch.Push(ctx)
	if r.branch.Tip != tip && r.replaced.IsZero() {
		r.replaced = tip
	}
	return err
}

// leaveReplaced brings the workspace to what a push made of its commit, unless the agent went on.
func (r *Repo) leaveReplaced(ctx context.Context) {
	old := r.replaced
	if r.replaced = plumbing.ZeroHash; old.IsZero() {
		return
	}
	c, err := r.store.Commit(old)
	if head, gone := r.tree.Head(ctx); err == nil && gone == nil && head == old { // else what the agent made of it is published as one commit
		r.catchUp(ctx, &snapshot{head: old, parent: old, tree: c.TreeHash, public: r.branch.TipTree})
	}
}

// catchUp brings the workspace's branch and index to the line's tip, so that
// the agent sees a clean tree and its next commits stand on top. A workspace
// that cannot be brought there is noted: what is committed is safe already.
func (r *Repo) catchUp(ctx context.Context, s *snapshot) {
	defer r.keepRecord(false)
	if s.head == r.branch.Tip && s.tree == s.public && s.parent == s.head && r.tree.Attached() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnTime)
	defer cancel()
	if err := r.giveBack(ctx, s); err != nil {
		r.branch.Note("the workspace was not brought to the checkpoint %s: %s", r.branch.Tip.String()[:7], printable.Line(err.Error(), 300))
		return
	}
	r.state.headTree = r.branch.TipTree
}

func (r *Repo) giveBack(ctx context.Context, s *snapshot) error {
	if err := r.tree.InTheMiddle(); err != nil {
		return err // a later iteration began it; another branch and index would spoil it
	}
	if r.branch.Tip != s.head {
		// What the workspace lacks: our commit, and the directories of a tree that is
		// not the staged one.
		var objects []plumbing.Hash
		if r.branch.Tip != s.parent {
			objects = append(objects, r.branch.Tip)
		}
		objects = append(append(objects, s.pinned...), r.branch.Remade...)
		if _, err := r.store.Diff(s.tree, s.public, func(h plumbing.Hash) { objects = append(objects, h) }); err != nil {
			return err
		}
		if s.public == store.EmptyTree {
			objects = append(objects, store.EmptyTree)
		}
		if err := r.branch.Export(ctx, objects); err != nil {
			return err
		}
		r.branch.Remade = nil
	}
	if len(r.state.staged) > 0 {
		if err := r.restoreStaged(ctx); err != nil {
			return err
		}
	} else if s.tree != s.public {
		err := r.tree.GitEnv(ctx, r.tree.IndexEnv(), nil, nil, "read-tree", "-m", s.public.String())
		if _, refused := worktree.ExitCode(err); refused {
			// The index has flags that keep git from looking (skip-worktree and the
			// like): a new one has none.
			err = r.tree.GitEnv(ctx, r.tree.IndexEnv(), nil, nil, "read-tree", s.public.String())
		}
		if err != nil {
			return err
		}
	}
	// The index first: where the run is killed in between, what is staged and not committed
	// is the run's own.
	if err := r.tree.ReturnIndex(); err != nil {
		return err
	}
	return r.tree.Attach(ctx, r.branch.Tip)
}

// restoreStaged prepares the index as it was before the run, with what was committed since.
func (r *Repo) restoreStaged(ctx context.Context) error {
	start, err := r.store.Commit(r.branch.Start)
	if err != nil {
		return err
	}
	committed, err := r.store.Diff(start.TreeHash, r.branch.TipTree, nil)
	if err != nil {
		return err
	}
	return r.tree.RestoreStaged(ctx, committed)
}
