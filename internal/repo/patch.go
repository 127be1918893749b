package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/patch"
	"github.com/org/ralph-action/internal/repo/store"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// Patch writes the work that is not published, from the last commit of the line
// that the server has to the last snapshot and what was left out of it, so that `git apply` can bring it back:
// made without running a program. Commits made here before the run are in it as
// long as nothing was pushed. Files that are not text (a NUL in the first
// 8,000 bytes), repositories in the tree, and what would make the patch longer than limit
// bytes are named in comments at its top. Nothing to write is no error. Names and contents
// are foreign text, and may hold what nothing was published for.
func (r *Repo) Patch(ctx context.Context, w io.Writer, limit int64) error {
	to, of, err := r.worktreeState(ctx)
	if err != nil || to.IsZero() {
		return err
	}
	if of == "" {
		if to, err = r.store.Edit(to, r.state.left); err != nil {
			return err
		}
	}
	from, err := r.store.Commit(r.lastPublished())
	if err != nil {
		return err
	}
	changes, err := r.store.Diff(from.TreeHash, to, nil)
	if err != nil {
		return err
	}
	return r.write(ctx, w, of, changes, limit)
}

// lastPublished is the last commit of the line that the server has, below commits
// that were made here before the run as well.
func (r *Repo) lastPublished() plumbing.Hash {
	at, s := r.branch.Synced, r.start
	if at != r.branch.Start || s.Resumed || s.Restarted || s.Updated || r.branch.Aside {
		return at
	}
	if _, below, err := r.store.Chain(at, r.branch.OnServer); err == nil {
		return below
	}
	return at
}

// worktreeState is the work that Patch writes: what the last snapshot found. In the
// middle of a merge or with conflicts, which no snapshot takes, it is what stands in
// the work tree, markers included; in the middle of a rebase, what was to be rebased.
// of says in words what that is, and is empty for a snapshot.
func (r *Repo) worktreeState(ctx context.Context) (tree plumbing.Hash, of string, err error) {
	var unfinished *worktree.UnfinishedError
	if !errors.As(r.tree.Unfinished(ctx), &unfinished) {
		return r.state.public, "", nil
	}
	if h := r.tree.RebaseHead(); !h.IsZero() {
		if err := r.branch.ImportCommit(ctx, h); err != nil {
			return plumbing.ZeroHash, "", err
		}
		c, err := r.store.Commit(h)
		if err != nil {
			return plumbing.ZeroHash, "", err
		}
		return c.TreeHash, fmt.Sprintf("in the middle of a rebase: the commits up to %s, without what was done since it began", h.String()[:7]), nil
	}
	if tree, _, err = r.tree.Stage(ctx); err != nil {
		return plumbing.ZeroHash, "", err
	}
	return tree, "with " + unfinished.What + ", as it stands", r.branch.Import(ctx, []string{tree.String()}, "--revs", "--filter=blob:none")
}

// Diffs returns the patches from one tree to another, for people: of snapshots, each at
// most limit bytes; see Patch for what is in them. When ctx ends, the rest is missing.
func (r *Repo) Diffs(ctx context.Context, trees [][2]string, limit int) ([][]byte, error) {
	var all [][]byte
	for _, t := range trees {
		if err := ctx.Err(); err != nil {
			return all, err
		}
		changes, err := r.store.Diff(plumbing.NewHash(t[0]), plumbing.NewHash(t[1]), nil)
		if err != nil {
			return all, err
		}
		var b bytes.Buffer
		if err := r.write(ctx, &b, "", changes, int64(limit)); err != nil {
			return all, err
		}
		all = append(all, b.Bytes())
	}
	return all, nil
}

// write writes a patch of changes, without ralph's own state.
func (r *Repo) write(ctx context.Context, w io.Writer, head string, changes []store.Change, limit int64) error {
	changes = slices.DeleteFunc(changes, func(ch store.Change) bool { return r.tree.IsRunFile(ch.Path) })
	r.branch.ImportOld(ctx, changes)
	content := func(e store.Entry) ([]byte, error) { return r.branch.Content(ctx, e) }
	return patch.Write(w, head, changes, content, limit)
}
