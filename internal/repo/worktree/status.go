package worktree

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/org/ralph-action/internal/repo/printable"
)

// Look returns the commit that is checked out, and whether nothing differs from it.
// Errors are ErrEmpty, *UnsupportedError, *UnfinishedError for a conflict, or git's.
func (t *Tree) Look(ctx context.Context) (head plumbing.Hash, clean bool, err error) {
	id, conflict, clean, err := t.status(ctx)
	switch {
	case err != nil:
		return plumbing.ZeroHash, false, notRepository(err)
	case id == "(initial)":
		return plumbing.ZeroHash, false, ErrEmpty
	case len(id) == 64:
		return plumbing.ZeroHash, false, &UnsupportedError{What: "sha256"}
	case conflict != "":
		return plumbing.ZeroHash, false, unresolved(conflict)
	}
	head, err = ParseHash(id)
	return head, clean, err
}

// Unchanged reports whether a commit is checked out and nothing differs from it. It
// takes one command where Stage takes two, and ignores broken submodules. When in doubt
// it returns false.
func (t *Tree) Unchanged(ctx context.Context, commit plumbing.Hash) bool {
	if t.CopyIndex() != nil {
		return false
	}
	head, _, clean, err := t.status(ctx)
	return err == nil && clean && head == commit.String()
}

// status asks git, in one command, for the commit that is checked out, a path with an
// unresolved conflict, and whether anything differs from the commit. It writes nothing,
// not even a copy of the index where there is none.
func (t *Tree) status(ctx context.Context) (head, conflict string, clean bool, err error) {
	args := []string{
		"-c", "core.untrackedCache=false", // the agent of an earlier run may have left a wrong one
		"status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames",
		"--untracked-files=normal", "--ignore-submodules=dirty", "--", ":(top)",
	}
	s, err := t.OutputEnv(ctx, append(t.IndexEnv(), "GIT_OPTIONAL_LOCKS=0"), nil, append(args, t.exclusions()...)...)
	if err != nil {
		return "", "", false, err
	}
	head, conflict, clean = parseStatus(s)
	return head, conflict, clean, nil
}

// parseStatus reads git-status(1), "Porcelain Format Version 2", with -z.
func parseStatus(text string) (head, conflict string, clean bool) {
	clean = true
	for s := range strings.SplitSeq(strings.TrimSuffix(text, "\x00"), "\x00") {
		if s != "" && !strings.HasPrefix(s, "# ") {
			clean = false
		}
		if h, ok := strings.CutPrefix(s, "# branch.oid "); ok {
			head = h
		}
		// u <XY> <sub> <m1> <m2> <m3> <mW> <h1> <h2> <h3> <path>
		if f := strings.SplitN(s, " ", 11); f[0] == "u" && len(f) == 11 && conflict == "" {
			conflict = f[10]
		}
	}
	return head, conflict, clean
}

func unresolved(path string) error {
	return &UnfinishedError{What: fmt.Sprintf("an unresolved conflict in %q", printable.Line(path, 200))}
}
