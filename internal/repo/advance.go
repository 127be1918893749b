package repo

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/inspection"
)

// Advance moves the branch to a commit of the store that stands on it. The workspace has it,
// and its files.
func (r *Repo) Advance(ctx context.Context, commit string) (ralph.Commit, error) {
	h := plumbing.NewHash(commit)
	for c, err := range r.store.Since([]plumbing.Hash{h}, func(h plumbing.Hash) bool { return h == r.branch.Tip }) {
		if err != nil {
			return ralph.Commit{}, err
		}
		r.branch.Ours[c.Hash] = true
	}
	c, err := r.store.Commit(h)
	if err == nil {
		err = r.tree.Attach(ctx, h)
	}
	if err != nil {
		return ralph.Commit{}, err
	}
	r.state.headTree = c.TreeHash
	return r.advance(&snapshot{parent: r.branch.Tip}, h, c.TreeHash)
}

// InspectAll looks at all that the run and the branch have changed.
func (r *Repo) InspectAll(ctx context.Context) ([]ralph.Finding, error) {
	run, total, err := r.runAndTotal(ctx, &snapshot{public: r.branch.TipTree})
	if err != nil {
		return nil, err
	}
	r.branch.Lacking(inspection.Entries(total))
	return r.opt.Inspect(ctx, inspection.Request{Branch: r.branch.Name, Run: run, Total: total})
}
