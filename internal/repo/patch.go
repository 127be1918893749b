package repo

import (
	"context"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/patch"
	"github.com/org/ralph-action/internal/repo/store"
)

// Patch writes the work that is not published, from the last commit of the line
// that the server has to the last snapshot and what was left out of it, so that `git apply` can bring it back:
// made by the owner, without a program. Commits made here before the run are in it as
// long as nothing was pushed. Files that are not text (a NUL in the first
// 8,000 bytes), repositories in the tree, and what would make the patch longer than limit
// bytes are named in comments at its top. Nothing to write is no error. Names and contents
// are foreign text, and may hold what nothing was published for.
func (r *Repo) Patch(ctx context.Context, w io.Writer, limit int64) error {
	to, of, err := r.standing(ctx)
	if err != nil || to.IsZero() {
		return err
	}
	if of == "" {
		if to, err = r.objects.Store.Edit(to, r.line.left); err != nil {
			return err
		}
	}
	from, err := r.objects.Store.Commit(r.lastPublished())
	if err != nil {
		return err
	}
	changes, err := r.objects.Store.Diff(from.TreeHash, to, nil)
	if err != nil {
		return err
	}
	changes = slices.DeleteFunc(changes, func(ch store.Change) bool { return r.tree.IsRunFile(ch.Path) })
	r.objects.ImportOld(ctx, changes)
	content := func(e store.Entry) ([]byte, error) { return r.objects.Content(ctx, e) }
	return patch.Write(w, of, changes, content, limit)
}

// lastPublished is the last commit of the line that the server has, below commits
// that were made here before the run as well.
func (r *Repo) lastPublished() plumbing.Hash {
	at, s := r.server.synced, r.start
	if at != r.line.startHead || s.Resumed || s.Restarted || s.Updated || r.server.aside {
		return at
	}
	for h := at; ; {
		if r.onServerNow(h) {
			return h
		}
		c, err := r.objects.Store.Commit(h)
		if err != nil || len(c.ParentHashes) == 0 {
			return at
		}
		h = c.ParentHashes[0]
	}
}
