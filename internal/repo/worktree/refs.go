package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/files"
	"github.com/org/ralph-action/internal/repo/printable"
)

const (
	maxPackedRefs   = 16 << 20 // bytes
	maxShallowBytes = 16 << 20 // of the list of commits without parents
)

// LacksRef reports, without a child process, whether a reference exists neither as a file
// nor packed. When in doubt it returns false.
func (t *Tree) LacksRef(name string) bool {
	if _, err := t.Common.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	packed, err := files.Read(t.Common, "packed-refs", maxPackedRefs)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	return err == nil && !bytes.Contains(packed, []byte(" "+name+"\n"))
}

// CheckedOut returns the branch HEAD points to, "" when HEAD is detached. A plain
// HEAD is read from its file, to save a child process.
func (t *Tree) CheckedOut(ctx context.Context) (string, error) {
	if b, err := files.Read(t.GitDir, "HEAD", 4096); err == nil {
		if branch, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "ref: refs/heads/"); ok {
			return branch, nil
		}
		if h := strings.TrimSpace(string(b)); plumbing.IsHash(h) {
			return "", nil
		}
	}
	branch, err := t.Line(ctx, "symbolic-ref", "-q", "--short", "HEAD")
	if err != nil {
		if code, ok := ExitCode(err); !ok || code != 1 {
			return "", err
		}
	}
	return branch, nil
}

// Head returns the commit HEAD points to, or zero. On the work branch it is read from
// the files, to save a child process.
func (t *Tree) Head(ctx context.Context) (plumbing.Hash, error) {
	if h := t.BranchFile(); !h.IsZero() && t.Attached() {
		return h, nil
	}
	return t.Ref(ctx, "HEAD")
}

// BranchFile returns the commit that the file of the work branch names; zero when there
// is no such file, as where git has packed it.
func (t *Tree) BranchFile() plumbing.Hash {
	b, err := files.Read(t.Common, "refs/heads/"+t.Branch, 4096)
	if err != nil {
		return plumbing.ZeroHash
	}
	h, _ := ParseHash(string(b))
	return h
}

// Attached reports whether HEAD points to the work branch.
func (t *Tree) Attached() bool {
	b, err := files.Read(t.GitDir, "HEAD", 4096)
	return err == nil && strings.TrimSpace(string(b)) == "ref: refs/heads/"+t.Branch
}

// Ref returns the commit of a reference, or zero.
func (t *Tree) Ref(ctx context.Context, name string) (plumbing.Hash, error) {
	if strings.HasPrefix(name, "refs/") && t.LacksRef(name) {
		return plumbing.ZeroHash, nil
	}
	s, err := t.Line(ctx, "rev-parse", "-q", "--verify", name+"^{commit}")
	if err != nil {
		if code, ok := ExitCode(err); ok && code == 1 {
			return plumbing.ZeroHash, nil
		}
		return plumbing.ZeroHash, err
	}
	return ParseHash(s)
}

// Contains reports whether old is tip or an ancestor of it. Commits the workspace lacks
// are no ancestors, nor is anything below a commit at which a shallow clone ends.
func (t *Tree) Contains(ctx context.Context, tip, old plumbing.Hash) (bool, error) {
	if tip == old {
		return true, nil
	}
	if ends, err := files.Read(t.Common, "shallow", maxShallowBytes); err == nil && bytes.Contains(ends, []byte(tip.String())) {
		return false, nil
	}
	err := t.GitEnv(ctx, []string{"GIT_NO_LAZY_FETCH=1"}, nil, nil, "merge-base", "--is-ancestor", old.String(), tip.String())
	if _, ok := ExitCode(err); ok {
		return false, nil
	}
	return err == nil, err
}

// HasTree reports whether the workspace has a commit and its tree.
func (t *Tree) HasTree(ctx context.Context, h plumbing.Hash) bool {
	return t.GitEnv(ctx, []string{"GIT_NO_LAZY_FETCH=1"}, nil, nil, "cat-file", "-e", h.String()+"^{tree}") == nil
}

// ParseHash reads an object id that git printed.
func ParseHash(s string) (plumbing.Hash, error) {
	s = strings.TrimSpace(s)
	if h := plumbing.NewHash(s); h.String() == s && !h.IsZero() {
		return h, nil
	}
	return plumbing.ZeroHash, fmt.Errorf("git answered %q instead of an object id", printable.Line(s, 80))
}

// IndexPack gives the workspace a fetched pack.
func (t *Tree) IndexPack(ctx context.Context, f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return t.Git(ctx, f, nil, "index-pack", "--stdin")
}

// AddShallow tells git that the parents of some commits are not in the workspace.
func (t *Tree) AddShallow(commits []plumbing.Hash) error {
	if len(commits) == 0 {
		return nil
	}
	old, err := files.Read(t.Common, "shallow", maxShallowBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := string(old)
	for _, h := range commits {
		if !strings.Contains(text, h.String()) {
			text += h.String() + "\n"
		}
	}
	return files.Replace(t.Common, "shallow", strings.NewReader(text), files.KeptMeta(t.Common, "shallow"))
}

// Attach moves the work branch to a commit and HEAD to the work branch.
func (t *Tree) Attach(ctx context.Context, at plumbing.Hash) error {
	ref := "refs/heads/" + t.Branch
	if err := t.Git(ctx, nil, nil, "update-ref", "-m", "ralph: checkpoint", ref, at.String()); err != nil {
		return err
	}
	if t.Attached() {
		return nil
	}
	return t.Git(ctx, nil, nil, "symbolic-ref", "-m", "ralph: work branch", "HEAD", ref)
}

// Keep gives a commit a reference of ours, whose name it returns: it is not lost then.
func (t *Tree) Keep(ctx context.Context, h plumbing.Hash) (ref string, err error) {
	return t.keep(ctx, h.String())
}

func (t *Tree) keep(ctx context.Context, commit string) (ref string, err error) {
	ref = "refs/ralph/kept/" + commit
	return ref, t.Git(ctx, nil, nil, "update-ref", ref, commit)
}

// RebaseHead returns the commit that an unfinished rebase began with, or zero.
func (t *Tree) RebaseHead() plumbing.Hash {
	for _, dir := range []string{"rebase-merge", "rebase-apply"} {
		if text, err := files.Read(t.GitDir, dir+"/orig-head", 100); err == nil {
			if h, err := ParseHash(string(text)); err == nil {
				return h
			}
		}
	}
	return plumbing.ZeroHash
}

// Base returns a base branch as the workspace knows it, or zero.
func (t *Tree) Base(ctx context.Context, base string) (plumbing.Hash, error) {
	for _, ref := range []string{"refs/heads/", "refs/remotes/origin/"} {
		if h, err := t.Ref(ctx, ref+base); err != nil || !h.IsZero() {
			return h, err
		}
	}
	return plumbing.ZeroHash, nil
}

// LikelyBase guesses where the work branch began; zero when there is nothing to go by.
func (t *Tree) LikelyBase(ctx context.Context) (plumbing.Hash, error) {
	if h, err := t.Ref(ctx, "refs/remotes/origin/HEAD"); err != nil || !h.IsZero() {
		return h, err
	}
	for _, name := range []string{"main", "master"} {
		if name == t.Branch {
			continue
		}
		if h, err := t.Base(ctx, name); err != nil || !h.IsZero() {
			return h, err
		}
	}
	return plumbing.ZeroHash, nil
}
