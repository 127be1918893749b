package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/inspection"
	"github.com/org/ralph-action/internal/repo/objects"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// maxBaseFile bounds a file of the base that is asked for by name.
const maxBaseFile = 16 << 20

// ErrNoBase means that the base branch is not known, as in a local run without one.
var ErrNoBase = errors.New("the base branch is not known")

// BaseFile is the base branch's version of a file, as the forge had it when it was
// last asked: by its id, whatever the workspace holds. The path is from the top of the
// repository; Prefix leads there. At most 16 MB. Errors are ErrNoBase, fs.ErrNotExist
// when the base has no such file (or a link or directory there), or say what could not be
// read. Call it after Begin.
func (r *Repo) BaseFile(ctx context.Context, path string) ([]byte, error) {
	if r.branch.BaseTip.IsZero() {
		return nil, ErrNoBase
	}
	c, err := r.branch.Commit(ctx, r.branch.BaseTip)
	if err != nil {
		return nil, err
	}
	e, err := r.store.Lookup(c.TreeHash, path)
	if err != nil {
		return nil, err
	}
	if e.Mode != filemode.Regular && e.Mode != filemode.Executable {
		return nil, fmt.Errorf("%s of the base: %w", printable.Line(path, 200), fs.ErrNotExist)
	}
	return r.branch.Blob(ctx, e.Hash, maxBaseFile)
}

// Holds reports whether what was seen last, or is published already, contains a commit of
// the base.
func (r *Repo) Holds(ctx context.Context, commit string) bool {
	tip, base := r.branch.Tip, plumbing.NewHash(commit)
	if r.last != nil {
		tip = r.last.parent
	}
	sp, err := r.branch.Between(ctx, tip, base)
	return err == nil && slices.Contains(sp.Edges, base)
}

// Prefix is the path of Options.Dir from the top of the work tree, with a slash at
// its end; empty at the top.
func (r *Repo) Prefix() string { return r.tree.Prefix }

// Seen identifies what would be published, by the last snapshot or the beginning of the run.
func (r *Repo) Seen() string {
	if r.state.public.IsZero() {
		return r.branch.TipTree.String()
	}
	return r.state.public.String()
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
	changes, err := r.store.Diff(h, now, nil)
	if err != nil {
		return nil, fmt.Errorf("compare trees: %w", err)
	}
	paths := make([]string, len(changes))
	for i, c := range changes {
		paths[i] = c.Path
	}
	return paths, nil
}

// Files are those that the branch changes against the commit at which it left its base, as
// far as that is known, earlier runs and other people's commits included.
func (r *Repo) Files(ctx context.Context) ([]ralph.File, error) {
	base := r.fork(ctx)
	if base == r.branch.Start { // commits made here before the run are published with it
		base = cmp.Or(r.branch.Edge, base)
	}
	changes, err := r.total(ctx, base, r.branch.TipTree)
	if err != nil {
		return nil, fmt.Errorf("list the changed files: %w", err)
	}
	return r.files(changes, r.branch.CountLines(ctx, changes)), nil
}

// files describes changes, moved files too, with the lines of each; nil: they were not counted.
func (r *Repo) files(changes []store.Change, lines []objects.Lines) []ralph.File {
	counted := map[string]objects.Lines{}
	for i, l := range lines {
		counted[changes[i].Path] = l
	}
	described := inspection.Describe(r.branch.Objects, changes, plumbing.ZeroHash)
	list := make([]ralph.File, 0, len(described))
	for _, c := range described {
		f := ralph.File{Path: c.Path, From: c.From, New: c.OldMode == inspection.ModeNone, Gone: c.NewMode == inspection.ModeNone}
		if l := counted[c.Path]; c.From == "" {
			f.Insertions, f.Deletions, f.Uncounted = l.Insertions, l.Deletions, l.Uncounted
		}
		list = append(list, f)
	}
	return list
}

// LeftOut is what the last snapshot left out of the run's work.
func (r *Repo) LeftOut() []inspection.LeftOut { return r.state.missing }

// Lost is what others had changed before the run, and is no more by the last snapshot.
func (r *Repo) Lost(ctx context.Context) (worktree.Loss, error) {
	l := &r.state
	if l.lastTree.IsZero() || len(r.start.Dirty) == 0 {
		return worktree.Loss{}, nil
	}
	own := func(path string) bool { _, ours := r.own[path]; return ours }
	return r.tree.Lost(ctx, r.branch.Start.String(), l.begun.String(), l.lastTree.String(), own)
}

// Unchanged reports whether branch and base both hold an object at a path; the empty
// id means that they hold nothing there.
func (r *Repo) Unchanged(ctx context.Context, path, id string) bool {
	trees := []plumbing.Hash{r.branch.TipTree}
	if !r.branch.BaseTip.IsZero() {
		if base, err := r.branch.Commit(ctx, r.branch.BaseTip); err == nil {
			trees = append(trees, base.TreeHash)
		}
	}
	for _, tree := range trees {
		e, err := r.store.Lookup(tree, path)
		if err != nil {
			return false
		}
		if now := e.Hash.String(); e == (store.Entry{}) && id != "" || e != (store.Entry{}) && now != id {
			return false
		}
	}
	return true
}
