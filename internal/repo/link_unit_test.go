package repo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/repo/objects"
	"github.com/org/ralph-action/internal/repo/store"
)

// A link that is said to stay does not leave, by the kernel's own judgement.
func FuzzFollow(f *testing.F) {
	for _, s := range []string{"a", "../a", "../../a", "e/up/a", "e/up/../../a", "/a", "loop", "e/../../x", "top/d/../..", "top/..", "e/deep/../..", "", ".", "..", "a/..", "a/../..", `..\..\x`} {
		f.Add(s)
	}
	links := map[string]string{"d/e/up": "..", "d/top": "..", "d/loop": "loop", "d/e/deep": "../../d/e", "out": "../x", "d/to-out": "../out"}
	s, err := store.Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	set := map[string]store.Entry{}
	dir := f.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "d/e"), 0o755); err != nil {
		f.Fatal(err)
	}
	blob := func(content string) plumbing.Hash {
		h, err := s.Write(plumbing.BlobObject, []byte(content))
		if err != nil {
			f.Fatal(err)
		}
		return h
	}
	for _, name := range []string{"a", "d/a"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			f.Fatal(err)
		}
		set[name] = store.Entry{Mode: filemode.Regular, Hash: blob("")}
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			f.Fatal(err)
		}
		set[name] = store.Entry{Mode: filemode.Symlink, Hash: blob(target)}
	}
	tree, err := s.Edit(store.EmptyTree, set)
	if err != nil {
		f.Fatal(err)
	}
	r := &Repo{objects: objects.New(s, nil, "", plumbing.ZeroHash)}
	root, err := os.OpenRoot(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { root.Close() })
	f.Fuzz(func(t *testing.T, target string) {
		why, err := r.follow(t.Context(), tree, "d/new", target)
		if err != nil {
			t.Fatalf("follow(%q) = %v", target, err)
		}
		if why != "" || strings.ContainsRune(target, 0) || len(target) > 1000 {
			return
		}
		file := filepath.Join(dir, "d", "new")
		_ = os.Remove(file)
		if err := os.Symlink(target, file); err != nil {
			return
		}
		if _, err := root.Stat("d/new"); err != nil && strings.Contains(err.Error(), "escapes") {
			t.Errorf("follow(%q) says that it stays, and it leaves: %v", target, err)
		}
	})
}
