package integrate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/publish"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// Workspace is a work tree in which commits are tried out.
type Workspace struct {
	Branch *publish.Branch
	given  map[plumbing.Hash]bool // objects that it was given; nil: nothing was tried out yet
}

// Untouched returns an error unless the tracked files are those of the commit that is
// checked out: TryOut would throw away what was changed.
func (w *Workspace) Untouched(ctx context.Context) error {
	changed, err := w.Branch.Tree.Output(ctx, nil, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty")
	if err == nil && changed != "" {
		return errors.New("files that git tracks have changes that are not committed: commit them, or put them aside first")
	}
	return err
}

// TryOut gives the work tree the files of a commit of the store that stands on the branch,
// whose own commit stays checked out: who is killed meanwhile leaves no commit that nobody
// has checked. Changes of tracked files are thrown away.
func (w *Workspace) TryOut(ctx context.Context, commit string) error {
	h := plumbing.NewHash(commit)
	c, err := w.Branch.Store.Commit(h)
	if err != nil {
		return err
	}
	if w.given == nil {
		w.given = map[plumbing.Hash]bool{}
	}
	lacking, err := w.Branch.Store.Missing(h, func(h plumbing.Hash) bool { return h == w.Branch.Start || w.given[h] })
	if err != nil {
		return err
	}
	if err := w.Branch.Export(ctx, lacking); err != nil {
		return err
	}
	for _, o := range lacking {
		w.given[o] = true
	}
	if err := w.Reset(ctx); err != nil {
		return err
	}
	err = w.Branch.Tree.Git(ctx, nil, nil, "-c", "submodule.recurse=false", "read-tree", "-m", "-u", "HEAD", c.TreeHash.String())
	if g, is := errors.AsType[*worktree.GitError](err); is && strings.Contains(g.Stderr, "would be overwritten") {
		return &InTheWayError{Err: err}
	}
	if err != nil {
		return fmt.Errorf("give the work tree the files of %s: %w", commit[:7], err)
	}
	return nil
}

// InTheWayError means that files which git does not track, as checks leave them, stand where
// a commit has its own.
type InTheWayError struct{ Err error }

func (e *InTheWayError) Error() string {
	return "it has files that setup or checks make here, too: " + e.Err.Error()
}

func (e *InTheWayError) Unwrap() error { return e.Err }

// Reset gives the work tree the files of the commit that is checked out, once something was
// tried out.
func (w *Workspace) Reset(ctx context.Context) error {
	if w.given == nil {
		return nil
	}
	return w.Branch.Tree.Git(ctx, nil, nil, "reset", "-q", "--hard")
}
