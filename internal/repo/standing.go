package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/files"
)

// standing is the work that Patch writes: what the last snapshot found. In the
// middle of a merge or with conflicts, which no snapshot takes, it is what stands in
// the work tree, markers included; in the middle of a rebase, what was to be rebased.
// of says in words what that is, and is empty for a snapshot.
func (r *Repo) standing(ctx context.Context) (tree plumbing.Hash, of string, err error) {
	var unfinished *UnfinishedError
	if !errors.As(r.unfinished(ctx), &unfinished) {
		return r.line.public, "", nil
	}
	for _, folder := range []string{"rebase-merge", "rebase-apply"} {
		h, err := r.origHead(folder)
		if err != nil {
			continue
		}
		if err := r.importCommit(ctx, h); err != nil {
			return plumbing.ZeroHash, "", err
		}
		c, err := r.store.Commit(h)
		if err != nil {
			return plumbing.ZeroHash, "", err
		}
		return c.TreeHash, fmt.Sprintf("in the middle of a rebase: the commits up to %s, without what was done since it began", h.String()[:7]), nil
	}
	if tree, _, err = r.stage(ctx); err != nil {
		return plumbing.ZeroHash, "", err
	}
	return tree, "with " + unfinished.What + ", as it stands", r.importObjects(ctx, []string{tree.String()}, "--revs", "--filter=blob:none")
}

// origHead is the commit that a rebase began with, by the file of git's own.
func (r *Repo) origHead(folder string) (plumbing.Hash, error) {
	f, _, err := files.Open(r.gitDir, path.Join(folder, "orig-head"))
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 100))
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return parseHash(string(text))
}
