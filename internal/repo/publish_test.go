package repo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNewBranchFromDetachedShallowCheckout(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.seed(t, map[string]string{"a.txt": "a\n", "dir/b.txt": "b\n", "c.txt": "c\n"})
	dir := f.checkout(t, true)
	base := git(t, dir, "rev-parse", "HEAD")
	r := begin(t, dir, f.url)
	if r.start.Base != "main" || r.start.BaseSHA != base || r.start.Resumed {
		t.Errorf("Begin() = %+v, want base main at %s, not resumed", r.start, base)
	}
	equal(t, "HEAD after Begin", git(t, dir, "symbolic-ref", "HEAD"), "refs/heads/ralph/work")

	write(t, filepath.Join(dir, "a.txt"), "a\nmore\n")
	write(t, filepath.Join(dir, "new/x.txt"), "x\n")
	if err := os.Remove(filepath.Join(dir, "c.txt")); err != nil {
		t.Fatal(err)
	}
	change, c := r.pushed(t, f)
	if change.Files != 3 || change.Insertions != 2 || change.Deletions != 1 || !change.SinceStart {
		t.Errorf("Snapshot() = %+v, want 3 files, +2, -1, since start", change)
	}
	if c.Files != 3 || c.Subject != "ralph: iteration" || c.Own != 0 {
		t.Errorf("Checkpoint() = %+v, want 3 files, subject, none of the agent's", c)
	}
	equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 a.txt", "100644 dir/b.txt", "100644 new/x.txt", "100644 second.txt"})
	equal(t, "commit", git(t, f.dir, "log", "-1", "--format=%an %ae|%cn %ce|%P|%B", c.SHA),
		"octo octo@example.com|github-actions[bot] bot@example.com|"+base+"|ralph: iteration\n\nRalph-Iteration: 1\n")
	// The agent finds a clean tree on top of the checkpoint.
	equal(t, "workspace HEAD", git(t, dir, "rev-parse", "HEAD"), c.SHA)
	equal(t, "workspace status", git(t, dir, "status", "--porcelain"), "")
	git(t, dir, "fsck", "--no-dangling")

	// Nothing changed: nothing is committed.
	change, c = r.checkpoint(t)
	if change.Files != 0 || c.SHA != "" {
		t.Errorf("unchanged: %+v, %+v, want no files and no commit", change, c)
	}
	write(t, filepath.Join(dir, "a.txt"), "again\n")
	r.pushed(t, f)
	if got := git(t, f.dir, "rev-list", "--count", "main..ralph/work"); got != "2" {
		t.Errorf("commits on the branch = %s, want 2", got)
	}
	equal(t, "main on the server", git(t, f.dir, "rev-parse", "main"), base)
}

func TestSameBranchNextNight(t *testing.T) {
	t.Parallel()
	for _, moved := range []bool{false, true} {
		name := "main unmoved"
		if moved {
			name = "main moved"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForge(t)
			seed := f.seed(t, map[string]string{"a.txt": "a\n", "keep/old.txt": "old\n"})
			dir := f.checkout(t, true)
			r := begin(t, dir, f.url)
			write(t, filepath.Join(dir, "night1.txt"), "1\n")
			_, first := r.pushed(t, f)
			if moved {
				write(t, filepath.Join(seed, "keep/old.txt"), "newer\n")
				git(t, seed, "commit", "-qam", "main moves")
				git(t, seed, "push", "-q", "origin", "main")
			}
			dir = f.checkout(t, true)
			r = begin(t, dir, f.url)
			if !r.start.Resumed || r.start.HeadSHA != first.SHA {
				t.Fatalf("Begin() = %+v, want resumed at %s", r.start, first.SHA)
			}
			if len(r.start.Messages) == 0 || !strings.Contains(r.start.Messages[0], "Ralph-Iteration: 1") {
				t.Errorf("Begin().Messages = %q, want the first night's", r.start.Messages)
			}
			equal(t, "night1.txt", read(t, filepath.Join(dir, "night1.txt")), "1\n")
			equal(t, "keep/old.txt", read(t, filepath.Join(dir, "keep/old.txt")), "old\n")
			equal(t, "status", git(t, dir, "status", "--porcelain"), "")
			write(t, filepath.Join(dir, "night2.txt"), "2\n")
			_, second := r.pushed(t, f)
			equal(t, "parent", git(t, f.dir, "rev-parse", second.SHA+"^"), first.SHA)
		})
	}
}

func TestMergedBranchStartsFromBase(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	dir := f.checkout(t, true)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	r.pushed(t, f)
	git(t, seed, "fetch", "-q", "origin")
	git(t, seed, "merge", "-q", "--no-ff", "-m", "merge", "origin/ralph/work")
	git(t, seed, "push", "-q", "origin", "main")
	merged := git(t, seed, "rev-parse", "HEAD")

	dir = f.checkout(t, true)
	r = begin(t, dir, f.url)
	if r.start.Resumed || r.start.HeadSHA != merged {
		t.Fatalf("Begin() = %+v, want a start from %s", r.start, merged)
	}
	write(t, filepath.Join(dir, "y.txt"), "y\n")
	_, c := r.pushed(t, f)
	equal(t, "parent", git(t, f.dir, "rev-parse", c.SHA+"^"), merged)
}

func TestFullCloneResumes(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	dir := f.checkout(t, false)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	_, first := r.pushed(t, f)

	write(t, filepath.Join(seed, "b.txt"), "b\n")
	git(t, seed, "add", "-A")
	git(t, seed, "commit", "-qm", "more")
	git(t, seed, "push", "-q", "origin", "main")
	r = begin(t, seed, f.url)
	if !r.start.Resumed || r.start.Base != "main" {
		t.Fatalf("Begin() = %+v, want resumed, base main", r.start)
	}
	equal(t, "merge base", git(t, seed, "merge-base", "main", "ralph/work"), git(t, seed, "rev-parse", "main^"))
	write(t, filepath.Join(seed, "y.txt"), "y\n")
	_, c := r.pushed(t, f)
	equal(t, "parent", git(t, f.dir, "rev-parse", c.SHA+"^"), first.SHA)
}
