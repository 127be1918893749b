package repo

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
	"github.com/org/ralph-action/internal/repo/worktree"
)

const (
	// pushTime bounds a push whose context has no deadline.
	pushTime = 10 * time.Minute
	// returnTime bounds the hand-back, which also happens when the push used
	// its context up.
	returnTime = 30 * time.Second
)

// Checkpoint commits the last snapshot on the work branch, pushes it, and moves
// the workspace's branch and index there. Its message is the record of what was
// done: on top of new commits of the agent's own it stands in a commit of ours even
// where that changes nothing. A push that failed is told in the Commit and tried
// again with the next one. While the snapshot holds what blocks, the error is a
// *BlockedError, and the snapshot stays.
func (r *Repo) Checkpoint(ctx context.Context, it ralph.Iteration) (ralph.Commit, error) {
	s := r.last
	if s == nil {
		return ralph.Commit{}, errors.New("checkpoint without a snapshot")
	}
	if err := blocked(s.findings); err != nil {
		return ralph.Commit{}, err
	}
	r.settle()
	r.last = nil
	r.published(s)
	was, before := r.line.tip, r.line.tipTree
	moved, err := r.commitSnapshot(s, it)
	if err != nil {
		return ralph.Commit{}, err
	}
	if !moved {
		r.catchUp(ctx, s)
		return ralph.Commit{}, nil
	}
	c, err := r.describe(s, before)
	if err != nil {
		return ralph.Commit{}, err
	}
	c.Ours = true
	c = r.pushed(ctx, c)
	s.public = r.line.tipTree // the server may have refused a part
	r.catchUp(ctx, s)
	if r.line.tip == was {
		return ralph.Commit{PushError: c.PushError}, nil
	}
	return c, nil
}

// CheckpointOwn is Checkpoint for a run in which only the agent commits: what it
// committed itself since the last checkpoint is pushed, and what it left
// uncommitted stays where it is. No commit of ours is made, so that no message
// tells of the iterations: the Checkpoint that ends such a run makes up for it.
func (r *Repo) CheckpointOwn(ctx context.Context, _ ralph.Iteration) (ralph.Commit, error) {
	s := r.last
	if s == nil {
		return ralph.Commit{}, errors.New("checkpoint without a snapshot")
	}
	if err := blocked(s.findings); err != nil {
		return ralph.Commit{}, err
	}
	r.settle()
	r.last = nil
	r.published(s)
	if s.parent == r.line.tip {
		return ralph.Commit{}, nil
	}
	before := r.line.tipTree
	parent, err := r.objects.Store.Commit(s.parent)
	if err != nil {
		return ralph.Commit{}, err
	}
	own, _ := r.ownCommits(s.parent)
	for _, h := range own {
		r.line.ours[h] = true
	}
	r.line.tip, r.line.tipTree, r.line.untold = s.parent, parent.TreeHash, true
	r.needs(s.large)
	c, err := r.describe(s, before)
	if err != nil {
		return ralph.Commit{}, err
	}
	tip := r.line.tip
	c = r.pushed(ctx, c)
	if r.line.tip != tip {
		s.public = r.line.tipTree
		r.catchUp(ctx, s)
	}
	return c, nil
}

// pushed pushes the line's tip, when that is wanted.
func (r *Repo) pushed(ctx context.Context, c ralph.Commit) ralph.Commit {
	if !r.opt.Push || r.objects.Remote == nil {
		return c
	}
	r.server.pending = true
	if err := r.Push(ctx); err != nil {
		c.PushError = printable.Line(err.Error(), 500)
		return c
	}
	if r.server.pushed.IsZero() {
		return c // nothing was left to push
	}
	c.Pushed, c.SHA = true, r.server.pushed.String()
	return c
}

