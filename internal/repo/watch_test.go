package repo_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/gitdir"
)

// cacheOf knows the caches of these tests.
func cacheOf(path string) string {
	for _, name := range []string{"__pycache__", ".pytest_cache", "node_modules"} {
		if before, _, ok := strings.Cut(path, name+"/"); ok {
			return before + name
		}
	}
	return ""
}

func watch(t *testing.T, dir string) *repo.Watcher {
	t.Helper()
	w, err := repo.Watch(t.Context(), repo.Options{Dir: dir, Guest: &hostGuest{dir: dir}, Temp: t.TempDir(), RunFiles: []string{".ralph/report.json"}, Cache: cacheOf})
	if err != nil {
		t.Fatalf("Watch() = %v", err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func see(t *testing.T, w *repo.Watcher) ralph.Change {
	t.Helper()
	c, err := w.Snapshot(t.Context())
	if err != nil {
		t.Fatalf("Snapshot() = %v", err)
	}
	if w.Tree() != c.Tree {
		t.Errorf("Tree() = %s, want %s", w.Tree(), c.Tree)
	}
	return c
}

// A watcher tells work from none, and leaves the repository as it is.
func TestWatcher(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	write(t, filepath.Join(dir, "a.txt"), "a\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "first")
	write(t, filepath.Join(dir, "dirty.txt"), "before the run\n")
	status := git(t, dir, "status", "--porcelain")
	w := watch(t, dir)
	if see(t, w).SinceStart {
		t.Error("nothing changed, and the watcher sees a change")
	}
	write(t, filepath.Join(dir, ".ralph/report.json"), "{}")
	if see(t, w).SinceStart {
		t.Error("state of the run counts as a change")
	}
	if got := git(t, dir, "status", "--porcelain", "dirty.txt"); got != status {
		t.Errorf("status = %q, want %q as before", got, status)
	}
	write(t, filepath.Join(dir, "a.txt"), "b\n")
	first := see(t, w)
	if !first.SinceStart {
		t.Error("a changed file is not seen")
	}
	git(t, dir, "commit", "-qam", "agent")
	if second := see(t, w); !second.SinceStart || second.Head == first.Head || second.Tree != first.Tree {
		t.Errorf("after a commit: %+v, want another HEAD and the tree of %+v", second, first)
	}
	if c, err := w.Checkpoint(t.Context(), ralph.Iteration{Number: 1}); err != nil || c != (ralph.Commit{}) {
		t.Errorf("Checkpoint() = %+v, %v; want nothing", c, err)
	}
}

func TestWatchAnEmptyRepository(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	w := watch(t, dir)
	write(t, filepath.Join(dir, "a.txt"), "a\n")
	if !see(t, w).SinceStart {
		t.Error("the first file is not seen")
	}
}

func TestIsRepository(t *testing.T) { // 000-06
	t.Parallel()
	dir := t.TempDir()
	if err := repo.IsRepository(dir); !errors.Is(err, gitdir.ErrNotRepository) {
		t.Errorf("IsRepository(empty folder) = %v, want ErrNotRepository", err)
	}
	if _, err := repo.Watch(t.Context(), repo.Options{Dir: dir, Guest: &hostGuest{dir: dir}, Temp: t.TempDir()}); !errors.Is(err, gitdir.ErrNotRepository) {
		t.Errorf("Watch(empty folder) = %v, want ErrNotRepository", err)
	}
	git(t, dir, "init", "-q")
	below := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := repo.IsRepository(below); err != nil {
		t.Errorf("IsRepository(below) = %v", err)
	}
}

// Where only the agent commits, its commits leave the machine at once, and what
// it left lying waits for the end.
func TestCheckpointOwn(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	own := func() ralph.Commit {
		t.Helper()
		r.snapshot(t)
		c, err := r.CheckpointOwn(t.Context(), ralph.Iteration{Number: 1})
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

// A cache is no work, unless the repository holds something of it.
func TestWatcherLeavesCachesOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	write(t, filepath.Join(dir, "a.py"), "a\n")
	write(t, filepath.Join(dir, "kept/node_modules/x.js"), "x\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "first")
	write(t, filepath.Join(dir, "__pycache__/a.pyc"), "a\n")
	w := watch(t, dir)
	first := see(t, w)
	write(t, filepath.Join(dir, "__pycache__/a.pyc"), "b\n")
	write(t, filepath.Join(dir, "src/.pytest_cache/v"), "1\n")
	if c := see(t, w); c.SinceStart || c.Work != first.Work || c.Tree == first.Tree {
		t.Errorf("Snapshot() = %+v with new caches, want no work", c)
	}
	write(t, filepath.Join(dir, "kept/node_modules/x.js"), "y\n")
	if c := see(t, w); !c.SinceStart || c.Work == first.Work {
		t.Errorf("Snapshot() = %+v with a change of a tracked file, want work", c)
	}
}
