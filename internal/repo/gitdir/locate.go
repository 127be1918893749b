// Package gitdir finds the git directory of a work tree, without running git.
package gitdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/ralph-action/internal/repo/files"
)

// ErrNotRepository is a directory that lies in no work tree.
var ErrNotRepository = errors.New("not a git repository")

// Advice is what helps against ErrNotRepository, on the command line or in a job.
func Advice(local bool) string {
	if local {
		return "run git init and make a first commit, or cd to a repository"
	}
	return "check the repository out before this step (actions/checkout)"
}

// Layout is where a work tree keeps its git directory. common differs from git in
// a linked work tree only.
type Layout struct {
	Top     string
	Git     string
	Common  string
	Pointer bool // top holds a file that names git
}

// Check returns ErrNotRepository unless dir lies in a git repository. It runs no git.
func Check(dir string) error {
	_, err := Locate(dir)
	return err
}

// Locate finds the git directory above dir by looking at files, without running
// git: it is asked before the checkout's token is hidden.
func Locate(dir string) (Layout, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Layout{}, err
	}
	for top := dir; ; top = filepath.Dir(top) {
		git, err := Of(top)
		if err != nil {
			return Layout{}, err
		}
		if git != "" {
			l := Layout{Top: top, Git: git, Common: git, Pointer: git != filepath.Join(top, ".git")}
			return l, l.findCommon()
		}
		if top == filepath.Dir(top) {
			return Layout{}, ErrNotRepository
		}
	}
}

// findCommon finds what linked work trees share (gitrepository-layout,
// commondir). A git directory that lies in its work tree shares nothing: git never
// puts such a file there, and one that an agent left would lead us anywhere.
func (l *Layout) findCommon() error {
	root, err := os.OpenRoot(l.Git)
	if err != nil {
		return err
	}
	defer root.Close()
	b, err := files.Read(root, "commondir", 64<<10)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !l.Pointer:
		return fmt.Errorf("%s: git makes no such file in a directory .git: remove it, or check the repository out again", filepath.Join(l.Git, "commondir"))
	}
	l.Common = Resolve(l.Git, strings.TrimSpace(string(b)))
	return nil
}

// Of is the git directory of a work tree: its .git, or where its .git file
// points. Empty if it has none.
func Of(top string) (string, error) {
	path := filepath.Join(top, ".git")
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case info.IsDir():
		if _, err := os.Stat(filepath.Join(path, "HEAD")); errors.Is(err, fs.ErrNotExist) {
			return "", nil // an empty .git directory is no repository, git looks further up too
		}
		return path, nil
	case !info.Mode().IsRegular() || info.Size() > 64<<10:
		return "", errors.New(path + " is neither a git directory nor points to one")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	to, ok := strings.CutPrefix(strings.TrimRight(string(b), "\r\n"), "gitdir: ")
	if !ok {
		return "", errors.New(path + " is neither a git directory nor points to one")
	}
	return Resolve(top, to), nil
}

// Resolve makes a path that stands in a file of git absolute; base is what it is relative to.
func Resolve(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// Branch is the branch that is checked out in dir; empty when there is none.
func Branch(dir string) string {
	at, err := Locate(dir)
	if err != nil {
		return ""
	}
	root, err := os.OpenRoot(at.Git)
	if err != nil {
		return ""
	}
	defer root.Close()
	head, err := files.Read(root, "HEAD", 4<<10)
	if err != nil {
		return ""
	}
	branch, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/")
	if !ok { // a commit
		return ""
	}
	return branch
}
