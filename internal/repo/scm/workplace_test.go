package scm_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/scm"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// workplace is a repository with one commit, its bare origin and a supervisor.
type workplace struct {
	t   *testing.T
	dir string
	scm.Options
	answer string
	err    error
	asked  []string
	events []ralph.Event
}

func newWorkplace(t *testing.T, answer string, tasks ...string) *workplace {
	t.Helper()
	s, err := proc.Start(t.Context(), proc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	d := &workplace{t: t, dir: t.TempDir(), answer: answer}
	d.Process, d.Command, d.Dir = s, []string{"git"}, d.dir
	d.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=1",
		"GIT_AUTHOR_NAME=Mona", "GIT_AUTHOR_EMAIL=mona@example.com", "GIT_COMMITTER_NAME=Mona", "GIT_COMMITTER_EMAIL=mona@example.com"}
	d.Redact = secret.NewRedactor(secret.New("hunter2hunter2"))
	for _, task := range tasks {
		d.Tasks = append(d.Tasks, strings.Fields(task))
	}
	origin := t.TempDir()
	d.git("init", "--quiet", "--bare", "--initial-branch=main", origin)
	d.git("init", "--quiet", "--initial-branch=main")
	d.git("remote", "add", "origin", origin)
	d.write("known.txt", "one\n")
	d.git("add", "-A")
	d.git("commit", "--quiet", "-m", "start")
	d.git("push", "--quiet", "-u", "origin", "main")
	return d
}

func (d *workplace) git(args ...string) string {
	d.t.Helper()
	c := exec.Command("git", args...)
	c.Dir, c.Env = d.dir, d.Env
	out, err := c.CombinedOutput()
	if err != nil {
		d.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (d *workplace) write(name, text string) {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o700)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *workplace) deliver(s ralph.SCM) (ralph.Delivery, error) {
	return s.Deliver(d.t.Context(), ralph.Iteration{Number: 1}, func(q string) (string, error) {
		d.asked = append(d.asked, q)
		return d.answer, d.err
	}, func(e ralph.Event) { d.events = append(d.events, e) })
}

func (d *workplace) texts(kind ralph.EventKind) []string {
	var out []string
	for _, e := range d.events {
		if e.Kind == kind {
			out = append(out, e.Text)
		}
	}
	return out
}

func commands(d ralph.Delivery) []string {
	var out []string
	for _, t := range d.Tasks {
		out = append(out, t.Command)
	}
	return out
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