// commitSnapshot moves the line to the snapshot. It says whether there was
// anything to move to.
func (r *Repo) commitSnapshot(s *snapshot, it ralph.Iteration) (bool, error) {
	parent, err := r.objects.Store.Commit(s.parent)
	if err != nil {
		return false, err
	}
	tip := s.parent
	if s.public != parent.TreeHash || s.own > 0 || r.line.untold {
		now := r.opt.Clock()
		tip, err = r.objects.Store.WriteCommit(&object.Commit{
			Author:       signature(r.opt.Author, now),
			Committer:    signature(r.opt.Committer, now),
			Message:      message(r.opt.Message(it)),
			TreeHash:     s.public,
			ParentHashes: []plumbing.Hash{s.parent},
		})
		if err != nil {
			return false, err
		}
	}
	if tip == r.line.tip {
		return false, nil
	}
	own, _ := r.ownCommits(s.parent)
	for _, h := range own {
		r.line.ours[h] = true
	}
	r.line.ours[tip] = true
	r.line.tip, r.line.tipTree, r.line.untold = tip, s.public, false
	r.needs(s.large)
	return true, nil
}

func (r *Repo) describe(s *snapshot, before plumbing.Hash) (ralph.Commit, error) {
	tip, err := r.objects.Store.Commit(r.line.tip)
	if err != nil {
		return ralph.Commit{}, err
	}
	changes, err := r.objects.Store.Diff(before, r.line.tipTree, nil)
	if err != nil {
		return ralph.Commit{}, err
	}
	subject, _, _ := strings.Cut(strings.TrimSpace(tip.Message), "\n")
	return ralph.Commit{SHA: r.line.tip.String(), Subject: printable.Line(subject, 300), Files: len(changes), Own: s.own}, nil
}

// signature keeps names within the syntax of a commit.
func signature(id Identity, at time.Time) object.Signature {
	strip := strings.NewReplacer("<", "", ">", "", "\n", " ", "\r", " ", "\x00", "")
	name := strings.TrimSpace(strip.Replace(id.Name))
	if name == "" {
		name = "ralph"
	}
	return object.Signature{Name: name, Email: strings.TrimSpace(strip.Replace(id.Email)), When: at}
}

// message ends with one line end, as git's own do.
func message(s string) string {
	s = strings.TrimRight(strings.ReplaceAll(s, "\x00", ""), " \t\r\n")
	if s == "" {
		s = "ralph: checkpoint"
	}
	return s + "\n"
}

// catchUp brings the workspace's branch and index to the line's tip, so that
// the agent sees a clean tree and its next commits stand on top. A workspace
// that cannot be brought there is noted: what is committed is safe already.
func (r *Repo) catchUp(ctx context.Context, s *snapshot) {
	defer r.keepRecord(false)
	if s.head == r.line.tip && s.tree == s.public && s.parent == s.head && r.tree.Attached() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnTime)
	defer cancel()
	if err := r.giveBack(ctx, s); err != nil {
		r.note("the workspace was not brought to the checkpoint %s: %s", r.line.tip.String()[:7], printable.Line(err.Error(), 300))
		return
	}
	r.line.headTree = r.line.tipTree
}

func (r *Repo) giveBack(ctx context.Context, s *snapshot) error {
	if err := r.tree.InTheMiddle(); err != nil {
		return err // a later iteration began it; another branch and index would spoil it
	}
	if r.line.tip != s.head {
		// What the guest lacks: our commit, and the folders of a tree that is
		// not the staged one.
		var objects []plumbing.Hash
		if r.line.tip != s.parent {
			objects = append(objects, r.line.tip)
		}
		objects = append(append(objects, s.pinned...), r.line.remade...)
		if _, err := r.objects.Store.Diff(s.tree, s.public, func(h plumbing.Hash) { objects = append(objects, h) }); err != nil {
			return err
		}
		if s.public == store.EmptyTree {
			objects = append(objects, store.EmptyTree)
		}
		if err := r.objects.Export(ctx, objects); err != nil {
			return err
		}
		r.line.remade = nil
	}
	if s.tree != s.public {
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
	if err := r.tree.Attach(ctx, r.line.tip); err != nil {
		return err
	}
	return r.tree.ReturnIndex()
}
