package integrate_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/history"
	"github.com/org/ralph-action/internal/repo/inspection"
	"github.com/org/ralph-action/internal/repo/integrate"
	"github.com/org/ralph-action/internal/repo/lfs"
	"github.com/org/ralph-action/internal/repo/objects"
	"github.com/org/ralph-action/internal/repo/publish"
	"github.com/org/ralph-action/internal/repo/store"
)

var by = store.Identity{Name: "T", Email: "t@example.com"}

// world is a store with stories that stand on one commit.
type world struct {
	t    *testing.T
	s    *store.Store
	dir  string
	base plumbing.Hash
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	dir := t.TempDir()
	s, err := store.Open(filepath.Join(dir, "objects.git"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	w := &world{t: t, s: s, dir: dir}
	w.base = w.commit(plumbing.ZeroHash, files)
	return w
}

func (w *world) tree(commit plumbing.Hash) plumbing.Hash {
	w.t.Helper()
	c, err := w.s.Commit(commit)
	if err != nil {
		w.t.Fatal(err)
	}
	return c.TreeHash
}

func (w *world) commit(parent plumbing.Hash, files map[string]string) plumbing.Hash {
	w.t.Helper()
	from, c := plumbing.ZeroHash, &store.Commit{Author: by.Signature(time.Unix(1e9, 0)), Committer: by.Signature(time.Unix(1e9, 0)), Message: "m"}
	if !parent.IsZero() {
		from, c.ParentHashes = w.tree(parent), []plumbing.Hash{parent}
	}
	set := map[string]store.Entry{}
	for path, text := range files {
		h, err := w.s.Write(plumbing.BlobObject, []byte(text))
		if err != nil {
			w.t.Fatal(err)
		}
		set[path] = store.Entry{Mode: filemode.Regular, Hash: h}
	}
	var err error
	if c.TreeHash, err = w.s.Edit(from, set); err != nil {
		w.t.Fatal(err)
	}
	h, err := w.s.WriteCommit(c)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

func (w *world) file(commit, path string) string {
	w.t.Helper()
	e, err := w.s.Lookup(w.tree(plumbing.NewHash(commit)), path)
	if err != nil {
		w.t.Fatal(err)
	}
	b, err := w.s.ReadBlob(e.Hash, 1<<20)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// owner takes all; its checks fail with a file that says broken.
type owner struct {
	w       *world
	checked []string // what lines held in each check
	taken   string
	told    map[string]integrate.Result
	back    map[string]integrate.Return
}

func (o *owner) Owns(string) bool                                       { return false }
func (o *owner) Waits(integrate.Story, integrate.Trees) (string, error) { return "", nil }
func (o *owner) Take(_ context.Context, commit string) error            { o.taken = commit; return nil }
func (o *owner) Tell(s integrate.Story, r integrate.Result)             { o.told[s.ID] = r }
func (o *owner) In(s integrate.Story, _ integrate.Trees) (integrate.Files, string, error) {
	return nil, "in " + s.ID, nil
}

func (o *owner) Back(s integrate.Story, _ integrate.Trees, r integrate.Return) (integrate.Files, string, error) {
	o.back[s.ID] = r
	return integrate.Files{"returned/" + s.ID: []byte(s.ID + "\n")}, "back " + s.ID, nil
}

func (o *owner) Check(_ context.Context, commit string) (string, error) {
	text := o.w.file(commit, "lines")
	o.checked = append(o.checked, text)
	if strings.Contains(text, "broken") {
		return "broken", nil
	}
	return "", nil
}

// A conflict is resolved once all before it is checked, and is checked by itself.
func TestResolve(t *testing.T) {
	t.Parallel()
	const marked = "<<<<<<< branch\none\n||||||| base\nzero\n=======\ntwo\n>>>>>>> story\n"
	stop := errors.New("stop")
	for _, tt := range []struct {
		name    string
		files   integrate.Files
		why     string
		err     error
		lines   string // on the branch
		said    string
		checked []string
	}{
		{"well", integrate.Files{"lines": []byte("one and two\n")}, "", nil, "one and two\n", "", []string{"one\n", "one and two\n", "one and two\n"}},
		{"what nobody asked for is not taken", integrate.Files{"lines": []byte("one and two\n"), "more": []byte("x")}, "", nil, "one and two\n", "", []string{"one\n", "one and two\n", "one and two\n"}},
		{"declined", nil, "no money", nil, "one\n", `conflicts in "lines"; not resolved: no money`, []string{"one\n", "one\n"}},
		{"gone", integrate.Files{}, "", nil, "one\n", `conflicts in "lines"; not resolved: "lines" is gone`, []string{"one\n", "one\n"}},
		{"marker", integrate.Files{"lines": []byte("one\n>>>>>>> story\n")}, "", nil, "one\n", `conflicts in "lines"; not resolved: "lines" still has a conflict marker`, []string{"one\n", "one\n"}},
		{"red", integrate.Files{"lines": []byte("broken\n")}, "", nil, "one\n", "checks fail with it: broken", []string{"one\n", "broken\n", "one\n"}},
		{"ended", nil, "", stop, "one\n", "", []string{"one\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, map[string]string{"lines": "zero\n", "logo": "a\x00"})
			o := objects.New(w.s, nil, w.dir, w.base)
			branch := publish.New(&history.History{Objects: o}, lfs.NewFiles(nil), publish.Options{Branch: "b"})
			branch.Start, branch.Tip = w.base, w.base
			own := &owner{w: w, told: map[string]integrate.Result{}, back: map[string]integrate.Return{}}
			story := func(id string, files map[string]string) integrate.Story {
				return integrate.Story{ID: id, Commit: w.commit(w.base, files).String()}
			}
			var asked []integrate.Conflict
			err := integrate.Run(t.Context(), integrate.Options{
				Branch: branch, Author: by, Committer: by, Clock: func() time.Time { return time.Unix(1e9, 0) }, Owner: own, MaxPatchBytes: 1 << 20,
				Inspect: func(context.Context, inspection.Request) ([]ralph.Finding, error) { return nil, nil },
				Cache:   func(string) string { return "" },
				Resolve: func(_ context.Context, c integrate.Conflict) (integrate.Files, string, error) {
					asked = append(asked, c)
					if got := w.file(c.Commit, "lines"); got != marked {
						t.Errorf("the merge has %q, want %q", got, marked)
					}
					return tt.files, tt.why, tt.err
				},
			}, []integrate.Story{
				story("one", map[string]string{"lines": "one\n", "logo": "b\x00"}),
				story("two", map[string]string{"lines": "two\n", "clean": "clean\n"}),
				story("logo", map[string]string{"logo": "c\x00"}),
				story("three", map[string]string{"three": "3\n"}),
			})
			if !errors.Is(err, tt.err) {
				t.Fatalf("Run() = %v, want %v", err, tt.err)
			}
			if len(asked) != 1 || asked[0].ID != "two" || !slices.Equal(asked[0].Paths, []string{"lines"}) || !slices.Equal(asked[0].By[0], []string{"one"}) {
				t.Errorf("asked about %+v, want two, once", asked)
			}
			if got := w.file(own.taken, "lines"); got != tt.lines {
				t.Errorf("the branch has %q, want %q", got, tt.lines)
			}
			if !slices.Equal(own.checked, tt.checked) {
				t.Errorf("checked %q, want %q", own.checked, tt.checked)
			}
			if tt.err != nil {
				return
			}
			if r := own.told["two"]; r.Why != tt.said || r.In != (tt.said == "") {
				t.Errorf("two is %+v, want %q", r, tt.said)
			}
			if tt.said == "" && w.file(own.taken, "clean") != "clean\n" {
				t.Error("what merges is not in")
			}
			if e, err := w.s.Lookup(w.tree(plumbing.NewHash(own.taken)), "more"); err != nil || e != (store.Entry{}) {
				t.Errorf("more is %v, %v", e, err)
			}
			if r := own.back["logo"]; r.Unresolved != "not only lines of text files conflict" {
				t.Errorf("logo is back with %+v", r)
			}
			if !own.told["three"].In {
				t.Error("three is not in")
			}
		})
	}
}
