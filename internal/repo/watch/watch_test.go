package watch_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/gitdir"
	"github.com/org/ralph-action/internal/repo/repotest"
	"github.com/org/ralph-action/internal/repo/watch"
	"github.com/org/ralph-action/internal/repo/worktree"
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

func open(t *testing.T, dir string) *watch.Watcher {
	t.Helper()
	w, err := watch.Open(t.Context(), worktree.Options{Dir: dir, Sandbox: &repotest.Sandbox{Dir: dir}, Temp: t.TempDir(), RunFiles: []string{".ralph/report.json"}}, cacheOf)
	if err != nil {
		t.Fatalf("Open() = %v", err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func see(t *testing.T, w *watch.Watcher) ralph.Change {
	t.Helper()
	c, err := w.Snapshot(t.Context())
	if err != nil {
		t.Fatalf("Snapshot() = %v", err)
	}
	if w.Seen() != c.Tree {
		t.Errorf("Seen() = %s, want %s", w.Seen(), c.Tree)
	}
	return c
}

// A watcher tells work from none, and leaves the repository as it is.
func TestWatcher(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	repotest.Git(t, dir, "init", "-q", "-b", "main")
	repotest.Write(t, filepath.Join(dir, "a.txt"), "a\n")
	repotest.Git(t, dir, "add", "-A")
	repotest.Git(t, dir, "commit", "-qm", "first")
	repotest.Write(t, filepath.Join(dir, "dirty.txt"), "before the run\n")
	status := repotest.Git(t, dir, "status", "--porcelain")
	w := open(t, dir)
	if see(t, w).SinceStart {
		t.Error("nothing changed, and the watcher sees a change")
	}
	repotest.Write(t, filepath.Join(dir, ".ralph/report.json"), "{}")
	if see(t, w).SinceStart {
		t.Error("state of the run counts as a change")
	}
	if got := repotest.Git(t, dir, "status", "--porcelain", "dirty.txt"); got != status {
		t.Errorf("status = %q, want %q as before", got, status)
	}
	repotest.Write(t, filepath.Join(dir, "a.txt"), "b\n")
	first := see(t, w)
	if !first.SinceStart {
		t.Error("a changed file is not seen")
	}
	repotest.Git(t, dir, "commit", "-qam", "agent")
	if second := see(t, w); !second.SinceStart || second.Head == first.Head || second.Tree != first.Tree {
		t.Errorf("after a commit: %+v, want another HEAD and the tree of %+v", second, first)
	}
	if c, err := w.Checkpoint(t.Context(), ralph.Iteration{Number: 1}); err != nil || c != (ralph.Commit{}) {
		t.Errorf("Checkpoint() = %+v, %v; want nothing", c, err)
	}
}

// The patches of a run come from one command, and nothing in a file is taken for the line
// between two of them.
func TestWatcherDiffs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	repotest.Git(t, dir, "init", "-q", "-b", "main")
	repotest.Write(t, filepath.Join(dir, "a.txt"), "a\n")
	repotest.Write(t, filepath.Join(dir, ".gitattributes"), "*.txt diff=evil\n")
	repotest.Git(t, dir, "add", "-A")
	repotest.Git(t, dir, "commit", "-qm", "first")
	repotest.Git(t, dir, "config", "diff.evil.command", "touch "+filepath.Join(dir, ".git", "ran"))
	repotest.Git(t, dir, "config", "diff.evil.textconv", "touch "+filepath.Join(dir, ".git", "ran"))
	w := open(t, dir)
	repotest.Write(t, filepath.Join(dir, "a.txt"), "a\nb\n")
	first := see(t, w)
	repotest.Write(t, filepath.Join(dir, "a.txt"), "a\n"+first.Before+" "+first.After+"\n")
	repotest.Write(t, filepath.Join(dir, "bin"), "\x00")
	second := see(t, w)
	repotest.Write(t, filepath.Join(dir, "much.txt"), strings.Repeat("a line of a long file\n", 5_000))
	third := see(t, w)
	got, err := w.Diffs(t.Context(), [][2]string{{first.Before, first.After}, {first.After, second.After}, {second.After, third.After}, {third.After, first.Before}}, 4<<10)
	if err != nil || len(got) != 4 {
		t.Fatalf("Diffs() = %q, %v; want 4", got, err)
	}
	for i, want := range []string{"+b\n", "\n+" + first.Before + " " + first.After + "\n", "# not all of this patch: too long\ndiff --git a/much.txt", "# not all of this patch: too long\n"} {
		if !strings.Contains(string(got[i]), want) || len(got[i]) > 5<<10 {
			t.Errorf("patch %d = %q, want %q in it", i+1, got[i], want)
		}
	}
	if !strings.Contains(string(got[1]), "Binary files") {
		t.Errorf("patch 2 = %q, want the binary file named", got[1])
	}
	if _, err := os.Stat(filepath.Join(dir, ".git", "ran")); err == nil {
		t.Error("a program that the repository names has run")
	}
}

// The files of a run are those that changed since its start, whoever commits them.
func TestWatcherFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	repotest.Git(t, dir, "init", "-q", "-b", "main")
	repotest.Write(t, filepath.Join(dir, "a.txt"), "a\n")
	repotest.Write(t, filepath.Join(dir, "gone.txt"), "g\n")
	repotest.Git(t, dir, "add", "-A")
	repotest.Git(t, dir, "commit", "-qm", "first")
	repotest.Write(t, filepath.Join(dir, "dirty.txt"), "before the run\n")
	w := open(t, dir)
	see(t, w)
	if files, err := w.Files(t.Context()); err != nil || len(files) != 0 {
		t.Errorf("Files() = %+v, %v; want none", files, err)
	}
	repotest.Write(t, filepath.Join(dir, "a.txt"), "b\nc\n")
	repotest.Git(t, dir, "commit", "-qam", "agent")
	repotest.Write(t, filepath.Join(dir, "new.txt"), "n\n")
	repotest.Write(t, filepath.Join(dir, "pic.bin"), "\x00")
	repotest.Write(t, filepath.Join(dir, "node_modules/x.js"), "x\n")
	if err := os.Remove(filepath.Join(dir, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	see(t, w)
	want := []ralph.File{{Path: "a.txt", Insertions: 2, Deletions: 1}, {Path: "gone.txt", Gone: true, Deletions: 1}, {Path: "new.txt", New: true, Insertions: 1}, {Path: "pic.bin", New: true, Uncounted: true}}
	if files, err := w.Files(t.Context()); err != nil || !reflect.DeepEqual(files, want) {
		t.Errorf("Files() = %+v, %v; want %+v", files, err, want)
	}
}

// A snapshot counts what changed since the last checkpoint, without caches.
func TestWatcherCounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	repotest.Git(t, dir, "init", "-q", "-b", "main")
	repotest.Write(t, filepath.Join(dir, "a.txt"), "a\n")
	repotest.Git(t, dir, "add", "-A")
	repotest.Git(t, dir, "commit", "-qm", "first")
	w := open(t, dir)
	repotest.Write(t, filepath.Join(dir, "a.txt"), "b\nc\n")
	repotest.Write(t, filepath.Join(dir, "node_modules/x.js"), "x\n")
	if got := see(t, w); got.Files != 1 || got.Insertions != 2 || got.Deletions != 1 {
		t.Errorf("first Snapshot() = %+v, want 1 file, +2 −1", got)
	}
	if got := see(t, w); got.Files != 1 {
		t.Errorf("Snapshot() = %+v, want the same file again", got)
	}
	if _, err := w.Checkpoint(t.Context(), ralph.Iteration{}); err != nil {
		t.Fatal(err)
	}
	repotest.Write(t, filepath.Join(dir, "a.txt"), "b\nc\nd\n")
	repotest.Write(t, filepath.Join(dir, "pic.bin"), "\x00")
	if got := see(t, w); got.Files != 2 || got.Insertions != 1 || got.Deletions != 0 || got.Uncounted != 1 {
		t.Errorf("second Snapshot() = %+v, want 2 files, +1 −0, 1 not counted", got)
	}
}

func TestWatchAnEmptyRepository(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	repotest.Git(t, dir, "init", "-q", "-b", "main")
	w := open(t, dir)
	repotest.Write(t, filepath.Join(dir, "a.txt"), "a\n")
	if !see(t, w).SinceStart {
		t.Error("the first file is not seen")
	}
}

func TestIsRepository(t *testing.T) { // 000-06
	t.Parallel()
	dir := t.TempDir()
	if err := gitdir.Check(dir); !errors.Is(err, gitdir.ErrNotRepository) {
		t.Errorf("Check(empty folder) = %v, want ErrNotRepository", err)
	}
	if _, err := watch.Open(t.Context(), worktree.Options{Dir: dir, Sandbox: &repotest.Sandbox{Dir: dir}, Temp: t.TempDir()}, cacheOf); !errors.Is(err, gitdir.ErrNotRepository) {
		t.Errorf("Open(empty folder) = %v, want ErrNotRepository", err)
	}
	repotest.Git(t, dir, "init", "-q")
	below := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := gitdir.Check(below); err != nil {
		t.Errorf("Check(below) = %v", err)
	}
}

// A cache is no work, unless the repository holds something of it.
func TestWatcherLeavesCachesOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	repotest.Git(t, dir, "init", "-q", "-b", "main")
	repotest.Write(t, filepath.Join(dir, "a.py"), "a\n")
	repotest.Write(t, filepath.Join(dir, "kept/node_modules/x.js"), "x\n")
	repotest.Git(t, dir, "add", "-A")
	repotest.Git(t, dir, "commit", "-qm", "first")
	repotest.Write(t, filepath.Join(dir, "__pycache__/a.pyc"), "a\n")
	w := open(t, dir)
	first := see(t, w)
	repotest.Write(t, filepath.Join(dir, "__pycache__/a.pyc"), "b\n")
	repotest.Write(t, filepath.Join(dir, "src/.pytest_cache/v"), "1\n")
	if c := see(t, w); c.SinceStart || c.Work != first.Work || c.Tree == first.Tree {
		t.Errorf("Snapshot() = %+v with new caches, want no work", c)
	}
	repotest.Write(t, filepath.Join(dir, "kept/node_modules/x.js"), "y\n")
	if c := see(t, w); !c.SinceStart || c.Work == first.Work {
		t.Errorf("Snapshot() = %+v with a change of a tracked file, want work", c)
	}
}
