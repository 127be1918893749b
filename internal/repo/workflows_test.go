package repo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/repo"
)

// noWorkflows makes the forge refuse a push that changes workflow files, in
// GitHub's words.
func (f *forge) noWorkflows(t *testing.T) {
	t.Helper()
	hook := `#!/bin/sh
while read -r old new ref; do
	base=$old
	case $old in 0000*) base=$(git rev-parse main);; esac
	for c in $(git rev-list "$base..$new"); do
		file=$(git diff-tree -m -r --name-only --no-commit-id "$c" -- .github/workflows | head -n 1)
		if [ -n "$file" ]; then
			echo "refusing to allow a GitHub App to create or update workflow \` + "`$file\\`" + ` without \` + "`workflows\\`" + ` permission" >&2
			exit 1
		fi
	done
done
`
	path := filepath.Join(f.dir, "hooks/pre-receive")
	write(t, path, hook)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// Everything but workflow files arrives with a token that may not change them,
// whether that is known before or the server says so.
func TestWorkflowFiles(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{true, false} {
		t.Run(fmt.Sprintf("known %t", known), func(t *testing.T) {
			t.Parallel()
			f := newForge(t)
			f.seed(t, map[string]string{"a.txt": "a\n", ".github/workflows/ci.yml": "ci\n", ".github/workflows/old.yml": "old\n"})
			f.noWorkflows(t)
			dir := f.checkout(t, true)
			r := begin(t, dir, f.url, func(o *repo.Options) { o.NoWorkflows = known })
			write(t, filepath.Join(dir, "one.txt"), "1\n")
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "-qm", "agent: one", "--author=Somebody <s@example.com>")
			write(t, filepath.Join(dir, ".github/workflows/ci.yml"), "changed\n")
			write(t, filepath.Join(dir, ".github/workflows/new/x.yml"), "new\n")
			write(t, filepath.Join(dir, ".github/other.yml"), "other\n")
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "-qm", "agent: two")
			write(t, filepath.Join(dir, "three.txt"), "3\n")
			if err := os.Remove(filepath.Join(dir, ".github/workflows/old.yml")); err != nil {
				t.Fatal(err)
			}
			change, c := r.pushed(t, f)
			equal(t, "files", files(t, f.dir, c.SHA), []string{
				"100644 .github/other.yml", "100644 .github/workflows/ci.yml", "100644 .github/workflows/old.yml",
				"100644 a.txt", "100644 one.txt", "100644 second.txt", "100644 three.txt",
			})
			equal(t, "ci.yml", git(t, f.dir, "show", c.SHA+":.github/workflows/ci.yml"), "ci")
			notes := append(change.Notes, r.State().Notes...)
			for _, want := range []string{`".github/workflows/ci.yml"`, `".github/workflows/new/x.yml"`, `".github/workflows/old.yml"`, "workflows: write"} {
				if !hasNote(notes, want) {
					t.Errorf("notes = %q, want %q", notes, want)
				}
			}
			log := "octo: ralph: iteration"
			if !known { // the agent's commits stay its own
				log += "\nAgent: agent: two\nSomebody: agent: one"
			}
			equal(t, "log", git(t, f.dir, "log", "--format=%an: %s", "main..ralph/work"), log)
			equal(t, "branch here", git(t, dir, "rev-parse", "ralph/work"), c.SHA)
			equal(t, "status", git(t, dir, "status", "--porcelain"), " M .github/workflows/ci.yml\n D .github/workflows/old.yml\n?? .github/workflows/new/")

			// From now on it is known, and what the agent has is not lost.
			write(t, filepath.Join(dir, "four.txt"), "4\n")
			change, second := r.pushed(t, f)
			equal(t, "parent", git(t, f.dir, "rev-parse", second.SHA+"^"), c.SHA)
			if !hasNote(change.Notes, "workflow files") {
				t.Errorf("notes = %q, want the workflow files named", change.Notes)
			}
			if got := f.pushes(); !known && got > 3 {
				t.Errorf("%d pushes, want 3: one refused, two that arrive", got)
			}
		})
	}
}

func (f *forge) pushes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.posts
}

// A branch the agent merged is no way in.
func TestWorkflowFilesOfAMergedBranch(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	f.noWorkflows(t)
	r := begin(t, dir, f.url)
	git(t, dir, "checkout", "-q", "-b", "side")
	write(t, filepath.Join(dir, ".github/workflows/ci.yml"), "ci\n")
	write(t, filepath.Join(dir, "side.txt"), "side\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "agent: side")
	git(t, dir, "checkout", "-q", "ralph/work")
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "agent: x")
	git(t, dir, "merge", "-q", "--no-ff", "-m", "agent: merge", "side")
	git(t, dir, "rm", "-q", "--cached", ".github/workflows/ci.yml")
	git(t, dir, "commit", "-qm", "agent: not that")
	_, c := r.pushed(t, f)
	equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 a.txt", "100644 second.txt", "100644 side.txt", "100644 x.txt"})
	equal(t, "log", git(t, f.dir, "log", "--format=%s", "main..ralph/work"), "ralph: iteration\nagent: merge\nagent: x")
}

// With nothing else to publish there is no branch, and no failure.
func TestOnlyWorkflowFiles(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	f.noWorkflows(t)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, ".github/workflows/ci.yml"), "ci\n")
	if _, c := r.checkpoint(t); c.SHA != "" || c.PushError != "" {
		t.Errorf("Checkpoint() = %+v, want nothing", c)
	}
	if s := r.State(); s.HeadSHA != "" || !hasNote(s.Notes, "ci.yml") {
		t.Errorf("State() = %+v, want no commit and a note", s)
	}
	if out, err := tryGit(f.dir, "rev-parse", "-q", "--verify", "ralph/work"); err == nil {
		t.Errorf("the server has ralph/work at %s", out)
	}
	equal(t, "status", git(t, dir, "status", "--porcelain"), "?? .github/")
	write(t, filepath.Join(dir, "b.txt"), "b\n")
	_, c := r.pushed(t, f)
	equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 a.txt", "100644 b.txt", "100644 second.txt"})
}

// The same when somebody else pushed meanwhile.
func TestWorkflowFilesOnAMovingBranch(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	r.pushed(t, f)
	other := filepath.Join(t.TempDir(), "other")
	git(t, f.dir, "clone", "-q", "-b", "ralph/work", f.dir, other)
	write(t, filepath.Join(other, "theirs.txt"), "theirs\n")
	git(t, other, "add", "-A")
	git(t, other, "commit", "-qm", "theirs")
	git(t, other, "push", "-q", "origin", "ralph/work")
	f.noWorkflows(t)
	write(t, filepath.Join(dir, "y.txt"), "y\n")
	write(t, filepath.Join(dir, ".github/workflows/ci.yml"), "ci\n")
	_, c := r.pushed(t, f)
	equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 a.txt", "100644 second.txt", "100644 theirs.txt", "100644 x.txt", "100644 y.txt"})
}

// A server that refuses for the sake of commits made here before the run is told
// of as it is.
func TestWorkflowFilesBeforeTheRun(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	f.noWorkflows(t)
	write(t, filepath.Join(dir, ".github/workflows/ci.yml"), "ci\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "before")
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	_, c := r.checkpoint(t)
	if c.SHA == "" || c.Pushed || !strings.Contains(c.PushError, "workflow scope") {
		t.Errorf("Checkpoint() = %+v, want a commit here and the reason it is not pushed", c)
	}
	if err := r.Push(t.Context()); err == nil {
		t.Error("Push() = nil, want an error")
	}
}
