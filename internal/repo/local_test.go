package repo_test

import (
	"path/filepath"
	"testing"
)

// Commits that were made here before the run are published although the agent
// adds nothing, and also on a branch that somebody else makes meanwhile.
func TestEarlierCommitsArePublished(t *testing.T) {
	t.Parallel()
	for _, race := range []bool{false, true} {
		f, dir := workspace(t)
		write(t, filepath.Join(dir, "step.txt"), "s\n")
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "-qm", "a step's")
		r := begin(t, dir, f.url)
		want := []string{"100644 a.txt", "100644 second.txt", "100644 step.txt"}
		if race {
			git(t, f.dir, "branch", "ralph/work", "main")
			somebody(t, f, "theirs.txt", "t\n")
			want = append(want, "100644 theirs.txt")
		}
		r.snapshot(t)
		if err := r.Push(t.Context()); err != nil {
			t.Fatalf("Push() = %v", err)
		}
		equal(t, "files", files(t, f.dir, "ralph/work"), want)
		if s := r.State(); !s.Pushed || s.HeadSHA != git(t, f.dir, "rev-parse", "ralph/work") {
			t.Errorf("State() = %+v, want the branch pushed", s)
		}
	}
}
