package repo_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/repotest"
)

const token = "ghs_0123456789abcdefTOKEN"

var (
	gitEnv = repotest.Env
	git    = repotest.Git
	tryGit = repotest.TryGit
	write  = repotest.Write
)

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
	dir     string
	sandbox *repotest.Sandbox
	start   repo.Start
}

type optionFunc func(*repo.Options)

func open(t testing.TB, dir, remote string, change ...optionFunc) (*run, error) {
	t.Helper()
	g := &repotest.Sandbox{Dir: dir}
	o := repo.Options{
		Dir: dir, Sandbox: g, Temp: t.TempDir(), Store: t.TempDir(),
		Remote: remote, Token: secret.New(token), Push: remote != "",
		Branch: "ralph/work", DefaultBranch: "main",
		Committer:  repo.Identity{Name: "github-actions[bot]", Email: "bot@example.com"},
		Author:     repo.Identity{Name: "octo", Email: "octo@example.com"},
		Message:    func(ralph.Iteration, []ralph.File) string { return "ralph: iteration\n\nRalph-Iteration: 1\n" },
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
	return &run{Repo: r, dir: dir, sandbox: g}, nil
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

// commit commits the last snapshot and pushes it, as a run does after its last
// iteration.
func (r *run) commit(ctx context.Context, it ralph.Iteration) (ralph.Commit, error) {
	return r.arrives(ctx, r.Checkpoint, it)
}

// commitOwn is commit where only the agent commits.
func (r *run) commitOwn(ctx context.Context, it ralph.Iteration) (ralph.Commit, error) {
	return r.arrives(ctx, r.CheckpointOwn, it)
}

func (r *run) arrives(ctx context.Context, checkpoint func(context.Context, ralph.Iteration) (ralph.Commit, error), it ralph.Iteration) (ralph.Commit, error) {
	c, err := checkpoint(ctx, it)
	if err != nil || !c.Pushing {
		return c, err
	}
	if c = r.PushCheckpoint(ctx, c); c.PushError == "" {
		err = r.Push(ctx)
	}
	return c, err
}

// checkpoint takes a snapshot and commits it.
func (r *run) checkpoint(t testing.TB) (ralph.Change, ralph.Commit) {
	t.Helper()
	change := r.snapshot(t)
	c, err := r.commit(t.Context(), ralph.Iteration{Number: 1})
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

// cacheOf knows the caches of these tests.
func cacheOf(path string) string {
	for _, name := range []string{"__pycache__", ".pytest_cache", "node_modules"} {
		if before, _, ok := strings.Cut(path, name+"/"); ok {
			return before + name
		}
	}
	return ""
}
