package repo_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
)

const token = "ghs_0123456789abcdefTOKEN"

// hostGuest runs git directly, as the guest would, and records what it was
// given.
type hostGuest struct {
	dir string
	env []string

	mu       sync.Mutex
	commands []repo.GuestCommand
}

func (g *hostGuest) Git(ctx context.Context, c repo.GuestCommand) error {
	g.mu.Lock()
	g.commands = append(g.commands, c)
	g.mu.Unlock()
	cmd := exec.CommandContext(ctx, "git", c.Args...)
	cmd.Dir = g.dir
	cmd.Env = append(append(gitEnv(), g.env...), c.Env...)
	cmd.Env = append(cmd.Env, "RALPH_TEST_INSIDE=1")
	cmd.Stdin = c.Stdin
	if f, ok := c.Stdin.(*os.File); ok {
		cmd.Stdin = struct{ io.Reader }{f}
	}
	cmd.Stdout = c.Stdout
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &repo.GuestError{Args: c.Args, ExitCode: exit.ExitCode(), Stderr: stderr.String()}
	}
	return err
}

func gitEnv() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_TEST_FSYNC=0",
		"GIT_AUTHOR_NAME=Agent", "GIT_AUTHOR_EMAIL=agent@example.com",
		"GIT_COMMITTER_NAME=Agent", "GIT_COMMITTER_EMAIL=agent@example.com",
	}
}

// git runs git in dir and returns its output without the last line end.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = gitEnv()
	out, err := cmd.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// run is a repository opened for a run.
type run struct {
	*repo.Repo
	dir   string
	guest *hostGuest
	start repo.Start
}

type optionFunc func(*repo.Options)

func open(t testing.TB, dir, remote string, change ...optionFunc) (*run, error) {
	t.Helper()
	g := &hostGuest{dir: dir}
	o := repo.Options{
		Dir: dir, Guest: g, Temp: t.TempDir(), Store: t.TempDir(),
		Remote: remote, Token: secret.New(token), Push: remote != "",
		Branch: "ralph/work", DefaultBranch: "main",
		Committer:  repo.Identity{Name: "github-actions[bot]", Email: "bot@example.com"},
		Author:     repo.Identity{Name: "octo", Email: "octo@example.com"},
		Message:    func(it ralph.Iteration) string { return "ralph: iteration\n\nRalph-Iteration: 1\n" },
		RunFiles:   []string{".ralph/report.json", ".ralph/guardrail_*"},
		Clock:      func() time.Time { return time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC) },
		RetryDelay: time.Millisecond,
	}
	for _, f := range change {
		f(&o)
	}
	r, err := repo.Open(t.Context(), o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return &run{Repo: r, dir: dir, guest: g}, nil
}

// begin opens and begins.
func begin(t testing.TB, dir, remote string, change ...optionFunc) *run {
	t.Helper()
	r, err := open(t, dir, remote, change...)
	if err != nil {
		t.Fatalf("Open() = %v", err)
	}
	if r.start, err = r.Begin(t.Context()); err != nil {
		t.Fatalf("Begin() = %v", err)
	}
	return r
}

func (r *run) snapshot(t testing.TB) ralph.Change {
	t.Helper()
	c, err := r.Snapshot(t.Context())
	if err != nil {
		t.Fatalf("Snapshot() = %v", err)
	}
	return c
}

// checkpoint takes a snapshot and commits it.
func (r *run) checkpoint(t testing.TB) (ralph.Change, ralph.Commit) {
	t.Helper()
	change := r.snapshot(t)
	c, err := r.Checkpoint(t.Context(), ralph.Iteration{Number: 1})
	if err != nil {
		t.Fatalf("Checkpoint() = %v", err)
	}
	return change, c
}

// pushed is checkpoint for one that must have arrived.
func (r *run) pushed(t testing.TB, f *forge) (ralph.Change, ralph.Commit) {
	t.Helper()
	change, c := r.checkpoint(t)
	if !c.Pushed || c.SHA == "" {
		t.Fatalf("Checkpoint() = %+v, want a pushed commit; notes %q", c, r.State().Notes)
	}
	if got := strings.TrimSpace(read(t, filepath.Join(f.dir, "refs/heads", r.State().Branch))); got != c.SHA {
		t.Fatalf("server's %s = %s, want %s", r.State().Branch, got, c.SHA)
	}
	if long { // the server has looked at what arrived
		git(t, f.dir, "fsck", "--strict", "--no-dangling")
	}
	return change, c
}

// files lists a commit as "mode path", sorted.
func files(t testing.TB, dir, rev string) []string {
	t.Helper()
	var list []string
	for l := range strings.SplitSeq(git(t, dir, "-c", "core.quotePath=false", "ls-tree", "-r", rev), "\n") {
		meta, name, ok := strings.Cut(l, "\t")
		if ok {
			list = append(list, strings.Fields(meta)[0]+" "+name)
		}
	}
	slices.Sort(list)
	return list
}

// leave skips a cell of a matrix, one that the others make likely, unless the run
// is a long one.
func leave(t *testing.T, name string, cells ...string) {
	t.Helper()
	if !long && slices.Contains(cells, name) {
		t.Skip("needs the tag long")
	}
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	g, w := toStrings(got), toStrings(want)
	if !slices.Equal(g, w) {
		t.Errorf("%s = %q, want %q", what, g, w)
	}
}

func toStrings(v any) []string {
	switch v := v.(type) {
	case []string:
		return v
	case string:
		return strings.Split(v, "\n")
	default:
		panic("equal compares strings")
	}
}

func iteration(n int) ralph.Iteration { return ralph.Iteration{Number: n} }
