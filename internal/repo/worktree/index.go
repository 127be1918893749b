package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/files"
	"github.com/org/ralph-action/internal/repo/index"
)

const (
	indexName     = "index"
	maxIndexBytes = 1 << 30 // a million files make 100 MB

	// CredentialFiles is what google-github-actions/auth calls the files it writes into
	// the workspace (its README asks to ignore them). They are never staged.
	CredentialFiles = "gha-creds-*.json" //nolint:gosec // a pattern of names
)

// IndexEnv makes git use the copy of the index.
func (t *Tree) IndexEnv() []string {
	return []string{"GIT_INDEX_FILE=" + filepath.Join(t.Temp.Name(), indexName)}
}

// CopyIndex copies the workspace's index to where it is staged. The copy keeps the time stamp: git tells by it which files were written in the
// same tick as the index and have to be looked into. Without a readable index
// the last copy serves: a fresh one would forget files that are both tracked
// and ignored.
func (t *Tree) CopyIndex() error {
	f, info, err := files.Open(t.GitDir, indexName)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info.Size() > maxIndexBytes {
		return fmt.Errorf("the workspace's index has more than %d bytes", maxIndexBytes)
	}
	if ok, err := index.Sound(f, info.Size()); !ok || err != nil {
		return err
	}
	meta := files.NewMeta(t.Temp)
	meta.MTime = info.ModTime()
	return files.Replace(t.Temp, indexName, io.NewSectionReader(f, 0, info.Size()), meta)
}

// Index reads the workspace's index.
func (t *Tree) Index() ([]byte, error) { return files.Read(t.GitDir, indexName, maxIndexBytes) }

// ReturnIndex makes the copy the workspace's index.
func (t *Tree) ReturnIndex() error {
	return copyIndex(t.Temp, indexName, t.GitDir, indexName, files.KeptMeta(t.GitDir, indexName))
}

// RemoveLocks removes the locks that git commands of others leave when they are killed. The
// caller knows that none is running.
func (t *Tree) RemoveLocks() {
	for _, name := range []string{"index.lock", "HEAD.lock"} {
		_ = t.GitDir.Remove(name) // git says what is wrong
	}
	for _, name := range []string{"refs/heads/" + t.Branch + ".lock", "packed-refs.lock"} {
		_ = t.Common.Remove(name)
	}
}

// exclusions returns the pathspecs that keep run files and credentials out. Git refuses a
// pathspec that leads through a symbolic link: a link planted in the place of a directory
// of ours is kept out itself.
func (t *Tree) exclusions() []string {
	specs := []string{":(exclude,top,glob)**/" + CredentialFiles}
	for _, p := range t.runFiles {
		for i := strings.IndexByte(p, '/'); i > 0; {
			if info, err := os.Lstat(filepath.Join(t.Top, p[:i])); err == nil && !info.IsDir() {
				p = p[:i]
				break
			}
			next := strings.IndexByte(p[i+1:], '/')
			if next < 0 {
				break
			}
			i += 1 + next
		}
		specs = append(specs, ":(exclude,top,glob)"+wildcard(p), ":(exclude,top,glob)"+wildcard(p)+"/**")
	}
	return specs
}

// wildcard makes a pattern of a plain path: git add takes an exclusion without
// a wildcard for a path it was asked to add, and fails when it is ignored.
func wildcard(path string) string {
	if path == "" || strings.ContainsAny(path, "*?[\\") {
		return path
	}
	return path[:len(path)-1] + "[" + path[len(path)-1:] + "]"
}

// Stage copies the index, runs `git add -A` on the copy and returns its tree. Files that
// git cannot read are noted and left as they were.
func (t *Tree) Stage(ctx context.Context) (tree plumbing.Hash, notes []string, err error) {
	if err := t.CopyIndex(); err != nil {
		return plumbing.ZeroHash, nil, err
	}
	return t.StageCopy(ctx)
}

// StageCopy is Stage for a copy that has just been made.
func (t *Tree) StageCopy(ctx context.Context) (tree plumbing.Hash, notes []string, err error) {
	if _, err := t.Temp.Lstat(indexName); err != nil {
		if err := t.GitEnv(ctx, t.IndexEnv(), nil, nil, "read-tree", "HEAD"); err != nil {
			return plumbing.ZeroHash, nil, err
		}
	}
	args := []string{"add", "-A", "--ignore-errors", "--", ":(top)"}
	args = append(args, t.exclusions()...)
	if err := t.GitEnv(ctx, t.IndexEnv(), nil, nil, args...); err != nil {
		var g *GitError
		if !errors.As(err, &g) || g.ExitCode != 1 {
			return plumbing.ZeroHash, nil, err
		}
		if !t.onlyOurs(g.Stderr) {
			notes = append(notes, "git could not stage everything: "+g.Message(400))
		}
	}
	id, err := t.OutputEnv(ctx, t.IndexEnv(), nil, "write-tree")
	if err != nil {
		return plumbing.ZeroHash, nil, err
	}
	tree, err = ParseHash(id)
	return tree, notes, err
}

// onlyOurs reports whether all that git complains of is that directories of run files are
// ignored, which it says of an exclusion that leads through one.
func (t *Tree) onlyOurs(stderr string) bool {
	list, ours := strings.CutPrefix(stderr, "The following paths are ignored by one of your .gitignore files:\n")
	for line := range strings.Lines(list) {
		dir := strings.TrimSuffix(line, "\n") + "/"
		if !strings.HasPrefix(line, "hint:") && !slices.ContainsFunc(t.runFiles, func(p string) bool { return strings.HasPrefix(p, dir) }) {
			return false
		}
	}
	return ours
}

// IsRunFile reports whether a path is ralph's own state.
func (t *Tree) IsRunFile(p string) bool {
	for _, pattern := range t.runFiles {
		for q := p; q != "." && q != "/"; q = path.Dir(q) {
			if ok, err := path.Match(pattern, q); ok && err == nil {
				return true
			}
		}
	}
	return false
}
