package repo_test

import (
	"path/filepath"
	"testing"

	"github.com/org/ralph-action/internal/repo"
)

const five = "1\n2\n3\n4\n5\n"

// Both sides changed one file, in different lines.
func TestSameFileOtherLines(t *testing.T) {
	t.Parallel()
	for _, kind := range clones {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			leave(t, kind, "full", "blob:none")
			f := newForge(t)
			seed := f.seed(t, map[string]string{"a.txt": five, "dir/b.txt": "b\n"})
			f.night(t, "shallow", "a.txt", "one\n2\n3\n4\n5\n", says("x\n\nRalph-Run: 1\n"))
			onMain(t, seed, "a.txt", "1\n2\n3\n4\nfive\n")
			dir := f.clone(t, kind)
			r := begin(t, dir, f.url, updates(repo.UpdateMerge))
			if !r.start.Updated {
				t.Fatalf("Begin() = %+v, want the base merged", r.start)
			}
			equal(t, "a.txt", read(t, filepath.Join(dir, "a.txt")), "one\n2\n3\n4\nfive\n")
			// Somebody else changes it on the branch meanwhile.
			somebody(t, f, "a.txt", "one\n2\n3\n4\n5\n\nmore\n")
			write(t, filepath.Join(dir, "a.txt"), "one\n2\n3!\n4\nfive\n")
			r.checkpoint(t)
			if s := r.State(); s.Branch == "ralph/work" {
				t.Errorf("State() = %+v, want a branch of its own: the last line was changed twice", s)
			}
			// On main it is merged in one commit, and changed again.
			git(t, seed, "fetch", "-q", "origin")
			git(t, seed, "merge", "-q", "--squash", "origin/"+r.State().Branch)
			git(t, seed, "commit", "-qm", "squashed")
			onMain(t, seed, "a.txt", "one\n2\n3!\n4\nfive!\n")
			r = begin(t, f.clone(t, kind), f.url, func(o *repo.Options) { o.Branch = r.State().Branch })
			if !r.start.Restarted {
				t.Errorf("Begin() = %+v, want a new start: main has all of it", r.start)
			}
		})
	}
}

func TestSomebodyElseChangesOtherLines(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.seed(t, map[string]string{"a.txt": five})
	dir := f.checkout(t, true)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	r.pushed(t, f)
	somebody(t, f, "a.txt", "1\n2\n3\n4\nfive\n")
	write(t, filepath.Join(dir, "a.txt"), "one\n2\n3\n4\n5\n")
	_, c := r.pushed(t, f)
	equal(t, "a.txt", git(t, f.dir, "show", c.SHA+":a.txt"), "one\n2\n3\n4\nfive")
	equal(t, "branch", r.State().Branch, "ralph/work")
	write(t, filepath.Join(dir, "a.txt"), "one\n2\n3 again\n4\n5\n")
	_, c = r.pushed(t, f)
	equal(t, "a.txt", git(t, f.dir, "show", c.SHA+":a.txt"), "one\n2\n3 again\n4\nfive")
}
