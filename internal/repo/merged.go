package repo

import (
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

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
	w, err := r.opt.Ask(ctx, r.branch.Name, tip.String())
	if err != nil {
		return w, fmt.Errorf("ask the forge about the branch %s: %w", r.branch.Name, err)
	}
	return w, nil
}

// learn keeps what concerns the base.
func (r *Repo) learn(w Word) {
	r.branch.Merged = nil
	for _, g := range w.Gained {
		head := plumbing.NewHash(g.Head)
		if g.Head == "" {
			head = r.branch.BaseOffer.Refs[fmt.Sprintf("refs/pull/%d/head", g.PullRequest)]
		}
		if g.Base == r.start.Base && !head.IsZero() {
			r.branch.Merged = append(r.branch.Merged, history.Merged{Head: head, PullRequest: g.PullRequest})
		}
	}
	r.askedAt = r.branch.BaseTip
}

// Follow asks the forge again, where the base has moved since it was asked: a pull
// request that was merged while the run went on holds a part of the branch, and
// only what came after is new. With join, the base is merged into the branch on
// the server then, so that only that is proposed. The workspace keeps its line.
func (r *Repo) Follow(ctx context.Context, join bool) error {
	if r.branch.Remote == nil || !r.opt.Push || r.branch.Pending || r.opt.Ask == nil || r.branch.ServerTip.IsZero() || r.branch.BaseTip.IsZero() || r.branch.BaseTip == r.askedAt {
		return nil
	}
	word, err := r.ask(ctx, r.branch.ServerTip)
	if err != nil {
		return err
	}
	r.learn(word)
	w, err := r.branch.Work(ctx, r.branch.ServerTip)
	if err != nil || w.By == (history.Merged{}) || !join {
		return err
	}
	if differs, err := r.branch.Differs(ctx, r.branch.ServerTip); err != nil || !differs {
		return err
	}
	trees, err := r.branch.Trees(ctx, w.Fork, r.branch.ServerTip, r.branch.BaseTip)
	if err != nil {
		return err
	}
	tree, conflicts, err := r.branch.Merge(ctx, trees[0], trees[1], trees[2])
	if err != nil {
		return err
	}
	if len(conflicts) > 0 {
		r.branch.Note("%s while the run went on, and %s has changed %q since, as the work after it did: merge %s into %s and resolve that", w.By.How(r.start.Base), r.start.Base, printable.Line(conflicts[0], 200), r.start.Base, r.branch.Name)
		return nil
	}
	if r.branch.Join, err = r.mergeCommit(r.branch.ServerTip, r.branch.BaseTip, tree); err != nil {
		return err
	}
	r.branch.Note("%s while the run went on: %s is merged into the branch, so that only what came after is proposed", w.By.How(r.start.Base), r.start.Base)
	r.branch.Published[r.branch.BaseTip], r.branch.OnBase = true, r.branch.BaseTip
	r.branch.Pending, r.branch.Updated = true, true
	return r.Push(ctx)
}
