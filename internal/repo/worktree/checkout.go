package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// OverwriteError means that continuing the existing branch would overwrite files
// that were changed before the run.
type OverwriteError struct {
	Branch string
	Err    error
}

func (e *OverwriteError) Error() string {
	return fmt.Sprintf("the branch %s exists and cannot be checked out over the uncommitted changes here: commit or remove them first: %v", e.Branch, e.Err)
}

func (e *OverwriteError) Unwrap() error { return e.Err }

// CheckOut checks the work branch out at a commit. Files that were changed before are
// kept, or the error is an *OverwriteError.
func (t *Tree) CheckOut(ctx context.Context, at plumbing.Hash) error {
	err := t.checkOut(ctx, "--no-track", "-B", t.Branch, at.String())
	var g *GitError
	if errors.As(err, &g) && strings.Contains(g.Stderr, "would be overwritten") {
		return &OverwriteError{Branch: t.Branch, Err: err}
	}
	if err != nil {
		return fmt.Errorf("check out the branch %s: %w", t.Branch, err)
	}
	return nil
}

func (t *Tree) checkOut(ctx context.Context, args ...string) error {
	return t.Git(ctx, nil, io.Discard, append([]string{"-c", "advice.detachedHead=false", "checkout", "-q"}, args...)...)
}

// Origin is what was checked out before the work branch.
type Origin struct {
	branch string // empty: the commit itself
	commit plumbing.Hash
	made   bool // the work branch was not there
}

// Origin returns what is checked out, which is a commit of a branch or of none.
func (t *Tree) Origin(branch string, commit plumbing.Hash) Origin {
	return Origin{branch: branch, commit: commit, made: t.LacksRef("refs/heads/" + t.Branch)}
}

// GoBack checks out what was checked out before the work branch, and removes that where it
// was made since and is still at start: setup may have committed. Files that were changed
// stay, or git refuses.
func (t *Tree) GoBack(ctx context.Context, from Origin, start plumbing.Hash) error {
	if from.branch == t.Branch || !t.Attached() {
		return nil
	}
	to := []string{from.branch, "--"}
	if from.branch == "" {
		to = []string{"--detach", from.commit.String(), "--"}
	}
	at := t.BranchFile()
	if err := t.checkOut(ctx, append([]string{"--no-guess", "--no-recurse-submodules"}, to...)...); err != nil || !from.made || at.IsZero() || at != start {
		return err
	}
	return t.Git(ctx, nil, nil, "update-ref", "-d", "refs/heads/"+t.Branch, at.String())
}
