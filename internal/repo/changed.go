package repo

import (
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/store"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// Seen identifies what would be published as it was seen last: by the last
// snapshot, or when the run began.
func (r *Repo) Seen() string {
	if r.line.public.IsZero() {
		return r.line.tipTree.String()
	}
	return r.line.public.String()
}

// Changed lists the paths that differ between what Seen said then and what it
// would say now, from the top of the work tree. They are foreign text.
func (r *Repo) Changed(then string) ([]string, error) {
	h, err := worktree.ParseHash(then)
	if err != nil {
		return nil, err
	}
	now, err := worktree.ParseHash(r.Seen())
	if err != nil {
		return nil, err
	}
	changes, err := r.objects.Store.Diff(h, now, nil)
	if err != nil {
		return nil, fmt.Errorf("compare trees: %w", err)
	}
	paths := make([]string, len(changes))
	for i, c := range changes {
		paths[i] = c.Path
	}
	return paths, nil
}

// LeftOut is what the last snapshot left out of the run's work.
func (r *Repo) LeftOut() []LeftOut { return r.line.missing }

// Unchanged reports whether branch and base both hold an object at a path; the empty
// id means that they hold nothing there.
func (r *Repo) Unchanged(ctx context.Context, path, id string) bool {
	trees := []plumbing.Hash{r.line.tipTree}
	if !r.baseTip.IsZero() {
		if base, err := r.objects.Commit(ctx, r.baseTip); err == nil {
			trees = append(trees, base.TreeHash)
		}
	}
	for _, tree := range trees {
		e, err := r.objects.Store.Lookup(tree, path)
		if err != nil {
			return false
		}
		if now := e.Hash.String(); e == (store.Entry{}) && id != "" || e != (store.Entry{}) && now != id {
			return false
		}
	}
	return true
}
