package bundle_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/repo/bundle"
	"github.com/org/ralph-action/internal/repo/repotest"
	"github.com/org/ralph-action/internal/repo/store"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// What is written is what git itself takes, and takes from nobody who lacks the base.
func TestGitTakesBundle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	by, at := store.Identity{Name: "A", Email: "a@example.com"}, time.Unix(1_700_000_000, 0)
	var commits []plumbing.Hash
	tree := store.EmptyTree
	for i, name := range []string{"a", "d/b", "d/c"} {
		blob, err := s.Write(plumbing.BlobObject, []byte(strings.Repeat(name, 1000*i+1)))
		if err != nil {
			t.Fatal(err)
		}
		if tree, err = s.Edit(tree, map[string]store.Entry{name: {Mode: filemode.Regular, Hash: blob}}); err != nil {
			t.Fatal(err)
		}
		c, err := s.NewCommit(by, at, name+"\n", tree, commits[max(0, i-1):]...)
		if err != nil {
			t.Fatal(err)
		}
		commits = append(commits, c)
	}
	git := func(args ...string) string { t.Helper(); return repotest.Git(t, dir, args...) }
	git("init", "-q", "-b", "main")
	var whole bytes.Buffer
	all, err := s.Missing(commits[0], func(plumbing.Hash) bool { return false })
	if err == nil {
		err = s.WritePack(&whole, all)
	}
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "lane.bundle")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := bundle.Write(f, s, commits[0], commits[2], "w1-L001-0123456789ab"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := (&repotest.Sandbox{Dir: dir}).Git(t.Context(), worktree.Command{Args: []string{"bundle", "verify", file}}); err == nil {
		t.Error("git took the bundle without its base")
	}
	if err := (&repotest.Sandbox{Dir: dir}).Git(t.Context(), worktree.Command{Args: []string{"unpack-objects", "-q", "--strict"}, Stdin: &whole}); err != nil {
		t.Fatal(err)
	}
	git("update-ref", "refs/heads/main", commits[0].String())
	git("bundle", "verify", "-q", file)
	git("fetch", "-q", file, "refs/heads/w1-L001-0123456789ab:refs/heads/lane")
	git("fsck", "--strict")
	if got := strings.TrimSpace(git("rev-parse", "lane")); got != commits[2].String() {
		t.Errorf("git fetched %s, want %s", got, commits[2])
	}
	if got := git("ls-tree", "-r", "--name-only", "lane"); got != "a\nd/b\nd/c" {
		t.Errorf("git ls-tree = %q", got)
	}
	if err := bundle.Write(&whole, s, commits[0], commits[2], "a b"); err == nil {
		t.Error("Write took a name that is none of a branch")
	}
}
