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
	// Spare leaves what may be somebody's: a file that git does not track and that is in the
	// way of a commit's is an error, and so is a lock of git's.
	Spare bool

	given map[plumbing.Hash]bool // objects that it was given; nil: nothing was tried out yet
	at    plumbing.Hash          // tree whose files it was given last; zero: that of the branch
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
	return w.give(ctx, c.TreeHash)
}

// InTheWayError means that files which git does not track, as checks leave them, stand where
// a commit has its own.
type InTheWayError struct{ Err error }

func (e *InTheWayError) Error() string {
	return "it has files that setup or checks make here, too: " + e.Err.Error()
}

func (e *InTheWayError) Unwrap() error { return e.Err }

// Reset gives the work tree the files of the branch, once something was tried out.
func (w *Workspace) Reset(ctx context.Context) error {
	if w.given == nil {
		return nil
	}
	return w.give(ctx, w.Branch.TipTree)
}

// give gives the work tree the files of a tree. The index is made anew: what was run on a
// commit may have marked files in it as ones not to look at, so that its own version of them
// would judge the next commit.
func (w *Workspace) give(ctx context.Context, tree plumbing.Hash) error {
	if w.at.IsZero() {
		w.at = w.Branch.TipTree
	}
	steps := [][]string{{"read-tree", w.at.String()}, {"update-index", "-q", "--refresh"}}
	if w.Spare {
		steps = append(steps, []string{"read-tree", "--reset", "-u", w.at.String()}, []string{"read-tree", "-m", "-u", w.at.String(), tree.String()})
	} else {
		steps = append(steps, []string{"read-tree", "--reset", "-u", tree.String()})
	}
	t := w.Branch.Tree
	if !w.Spare {
		t.RemoveLocks()
	}
	for _, args := range steps {
		err := t.GitEnv(ctx, t.IndexEnv(), nil, nil, append([]string{"-c", "submodule.recurse=false"}, args...)...)
		if code, ok := worktree.ExitCode(err); ok && code == 1 && args[0] == "update-index" {
			continue // files are not as the index has them
		}
		if g, is := errors.AsType[*worktree.GitError](err); is && strings.Contains(g.Stderr, "would be overwritten") {
			return &InTheWayError{Err: err}
		}
		if err != nil {
			return fmt.Errorf("give the work tree the files of %.7s: %w", tree, err)
		}
	}
	w.at = tree
	return t.ReturnIndex()
}
