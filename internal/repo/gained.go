package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

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
	r.gained = nil
	for _, g := range w.Gained {
		head := plumbing.NewHash(g.Head)
		if g.Head == "" {
			head = r.objects.BaseOffer.Refs[fmt.Sprintf("refs/pull/%d/head", g.PullRequest)]
		}
		if g.Base == r.start.Base && !head.IsZero() {
			r.gained = append(r.gained, gained{head, g.PullRequest})
		}
	}
	r.askedAt = r.baseTip
}

type gained struct {
	head        plumbing.Hash
	pullRequest int
}

// how describes how the base came to have it.
func (g gained) how(base string) string {
	if g.pullRequest == 0 {
		return fmt.Sprintf("%s was rewritten, and %s is not in it any more", base, g.head.String()[:7])
	}
	return fmt.Sprintf("pull request #%d was merged into %s", g.pullRequest, base)
}

// work is what a branch has that is not in the base, by whatever way the base
// came to have it.
type work struct {
	span
	fork plumbing.Hash // the newest commit of the branch that counts as the base's; zero: no history in common
	// by is the word of the forge that fork follows from; zero: it follows from git.
	by gained
}

// workOf is what tip has and the base, in one way or another, has not.
// The error is errCrossed where there is no single fork.
func (r *Repo) workOf(ctx context.Context, tip plumbing.Hash) (work, error) {
	sp, err := r.span(ctx, tip, r.baseTip)
	if err != nil {
		return work{}, err
	}
	var by gained // the newest
	bases := []plumbing.Hash{r.baseTip}
	for _, g := range r.gained {
		if !sp.own[g.head] {
			continue
		}
		if bases = append(bases, g.head); by == (gained{}) {
			by = g
		}
	}
	if by == (gained{}) {
		fork, err := r.mergeBase(ctx, sp, tip, r.baseTip)
		return work{span: sp, fork: fork}, err
	}
	if sp, err = r.span(ctx, tip, bases...); err != nil {
		return work{}, err
	}
	// What the base itself brought later is newer.
	rest := sp
	rest.edges = slices.DeleteFunc(slices.Clone(sp.edges), func(h plumbing.Hash) bool { return h != r.baseTip && slices.Contains(bases, h) })
	if len(rest.edges) == 0 {
		return work{sp, by.head, by}, nil
	}
	fork, err := r.mergeBase(ctx, rest, tip, r.baseTip)
	return work{span: sp, fork: fork}, err
}

// differs reports whether tip has changes that the base lacks. What the base gained
// in another way, as by a squash merge, is none. When the two cannot be compared
// it returns true.
func (r *Repo) differs(ctx context.Context, tip plumbing.Hash) (bool, error) {
	w, err := r.workOf(ctx, tip)
	switch {
	case errors.Is(err, errCrossed):
		return true, nil
	case err != nil:
		return true, err
	case len(w.own) == 0:
		return false, nil
	}
	trees, err := r.objects.Trees(ctx, w.fork, tip, r.baseTip)
	if err != nil {
		return true, err
	}
	return r.objects.Adds(ctx, trees[0], trees[1], trees[2])
}

// Follow asks the forge again, where the base has moved since it was asked: a pull
// request that was merged while the run went on holds a part of the branch, and
// only what came after is new. With join, the base is merged into the branch on
// the server then, so that only that is proposed. The workspace keeps its line.
func (r *Repo) Follow(ctx context.Context, join bool) error {
	if r.objects.Remote == nil || !r.opt.Push || r.server.pending || r.opt.Ask == nil || r.server.tip.IsZero() || r.baseTip.IsZero() || r.baseTip == r.askedAt {
		return nil
	}
	word, err := r.ask(ctx, r.server.tip)
	if err != nil {
		return err
	}
	r.learn(word)
	w, err := r.workOf(ctx, r.server.tip)
	if err != nil || w.by == (gained{}) || !join {
		return err
	}
	if differs, err := r.differs(ctx, r.server.tip); err != nil || !differs {
		return err
	}
	trees, err := r.objects.Trees(ctx, w.fork, r.server.tip, r.baseTip)
	if err != nil {
		return err
	}
	tree, conflict, err := r.objects.Merge(ctx, trees[0], trees[1], trees[2])
	if err != nil {
		return err
	}
	if conflict != "" {
		r.note("%s while the run went on, and %s has changed %q since, as the work after it did: merge %s into %s and resolve that", w.by.how(r.start.Base), r.start.Base, printable.Line(conflict, 200), r.start.Base, r.server.branch)
		return nil
	}
	if r.server.join, err = r.mergeCommit(r.server.tip, r.baseTip, tree); err != nil {
		return err
	}
	r.note("%s while the run went on: %s is merged into the branch, so that only what came after is proposed", w.by.how(r.start.Base), r.start.Base)
	r.objects.Known[r.baseTip], r.onBase = true, r.baseTip
	r.server.pending, r.line.updated = true, true
	return r.Push(ctx)
}

// mergeCommit merges the base into a commit of the branch.
func (r *Repo) mergeCommit(head, base, tree plumbing.Hash) (plumbing.Hash, error) {
	now := r.opt.Clock()
	return r.objects.Store.WriteCommit(&object.Commit{
		Author: signature(r.opt.Committer, now), Committer: signature(r.opt.Committer, now),
		Message:  fmt.Sprintf("Merge branch '%s' into %s\n", r.start.Base, r.opt.Branch),
		TreeHash: tree, ParentHashes: []plumbing.Hash{head, base},
	})
}
