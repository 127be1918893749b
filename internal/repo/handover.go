package repo

import (
	"context"
)

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
