package repo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
)

// Where only the agent commits, its commits leave the machine at once, and what
// it left lying waits for the end.
func TestCheckpointOwn(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	own := func() ralph.Commit {
		t.Helper()
		r.snapshot(t)
		c, err := r.commitOwn(t.Context(), ralph.Iteration{Number: 1})
		if err != nil {
			t.Fatalf("CheckpointOwn() = %v", err)
		}
		return c
	}
	write(t, filepath.Join(dir, "left.txt"), "lying about\n")
	if c := own(); c.SHA != "" {
		t.Errorf("CheckpointOwn() = %+v without a commit of the agent's, want nothing", c)
	}
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	git(t, dir, "add", "one.txt")
	git(t, dir, "commit", "-qm", "agent: one")
	head := git(t, dir, "rev-parse", "HEAD")
	if c := own(); !c.Pushed || c.SHA != head || c.Own != 1 || c.Files != 1 || c.Subject != "agent: one" {
		t.Errorf("CheckpointOwn() = %+v, want the agent's commit %s, pushed", c, head)
	}
	if got := git(t, f.dir, "rev-parse", "ralph/work"); got != head {
		t.Errorf("server has %s, want %s", got, head)
	}
	equal(t, "status", git(t, dir, "status", "--porcelain"), "?? left.txt")
	if c := own(); c.SHA != "" {
		t.Errorf("CheckpointOwn() again = %+v, want nothing", c)
	}
	_, c := r.pushed(t, f) // the end
	if c.Files != 1 || c.Own != 0 {
		t.Errorf("Checkpoint() = %+v, want the file that was left", c)
	}
	equal(t, "log", git(t, f.dir, "log", "--format=%an: %s", "main..ralph/work"), []string{"octo: ralph: iteration", "Agent: agent: one"})
}

// A link where one of the folders of a run file belongs stops nothing.
func TestLinkInTheWayToARunFile(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"tools", "tools/logs"} {
		t.Run(link, func(t *testing.T) {
			t.Parallel()
			_, dir := workspace(t)
			r := begin(t, dir, "", func(o *repo.Options) { o.RunFiles = []string{"tools/logs/session-*.log"} })
			write(t, filepath.Join(dir, "elsewhere/logs/session-1.log"), "x\n")
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "work.txt"), "work\n")
			if c := r.snapshot(t); c.Files != 2 {
				t.Errorf("Snapshot() = %+v, want the two files beside the link", c)
			}
		})
	}
}
