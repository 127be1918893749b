package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/history"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/publish"
	"github.com/org/ralph-action/internal/repo/store"
)

// update brings a branch whose base has moved to the base, as the options ask.
func (r *Repo) update(ctx context.Context, tip, head plumbing.Hash) (plumbing.Hash, error) {
	if r.opt.UpdateBase == UpdateNone && len(r.branch.Merged) == 0 || r.branch.BaseTip.IsZero() || r.branch.Aside || head == r.branch.BaseTip || r.start.Restarted {
		return head, nil
	}
	sp, err := r.branch.Between(ctx, head, r.branch.BaseTip)
	if err != nil && r.opt.UpdateBase == UpdateNone {
		return head, nil //nolint:nilerr // resume has noted it
	}
	if err != nil {
		return head, fmt.Errorf("compare the branch %s with %s: %w", r.opt.Branch, r.start.Base, err)
	}
	if r.opt.UpdateBase != UpdateNone && len(sp.Own) == 0 && !slices.Contains(sp.Edges, r.branch.BaseTip) {
		return r.updated(r.fetchBase(ctx)) // nothing new here
	}
	w, err := r.branch.Work(ctx, head)
	crossed := errors.Is(err, history.ErrCrossed)
	switch {
	case w.By == (history.Merged{}) && (r.opt.UpdateBase == UpdateNone || slices.Contains(sp.Edges, r.branch.BaseTip)):
		return head, nil // nothing new there, or not wanted
	case err != nil && !crossed:
		return head, err
	case r.opt.UpdateBase == UpdateRebase:
		if err := r.branch.OwnOnly(w.Range); err != nil {
			return head, err
		}
	}
	if crossed {
		r.branch.Note("%s was not merged into the branch %s: %s; merge it by hand", r.start.Base, r.opt.Branch, err)
		return head, nil
	}
	trees, err := r.branch.Trees(ctx, w.Fork, head, r.branch.BaseTip)
	if err != nil {
		return head, err
	}
	if r.opt.UpdateBase == UpdateRebase {
		return r.rebase(ctx, w.Range, head)
	}
	tree, conflicts, err := r.branch.Merge(ctx, trees[0], trees[1], trees[2])
	if err != nil {
		return head, err
	}
	if len(conflicts) > 0 {
		return r.unmerged(ctx, head, conflicts[0])
	}
	from, err := r.fetchBase(ctx)
	if err != nil {
		return head, err
	}
	merge, err := r.mergeCommit(head, from, tree)
	if err != nil {
		return head, err
	}
	if r.branch.ServerTip == tip && !tip.IsZero() {
		r.branch.Synced = tip
	}
	if w.By == (history.Merged{}) {
		r.branch.Note("%s has moved: it is merged into the branch %s", r.start.Base, r.opt.Branch)
	} else {
		r.branch.Note("%s: %s is merged into the branch %s, so that only what came after is proposed", w.By.How(r.start.Base), r.start.Base, r.opt.Branch)
	}
	return r.updated(merge, r.branch.ExportCommit(ctx, merge, head))
}

func (r *Repo) updated(h plumbing.Hash, err error) (plumbing.Hash, error) {
	if err == nil {
		r.start.Updated, r.branch.Rebased = true, r.opt.UpdateBase == UpdateRebase
	}
	return h, err
}

// unmerged notes that base and branch do not fit together.
func (r *Repo) unmerged(ctx context.Context, head plumbing.Hash, conflict string) (plumbing.Hash, error) {
	base, err := r.fetchBase(ctx)
	if err != nil {
		return head, err
	}
	r.start.Conflict, r.start.Tip = conflict, base.String()
	r.branch.Note("%s was not merged into the branch %s: both changed %q; the agent is told and may merge it", r.start.Base, r.opt.Branch, printable.Line(conflict, 200))
	return head, nil
}

// rebase puts the branch's commits on top of the base. Merges of the base
// disappear; what else a merge brought becomes one commit.
func (r *Repo) rebase(ctx context.Context, sp history.Range, head plumbing.Hash) (plumbing.Hash, error) {
	var chain []*store.Commit
	for h := head; sp.Own[h]; {
		c, err := r.store.Commit(h)
		if err != nil {
			return head, err
		}
		foreign := len(c.ParentHashes) > 1
		for _, p := range c.ParentHashes[min(1, len(c.ParentHashes)):] {
			foreign = foreign && !sp.Own[p]
		}
		if !foreign {
			chain = append(chain, c)
		}
		if len(c.ParentHashes) == 0 {
			break
		}
		h = c.ParentHashes[0]
	}
	made, err := r.branch.Rebase(ctx, chain, r.branch.BaseTip)
	var conflict *publish.ConflictError
	if errors.As(err, &conflict) {
		return r.unmerged(ctx, head, conflict.Path)
	}
	if err != nil {
		return head, fmt.Errorf("rebase %s: %w", r.opt.Branch, err)
	}
	from, err := r.fetchBase(ctx)
	if err != nil {
		return head, err
	}
	for _, h := range made {
		if err := r.branch.ExportCommit(ctx, h, from); err != nil {
			return head, err
		}
		from = h
	}
	r.branch.Note("%s has moved: the %d commit(s) of the branch %s are put on top of it, and replace those on the server", r.start.Base, len(made), r.opt.Branch)
	return r.updated(from, nil)
}

// restart makes the commit at which a branch starts again whose changes the
// base has: it stands on the branch, so that a push only ever adds, and on the
// commit to start from, whose tree it holds. It is published with the first
// new work and not before.
func (r *Repo) restart(tip, from plumbing.Hash) (plumbing.Hash, error) {
	c, err := r.store.Commit(from)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	message := fmt.Sprintf("ralph: start again from %s\n\nAll changes of this branch were in %s already.\n\n%s: %s\n", r.start.Base, r.start.Base, history.RestartTrailer, from)
	return r.store.NewCommit(r.opt.Committer, r.opt.Clock(), message, c.TreeHash, tip, from)
}

// mergeCommit merges the base into a commit of the branch.
func (r *Repo) mergeCommit(head, base, tree plumbing.Hash) (plumbing.Hash, error) {
	return r.store.NewCommit(r.opt.Committer, r.opt.Clock(), fmt.Sprintf("Merge branch '%s' into %s\n", r.start.Base, r.opt.Branch), tree, head, base)
}
