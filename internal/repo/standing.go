package repo

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// standing is the work that Patch writes: what the last snapshot found. In the
// middle of a merge or with conflicts, which no snapshot takes, it is what stands in
// the work tree, markers included; in the middle of a rebase, what was to be rebased.
// of says in words what that is, and is empty for a snapshot.
func (r *Repo) standing(ctx context.Context) (tree plumbing.Hash, of string, err error) {
	var unfinished *worktree.UnfinishedError
	if !errors.As(r.tree.Unfinished(ctx), &unfinished) {
		return r.line.public, "", nil
	}
	if h := r.tree.RebaseHead(); !h.IsZero() {
		if err := r.objects.ImportCommit(ctx, h); err != nil {
			return plumbing.ZeroHash, "", err
		}
		c, err := r.objects.Store.Commit(h)
		if err != nil {
			return plumbing.ZeroHash, "", err
		}
		return c.TreeHash, fmt.Sprintf("in the middle of a rebase: the commits up to %s, without what was done since it began", h.String()[:7]), nil
	}
	if tree, _, err = r.tree.Stage(ctx); err != nil {
		return plumbing.ZeroHash, "", err
	}
	return tree, "with " + unfinished.What + ", as it stands", r.objects.Import(ctx, []string{tree.String()}, "--revs", "--filter=blob:none")
}
