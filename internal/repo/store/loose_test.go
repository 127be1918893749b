package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/repo/store"
)

// source is what a store is filled from, but for what it lacks.
type source struct {
	*store.Store
	lacks map[plumbing.Hash]bool
	asked []plumbing.Hash
}

func (s *source) read(h plumbing.Hash, limit int64) (plumbing.ObjectType, []byte, bool) {
	s.asked = append(s.asked, h)
	o, err := s.Object(h)
	if err != nil || s.lacks[h] || o.Size() > limit {
		return plumbing.InvalidObject, nil, false
	}
	b, err := store.ReadObject(o, limit)
	return o.Type(), b, err == nil
}

func (s *source) tree(t *testing.T, base plumbing.Hash, files map[string]string) (plumbing.Hash, map[string]store.Entry) {
	t.Helper()
	set := map[string]store.Entry{}
	for path, text := range files {
		h, err := s.Write(plumbing.BlobObject, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		set[path] = store.Entry{Mode: filemode.Regular, Hash: h}
	}
	tree, err := s.Edit(base, set)
	if err != nil {
		t.Fatal(err)
	}
	return tree, set
}

func (s *source) commit(t *testing.T, tree plumbing.Hash, parents ...plumbing.Hash) plumbing.Hash {
	t.Helper()
	h, err := s.NewCommit(store.Identity{Name: "A", Email: "a@example.com"}, time.Unix(1_760_000_000, 0).UTC(), "message", tree, parents...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func opened(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// What a known tree holds in the same place is not asked for; everything else is taken, or
// nothing.
func TestImportLoose(t *testing.T) {
	t.Parallel()
	from := &source{Store: opened(t), lacks: map[plumbing.Hash]bool{}}
	base, was := from.tree(t, store.EmptyTree, map[string]string{"kept/a": "a\n", "kept/deep/b": "b\n", "c": "c\n"})
	known := from.commit(t, base)
	next, now := from.tree(t, base, map[string]string{"c": "changed\n", "kept/new": "new\n", "moved/deep/b": "b\n"})
	first := from.commit(t, next, known)
	last, end := from.tree(t, next, map[string]string{"c": "again\n"})
	second := from.commit(t, last, first)

	to := opened(t)
	if !to.ImportLooseTrees(from.read, known) {
		t.Fatal("ImportLooseTrees() = false")
	}
	if !to.Whole(base) || to.Has(was["c"].Hash) {
		t.Errorf("of the known commit: all directories %t, want them; a blob %t, want none", to.Whole(base), to.Has(was["c"].Hash))
	}
	from.lacks[was["kept/a"].Hash], from.asked = true, nil
	if !to.ImportLoose(from.read, []plumbing.Hash{last, second}, base, known) {
		t.Fatal("ImportLoose() = false")
	}
	for name, h := range map[string]plumbing.Hash{
		"first": first, "second": second, "c of first": now["c"].Hash, "kept/new": now["kept/new"].Hash, "moved/deep/b": now["moved/deep/b"].Hash, "c": end["c"].Hash,
	} {
		if !to.Has(h) {
			t.Errorf("%s is not there", name)
		}
	}
	if !to.Whole(next) || !to.Whole(last) || to.Has(was["kept/a"].Hash) || slices.Contains(from.asked, was["kept/a"].Hash) {
		t.Error("want all directories of both commits, and nothing of what did not change")
	}
}

func TestImportLooseTakesAllOrNothing(t *testing.T) {
	t.Parallel()
	from := &source{Store: opened(t), lacks: map[plumbing.Hash]bool{}}
	tree, set := from.tree(t, store.EmptyTree, map[string]string{"a/b/c": "c\n", "a/d": "d\n"})
	below := from.commit(t, tree)
	commit := from.commit(t, tree, below)
	subtree, err := from.Lookup(tree, "a/b")
	if err != nil {
		t.Fatal(err)
	}
	many := map[string]string{}
	for i := range 1200 {
		many[fmt.Sprint("f", i)] = fmt.Sprint(i)
	}
	crowd, _ := from.tree(t, store.EmptyTree, many)
	large, _ := from.tree(t, store.EmptyTree, map[string]string{"large": strings.Repeat("x", 1<<20+1)})
	wrong, err := from.Write(plumbing.TreeObject, append([]byte("100644 blob\x00"), tree[:]...))
	if err != nil {
		t.Fatal(err)
	}
	malformed, err := from.Write(plumbing.TreeObject, append([]byte("100644 ..\x00"), tree[:]...))
	if err != nil {
		t.Fatal(err)
	}
	line := commit
	for range 1200 {
		line = from.commit(t, tree, line)
	}
	for _, tt := range []struct {
		name         string
		wanted, lack plumbing.Hash
	}{
		{"a blob is lacking", commit, set["a/b/c"].Hash},
		{"a tree is lacking", commit, subtree.Hash},
		{"a parent is lacking", commit, below},
		{"a blob that is wanted", set["a/d"].Hash, plumbing.ZeroHash},
		{"a tree that is named as a blob", wrong, plumbing.ZeroHash},
		{"a malformed tree", malformed, plumbing.ZeroHash},
		{"many files", crowd, plumbing.ZeroHash},
		{"many commits", line, plumbing.ZeroHash},
		{"a large file", large, plumbing.ZeroHash},
	} {
		from.lacks = map[plumbing.Hash]bool{tt.lack: true}
		to := opened(t)
		if to.ImportLoose(from.read, []plumbing.Hash{tt.wanted}) {
			t.Errorf("%s: ImportLoose() = true", tt.name)
		}
		for _, h := range []plumbing.Hash{tt.wanted, tree, subtree.Hash, set["a/b/c"].Hash, set["a/d"].Hash} {
			if to.Has(h) {
				t.Errorf("%s: %s was taken over", tt.name, h)
			}
		}
	}
	from.lacks = map[plumbing.Hash]bool{set["a/d"].Hash: true}
	to := opened(t)
	if left := to.ImportLooseBlobs(from.read, []plumbing.Hash{set["a/b/c"].Hash, set["a/d"].Hash, subtree.Hash}); !slices.Equal(left, []plumbing.Hash{set["a/d"].Hash, subtree.Hash}) || !to.Has(set["a/b/c"].Hash) {
		t.Errorf("ImportLooseBlobs() = %v, want the one that is lacking and the one that is none", left)
	}
}
