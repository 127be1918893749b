package store

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

func TestTreeEdit(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	blob := func(b string) Entry {
		h, err := s.Write(plumbing.BlobObject, []byte(b))
		if err != nil {
			t.Fatal(err)
		}
		return Entry{Mode: filemode.Regular, Hash: h}
	}
	edit := func(root plumbing.Hash, set map[string]Entry) plumbing.Hash {
		t.Helper()
		h, err := s.Edit(root, set)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	a, b, c := blob("a"), blob("b"), blob("c")
	base := edit(EmptyTree, map[string]Entry{"x": a, "d/y": a, "d/e/z": a})
	if got := edit(base, map[string]Entry{"x": {}, "d/y": {}, "d/e/z": {}}); got != EmptyTree {
		t.Errorf("edit to nothing = %s, want the empty tree", got)
	}
	toFile := edit(base, map[string]Entry{"d": b, "d/y": {}, "d/e/z": {}})
	if got, want := toFile, edit(EmptyTree, map[string]Entry{"x": a, "d": b}); got != want {
		t.Errorf("edit folder to file = %s, want %s", got, want)
	}
	if got := edit(toFile, map[string]Entry{"d": {}, "d/y": a, "d/e/z": a}); got != base {
		t.Errorf("edit file to folder = %s, want %s", got, base)
	}

	for _, tt := range []struct {
		name         string
		ours, theirs map[string]Entry
		want         map[string]Entry
		conflict     string
	}{
		{"apart", map[string]Entry{"x": b}, map[string]Entry{"d/y": c}, map[string]Entry{"x": b, "d/y": c}, ""},
		{"the same", map[string]Entry{"x": b}, map[string]Entry{"x": b}, map[string]Entry{"x": b}, ""},
		{"both", map[string]Entry{"x": b}, map[string]Entry{"x": c}, nil, "x"},
		{"removed and changed", map[string]Entry{"x": {}}, map[string]Entry{"x": c}, nil, "x"},
		{"file where they need a folder", map[string]Entry{"n": b}, map[string]Entry{"n/m": c}, nil, "n"},
		{"folder where they have a file", map[string]Entry{"n/m": b}, map[string]Entry{"n": c}, nil, "n"},
	} {
		got, conflicts, err := s.Merge(base, edit(base, tt.ours), edit(base, tt.theirs), func(Entry, Entry, Entry) (Entry, bool) { return Entry{}, false })
		if err != nil || strings.Join(conflicts, " ") != tt.conflict {
			t.Errorf("merge(%s) = %q, %v, want conflict %q", tt.name, conflicts, err, tt.conflict)
		}
		if tt.conflict == "" && got != edit(base, tt.want) {
			t.Errorf("merge(%s) = %s, want %s", tt.name, got, edit(base, tt.want))
		}
	}
}

func FuzzParseTree(f *testing.F) {
	ok := encodeTree([]item{{name: "a", Entry: Entry{Mode: filemode.Regular}}, {name: "b", Entry: Entry{Mode: filemode.Dir}}})
	f.Add(ok)
	f.Add([]byte("100644 .git\x00aaaaaaaaaaaaaaaaaaaa"))
	f.Add([]byte("40000 ..\x00aaaaaaaaaaaaaaaaaaaa"))
	f.Fuzz(func(t *testing.T, b []byte) {
		items, err := parseTree(b)
		if err != nil {
			return
		}
		for _, it := range items {
			if it.name == "" || it.name == ".." || strings.EqualFold(it.name, ".git") || strings.Contains(it.name, "/") {
				t.Errorf("parseTree(%q) holds %q", b, it.name)
			}
		}
	})
}

// A pack whose checksum is not that of its content, or that holds deltas or
// huge objects, is refused before anything of it is used.
func TestCraftedPacks(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h, err := s.Write(plumbing.BlobObject, []byte("hello\n"))
	if err != nil {
		t.Fatal(err)
	}
	var good bytes.Buffer
	if err := s.WritePack(&good, []plumbing.Hash{h}); err != nil {
		t.Fatal(err)
	}
	forged := append([]byte{}, good.Bytes()...)
	forged[len(forged)-1] ^= 1
	for name, tt := range map[string]struct {
		pack []byte
		want string
	}{
		"good":   {good.Bytes(), ""},
		"forged": {forged, "checksum"},
		"short":  {good.Bytes()[:20], "cut short"},
		"cut":    {good.Bytes()[:len(good.Bytes())-1], "checksum"},
		"no":     {bytes.Repeat([]byte("x"), 100), "checksum"},
	} {
		dst, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		f, err := dst.Spool()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(tt.pack); err != nil {
			t.Fatal(err)
		}
		_, err = dst.ImportPack(f, true)
		if tt.want == "" && (err != nil || !dst.Has(h)) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("importPack(%s) = %v, want %q", name, err, tt.want)
		}
		Discard(f)
		if err := dst.Close(); err != nil {
			t.Error(err)
		}
	}
}
