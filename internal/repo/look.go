package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/files"
	"github.com/org/ralph-action/internal/repo/gitconfig"
	"github.com/org/ralph-action/internal/repo/gitdir"
	"github.com/org/ralph-action/internal/repo/printable"
)

// topByFiles finds the top folder of the work tree without a child: a folder
// with a .git of its own is the top, unless the configuration places the work
// tree somewhere else. Git reads these settings from the repository's own file
// only, without includes.
func (r *Repo) topByFiles(c gitconfig.Config) bool {
	for _, v := range c.Vars {
		if v.Section == "core" && v.Key == "worktree" || v.Section == "extensions" && v.Key == "worktreeconfig" ||
			v.Section == "core" && v.Key == "bare" && v.Value != "false" {
			return false
		}
	}
	dir, err := filepath.Abs(r.opt.Dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil || strings.Contains(dir, "\n") {
		return false
	}
	if git, err := gitdir.Of(dir); err != nil || git == "" {
		return false
	}
	r.top = dir
	return true
}

// look takes note of the commit that is checked out, and whether anything differs
// from it.
func (r *Repo) look(ctx context.Context) error {
	head, conflict, clean, err := r.status(ctx)
	if err != nil {
		return r.filterTrouble(ctx, notRepository(err))
	}
	switch {
	case head == "(initial)":
		return ErrEmpty
	case len(head) == 64:
		return &UnsupportedError{What: "sha256"}
	case conflict != "":
		return unresolved(conflict)
	}
	r.clean = clean
	r.base, err = parseHash(head)
	return err
}

// unchanged reports whether a commit is checked out and nothing differs from it. It
// takes one command where stage takes two, and passes over broken submodules. What
// cannot be told is for stage to find out.
func (r *Repo) unchanged(ctx context.Context, commit plumbing.Hash) bool {
	if r.copyIndex() != nil {
		return false
	}
	head, _, clean, err := r.status(ctx)
	return err == nil && clean && head == commit.String()
}

// status asks git, in one command, what it makes of the workspace: the commit, an
// unresolved conflict, and whether anything differs from the commit at all. It
// writes nothing, so that a copy of the index that is not there is not made.
func (r *Repo) status(ctx context.Context) (head, conflict string, clean bool, err error) {
	args := []string{
		"-c", "core.untrackedCache=false", // the agent of an earlier run may have left a wrong one
		"status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames",
		"--untracked-files=normal", "--ignore-submodules=dirty", "--", ":(top)",
	}
	b := &bounded{left: guestOutputBytes}
	if err := r.gitEnv(ctx, append(r.indexEnv(), "GIT_OPTIONAL_LOCKS=0"), nil, b, append(args, r.exclusions()...)...); err != nil {
		return "", "", false, err
	}
	head, conflict, clean = parseStatus(b.Bytes())
	return head, conflict, clean, nil
}

// parseStatus reads git-status(1), "Porcelain Format Version 2", with -z.
func parseStatus(b []byte) (head, conflict string, clean bool) {
	clean = true
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, []byte{0})
		s := string(line)
		if !strings.HasPrefix(s, "# ") {
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

// notRepository names the error of a git that found no repository.
func notRepository(err error) error {
	var g *GuestError
	if errors.As(err, &g) && strings.Contains(g.Stderr, "not a git repository") {
		return gitdir.ErrNotRepository
	}
	return err
}

const maxPackedRefs = 16 << 20 // bytes

// noRef says, without a child, that a reference of the repository is plainly
// not there: neither as a file nor packed. When in doubt it is false.
func (r *Repo) noRef(name string) bool {
	if _, err := r.common.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	packed, err := files.Read(r.common, "packed-refs", maxPackedRefs)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	return err == nil && !bytes.Contains(packed, []byte(" "+name+"\n"))
}

// checkedOut is the branch HEAD points to, "" when HEAD is detached. A plain
// HEAD is read from its file, to save a child.
func (r *Repo) checkedOut(ctx context.Context) (string, error) {
	if b, err := files.Read(r.gitDir, "HEAD", 4096); err == nil {
		if branch, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "ref: refs/heads/"); ok {
			return branch, nil
		}
		if h := strings.TrimSpace(string(b)); plumbing.IsHash(h) {
			return "", nil
		}
	}
	branch, err := r.answer(ctx, "symbolic-ref", "-q", "--short", "HEAD")
	if err != nil {
		if code, ok := exitCode(err); !ok || code != 1 {
			return "", err
		}
	}
	return branch, nil
}
