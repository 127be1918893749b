package repo

import (
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/org/ralph-action/internal/repo/history"
	"github.com/org/ralph-action/internal/repo/printable"
)

// Word is what the forge knows of a branch and git does not.
type Word struct {
	// Moved are bases whose pull request somebody retargeted, each with the branch
	// that it goes to by now, which is the base then.
	Moved map[string]string
	// Gained is what bases have of the branch although git does not show it, the
	// newest first.
	Gained []Gained
}

// Gained is a commit that is in a base with everything below it, whatever became
// of that base since: the head of a pull request that was merged, squashed or
// rebased, or a commit that was the base's until somebody rewrote it.
type Gained struct {
	Base string // branch
	// Head is the commit. Empty: the one that the server keeps for PullRequest.
	Head        string
	PullRequest int // 0: Head was the base's own
}

// ask asks the forge about a branch that is on the server.
func (r *Repo) ask(ctx context.Context, tip plumbing.Hash) (Word, error) {
	if r.opt.Ask == nil || tip.IsZero() {
		return Word{}, nil
	}
	w, err := r.opt.Ask(ctx, r.server.branch, tip.String())
	if err != nil {
		return w, fmt.Errorf("ask the forge about the branch %s: %w", r.server.branch, err)
	}
	return w, nil
}

// learn keeps what concerns the base.
func (r *Repo) learn(w Word) {
	r.history.Merged = nil
	for _, g := range w.Gained {
		head := plumbing.NewHash(g.Head)
		if g.Head == "" {
			head = r.objects.BaseOffer.Refs[fmt.Sprintf("refs/pull/%d/head", g.PullRequest)]
		}
		if g.Base == r.start.Base && !head.IsZero() {
			r.history.Merged = append(r.history.Merged, history.Merged{Head: head, PullRequest: g.PullRequest})
		}
	}
	r.askedAt = r.history.BaseTip
}

// Follow asks the forge again, where the base has moved since it was asked: a pull
// request that was merged while the run went on holds a part of the branch, and
// only what came after is new. With join, the base is merged into the branch on
// the server then, so that only that is proposed. The workspace keeps its line.
func (r *Repo) Follow(ctx context.Context, join bool) error {
	if r.objects.Remote == nil || !r.opt.Push || r.server.pending || r.opt.Ask == nil || r.server.tip.IsZero() || r.history.BaseTip.IsZero() || r.history.BaseTip == r.askedAt {
		return nil
	}
	word, err := r.ask(ctx, r.server.tip)
	if err != nil {
		return err
	}
	r.learn(word)
	w, err := r.history.Work(ctx, r.server.tip)
	if err != nil || w.By == (history.Merged{}) || !join {
		return err
	}
	if differs, err := r.history.Differs(ctx, r.server.tip); err != nil || !differs {
		return err
	}
	trees, err := r.objects.Trees(ctx, w.Fork, r.server.tip, r.history.BaseTip)
	if err != nil {
		return err
	}
	tree, conflict, err := r.objects.Merge(ctx, trees[0], trees[1], trees[2])
	if err != nil {
		return err
	}
	if conflict != "" {
		r.note("%s while the run went on, and %s has changed %q since, as the work after it did: merge %s into %s and resolve that", w.By.How(r.start.Base), r.start.Base, printable.Line(conflict, 200), r.start.Base, r.server.branch)
		return nil
	}
	if r.server.join, err = r.mergeCommit(r.server.tip, r.history.BaseTip, tree); err != nil {
		return err
	}
	r.note("%s while the run went on: %s is merged into the branch, so that only what came after is proposed", w.By.How(r.start.Base), r.start.Base)
	r.objects.Known[r.history.BaseTip], r.onBase = true, r.history.BaseTip
	r.server.pending, r.line.updated = true, true
	return r.Push(ctx)
}

// mergeCommit merges the base into a commit of the branch.
func (r *Repo) mergeCommit(head, base, tree plumbing.Hash) (plumbing.Hash, error) {
	now := r.opt.Clock()
	return r.objects.Store.WriteCommit(&object.Commit{
		Author: r.opt.Committer.Signature(now), Committer: r.opt.Committer.Signature(now),
		Message:  fmt.Sprintf("Merge branch '%s' into %s\n", r.start.Base, r.opt.Branch),
		TreeHash: tree, ParentHashes: []plumbing.Hash{head, base},
	})
}
