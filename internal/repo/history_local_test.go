package repo_test

import (
	"path/filepath"
	"testing"

	"github.com/org/ralph-action/internal/repo"
)

// Locally, without a server, the branch in the workspace is what counts.
func TestHistoryLocally(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "--template=", "-b", "main")
	write(t, filepath.Join(dir, "a.txt"), five)
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "first")
	r := begin(t, dir, "", says("x\n\nRalph-Run: 1\n"))
	write(t, filepath.Join(dir, "a.txt"), "one\n2\n3\n4\n5\n")
	_, first := r.checkpoint(t)
	ahead(t, r, true)

	git(t, dir, "checkout", "-q", "main")
	write(t, filepath.Join(dir, "m.txt"), "m\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "main moves")
	main := git(t, dir, "rev-parse", "HEAD")
	r = begin(t, dir, "", updates(repo.UpdateRebase))
	if !r.start.Updated || !r.start.Resumed || len(r.start.Messages) != 1 {
		t.Fatalf("Begin() = %+v, want the branch rebased", r.start)
	}
	equal(t, "parent", git(t, dir, "rev-parse", "ralph/work^"), main)
	equal(t, "status", git(t, dir, "status", "--porcelain"), "")
	git(t, dir, "cat-file", "-e", first.SHA) // what was there is kept by the reflog

	git(t, dir, "checkout", "-q", "main")
	git(t, dir, "merge", "-q", "--squash", "ralph/work")
	git(t, dir, "commit", "-qm", "squashed")
	r = begin(t, dir, "")
	if !r.start.Restarted || len(r.start.Messages) != 0 {
		t.Fatalf("Begin() = %+v, want a new start", r.start)
	}
	equal(t, "files", files(t, dir, "HEAD"), files(t, dir, "main"))
	ahead(t, r, false)
	write(t, filepath.Join(dir, "y.txt"), "y\n")
	r.checkpoint(t)
	ahead(t, r, true)
	equal(t, "proposed", git(t, dir, "diff", "--name-only", "main...ralph/work"), "y.txt")

	// The branch stays checked out; the base is named.
	r = begin(t, dir, "", into("main"))
	if !r.start.Resumed || len(r.start.Messages) == 0 {
		t.Errorf("Begin() on the branch = %+v, want it resumed", r.start)
	}
	git(t, dir, "fsck", "--no-dangling")
}
