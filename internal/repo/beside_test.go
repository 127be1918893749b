package repo_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

// pushedBeside takes a snapshot, commits it, and does something while the push goes on.
func (r *run) pushedBeside(t *testing.T, f *forge, work func()) ralph.Commit {
	t.Helper()
	change := r.snapshot(t)
	c, err := r.Checkpoint(t.Context(), iteration(1))
	if err != nil || !c.Pushing || c.Pushed {
		t.Fatalf("Checkpoint() = %+v, %v, want a commit that is to be pushed", c, err)
	}
	if head := git(t, r.dir, "rev-parse", "HEAD"); head != c.SHA {
		t.Errorf("HEAD = %s, want the checkpoint %s, which is not pushed yet", head, c.SHA)
	}
	var first sync.Once
	under, goOn := make(chan struct{}), make(chan struct{})
	f.mu.Lock()
	f.fault = func(_ http.ResponseWriter, req *http.Request) bool {
		if req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/git-receive-pack") {
			first.Do(func() { close(under); <-goOn })
		}
		return false
	}
	f.mu.Unlock()
	done := make(chan ralph.Commit)
	go func() { done <- r.PushCheckpoint(t.Context(), c) }()
	<-under
	r.Judging(false)
	r.Work()
	if r.Seen() != change.Tree || len(r.LeftOut()) > 0 {
		t.Errorf("Seen() = %q, LeftOut() = %v, want %s, none", r.Seen(), r.LeftOut(), change.Tree)
	}
	work()
	close(goOn)
	return <-done
}

// While a push goes on the agent works, and commits.
func TestPushBesideWork(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	c := r.pushedBeside(t, f, func() {
		write(t, filepath.Join(dir, "two.txt"), "2\n")
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "-qm", "agent: two")
	})
	if !c.Pushed || c.Pushing || c.PushError != "" {
		t.Errorf("PushCheckpoint() = %+v, want it pushed", c)
	}
	if _, c := r.pushed(t, f); c.Own != 1 {
		t.Errorf("the next checkpoint = %+v, want the agent's commit below it", c)
	}
	equal(t, "log", git(t, f.dir, "log", "--format=%s", "main..ralph/work"), []string{"ralph: iteration", "agent: two", "ralph: iteration"})
}

// The server refuses a part of what is pushed beside the agent's work: its workspace is
// not touched meanwhile, and what it makes then is published without that part, too.
func TestRefusedBesideWork(t *testing.T) {
	t.Parallel()
	for name, commits := range map[string]bool{"the agent edits": false, "the agent commits": true} { // it is published as one of ours

		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, dir := workspace(t)
			f.noWorkflows(t)
			r := begin(t, dir, f.url)
			write(t, filepath.Join(dir, "one.txt"), "1\n")
			write(t, filepath.Join(dir, ".github/workflows/ci.yml"), "ci\n")
			var head string
			r.pushedBeside(t, f, func() {
				write(t, filepath.Join(dir, "two.txt"), "2\n")
				if commits {
					git(t, dir, "add", "-A")
					git(t, dir, "commit", "-qm", "agent: two")
				}
				head = git(t, dir, "rev-parse", "HEAD")
			})
			if now := git(t, dir, "rev-parse", "HEAD"); now != head {
				t.Errorf("HEAD moved from %s to %s while the agent worked", head, now)
			}
			change, c := r.pushed(t, f)
			equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 a.txt", "100644 one.txt", "100644 second.txt", "100644 two.txt"})
			equal(t, "log", git(t, f.dir, "log", "--format=%s", "main..ralph/work"), []string{"ralph: iteration", "ralph: iteration"})
			if said := hasNote(change.Notes, "are published as one"); said != commits {
				t.Errorf("notes = %q", change.Notes)
			}
			equal(t, "status", git(t, dir, "status", "--porcelain"), "?? .github/")
			if now := git(t, dir, "rev-parse", "HEAD"); now != c.SHA {
				t.Errorf("HEAD = %s, want the checkpoint %s", now, c.SHA)
			}
		})
	}
}
