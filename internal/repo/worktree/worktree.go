// Package worktree is a work tree and the git that runs on it, in the agent's sandbox:
// whatever the agent planted in the repository's configuration, hooks or attributes runs
// with the rights the agent had anyway. The index is staged in a copy.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/ralph-action/internal/repo/files"
	"github.com/org/ralph-action/internal/repo/gitconfig"
	"github.com/org/ralph-action/internal/repo/gitdir"
	"github.com/org/ralph-action/internal/repo/index"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

// Options say which work tree, and how git is run on it.
type Options struct {
	Dir     string // workspace; a directory inside the work tree will do
	Sandbox Sandbox
	// Temp is a private directory the sandbox may write, for its copy of the index.
	Temp string
	// RunFiles are paths of ralph's own state that are never committed, relative to Dir or
	// absolute, with the wildcards of path.Match. A directory covers everything below it.
	// Paths outside of the work tree are ignored.
	RunFiles []string
	// AnyFormat also opens a repository whose format cannot be published.
	AnyFormat bool
}

// Tree is a work tree.
type Tree struct {
	Top    string   // as the sandbox names it
	Prefix string   // of Options.Dir below Top, with a trailing slash; empty at the top
	GitDir *os.Root // of this work tree
	Common *os.Root // of the repository
	Temp   *os.Root
	Branch string   // the work branch
	Paths  []string // pathspecs from the top, of OpenPaths; none: everything

	dir      string
	sandbox  Sandbox
	runFiles []string // from the top
	removals removals
}

// Open finds the work tree and its repository. It changes nothing in it. Errors are
// gitdir.ErrNotRepository, *UnsupportedError, or say what could not be read.
func Open(ctx context.Context, opt Options) (*Tree, error) {
	t := &Tree{dir: opt.Dir, sandbox: opt.Sandbox}
	if err := t.open(ctx, opt); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *Tree) open(ctx context.Context, opt Options) error {
	at, err := gitdir.Locate(opt.Dir)
	if err != nil {
		return err
	}
	if t.GitDir, err = os.OpenRoot(at.Git); err != nil {
		return err
	}
	if t.Common, err = os.OpenRoot(at.Common); err != nil {
		return err
	}
	if t.Temp, err = os.OpenRoot(opt.Temp); err != nil {
		return err
	}
	c, err := t.config()
	if err != nil {
		return err
	}
	if err := supported(c); err != nil && !opt.AnyFormat {
		return err
	}
	if !t.topByFiles(c) {
		if err := t.askTop(ctx); err != nil {
			return err
		}
	}
	for _, p := range opt.RunFiles {
		if p = strings.TrimSuffix(p, "/"); !filepath.IsAbs(p) {
			t.runFiles = append(t.runFiles, t.Prefix+p)
		} else if rel, err := filepath.Rel(t.Top, filepath.FromSlash(p)); err == nil && filepath.IsLocal(rel) {
			t.runFiles = append(t.runFiles, filepath.ToSlash(rel))
		}
	}
	return nil
}

// Close releases what Open took.
func (t *Tree) Close() error {
	var errs []error
	for _, root := range []*os.Root{t.GitDir, t.Common, t.Temp} {
		if root != nil {
			errs = append(errs, root.Close())
		}
	}
	return errors.Join(errs...)
}

func (t *Tree) config() (gitconfig.Config, error) {
	c, err := gitconfig.Read(t.Common, "config")
	if err != nil {
		return c, fmt.Errorf("the repository's configuration: %w", err)
	}
	return c, nil
}

// supported refuses what go-git cannot carry (gitrepository-layout, extensions).
func supported(c gitconfig.Config) error {
	if f := strings.ToLower(c.Value("extensions", "objectformat")); f != "" && f != "sha1" {
		return &UnsupportedError{What: printable.Line(f, 20)}
	}
	if f := strings.ToLower(c.Value("extensions", "refstorage")); f != "" && f != "files" {
		return &UnsupportedError{What: printable.Line(f, 20)}
	}
	return nil
}

// askTop asks git for the top of the work tree.
func (t *Tree) askTop(ctx context.Context) error {
	s, err := t.Output(ctx, nil, "rev-parse", "--show-toplevel", "--show-prefix")
	if err != nil {
		return notRepository(err)
	}
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	if len(lines) == 0 || !filepath.IsAbs(lines[0]) {
		return errors.New("the repository has no work tree")
	}
	if len(lines) > 2 {
		return errors.New("the path of the workspace holds a line end")
	}
	t.Top = lines[0]
	if len(lines) == 2 {
		t.Prefix = lines[1]
	}
	return nil
}

// InTheMiddle returns an *UnfinishedError in the middle of a merge or a rebase.
func (t *Tree) InTheMiddle() error {
	for _, s := range []struct{ file, what string }{
		{"MERGE_HEAD", "an unfinished merge (MERGE_HEAD)"},
		{"CHERRY_PICK_HEAD", "an unfinished cherry-pick (CHERRY_PICK_HEAD)"},
		{"REVERT_HEAD", "an unfinished revert (REVERT_HEAD)"},
		{"rebase-merge", "an unfinished rebase (rebase-merge)"},
		{"rebase-apply", "an unfinished rebase or am (rebase-apply)"},
	} {
		if _, err := t.GitDir.Lstat(s.file); err == nil {
			return &UnfinishedError{What: s.what}
		}
	}
	return nil
}

// Unfinished copies the index, and returns an *UnfinishedError in the middle of a merge,
// a rebase or a conflict.
func (t *Tree) Unfinished(ctx context.Context) error {
	if err := t.InTheMiddle(); err != nil {
		return err
	}
	if err := t.CopyIndex(); err != nil {
		return err
	}
	if b, err := files.Read(t.Temp, indexName, store.MaxMetaBytes); err == nil && index.Resolved(b) {
		return nil
	}
	list, err := t.OutputEnv(ctx, t.IndexEnv(), nil, "ls-files", "-u", "-z")
	if list == "" || err != nil {
		return err
	}
	first, _, _ := strings.Cut(list, "\x00")
	_, name, _ := strings.Cut(first, "\t")
	return unresolved(name)
}

// topByFiles finds the top of the work tree without a child process: a directory
// with a .git of its own is the top, unless the configuration places the work
// tree somewhere else. Git reads these settings from the repository's own file
// only, without includes.
func (t *Tree) topByFiles(c gitconfig.Config) bool {
	for _, v := range c.Vars {
		if v.Section == "core" && v.Key == "worktree" || v.Section == "extensions" && v.Key == "worktreeconfig" ||
			v.Section == "core" && v.Key == "bare" && v.Value != "false" {
			return false
		}
	}
	dir, err := filepath.Abs(t.dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil || strings.Contains(dir, "\n") {
		return false
	}
	if git, err := gitdir.Of(dir); err != nil || git == "" {
		return false
	}
	t.Top = dir
	return true
}

// notRepository returns gitdir.ErrNotRepository for a git that found no repository.
func notRepository(err error) error {
	var g *GitError
	if errors.As(err, &g) && strings.Contains(g.Stderr, "not a git repository") {
		return gitdir.ErrNotRepository
	}
	return err
}

// Partial reports whether the clone leaves out objects that it means to fetch when
// they are needed (partial-clone(5)): it has no token to do so.
func (t *Tree) Partial() bool {
	c, err := t.config()
	if err != nil {
		return true
	}
	for _, v := range c.Vars {
		if v.Section == "extensions" && v.Key == "partialclone" || v.Section == "remote" && v.Key == "promisor" && v.Value != "false" {
			return true
		}
	}
	return false
}
