package lastrun_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run/lastrun"
	"github.com/org/ralph-action/internal/run/rundir"
)

// lock takes a directory as a run does.
func lock(t *testing.T, dir string) (release func()) {
	t.Helper()
	files, err := rundir.Open(dir, rundir.Owner{UID: -1, GID: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	if release, err = files.Lock(); err != nil {
		t.Fatal(err)
	}
	return release
}

func begin(t *testing.T, dir string, run lastrun.Run) *lastrun.Recorder {
	t.Helper()
	run.PID, run.Started = os.Getpid(), time.Now()
	r, err := lastrun.Begin(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func want(t *testing.T, dir string, dirs []string, state lastrun.State, now string) {
	t.Helper()
	run, got, err := lastrun.Find(dir, dirs)
	if err != nil || got != state || run.Now != now {
		t.Errorf("Find(%v) = %q, %q, %v, want %q, %q", dirs, run.Now, got, err, now, state)
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	dir, workspace := filepath.Join(t.TempDir(), "runs"), t.TempDir()
	if _, _, err := lastrun.Find(dir, []string{workspace}); !errors.Is(err, lastrun.ErrNone) {
		t.Errorf("Find before any run = %v, want ErrNone", err)
	}
	release := lock(t, workspace)
	want(t, dir, []string{workspace}, lastrun.Starting, "")
	r := begin(t, dir, lastrun.Run{Workspace: workspace, Folder: workspace, Now: "setup"})
	want(t, dir, []string{filepath.Join(workspace, "sub"), workspace}, lastrun.Running, "setup")
	r.Write(func(run *lastrun.Run) { run.Now = "works" })
	want(t, dir, []string{workspace}, lastrun.Running, "works")
	release() // as the end of its process does
	want(t, dir, []string{workspace}, lastrun.Killed, "works")
	release = lock(t, workspace)
	r.End(lastrun.End{Outcome: ralph.Completed})
	r.Note(func(run *lastrun.Run) { run.Now = "too late" })
	want(t, dir, []string{workspace}, lastrun.Ended, "")
	release()
	want(t, dir, []string{workspace}, lastrun.Ended, "")
}

// What changes often is written a moment later, and once.
func TestNoteIsWrittenSoon(t *testing.T) {
	t.Parallel()
	dir, workspace := filepath.Join(t.TempDir(), "runs"), t.TempDir()
	r := begin(t, dir, lastrun.Run{Workspace: workspace, Folder: workspace})
	for range 100 {
		r.Note(func(run *lastrun.Run) { run.Iteration++ })
	}
	for range 500 {
		run, _, err := lastrun.Find(dir, []string{workspace})
		if err != nil {
			t.Fatal(err)
		}
		if run.Iteration == 100 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the last note was never written")
}

// Several task directories of a project have a record each: who asks in one of them gets
// its own, who asks in the project the last.
func TestTaskDirectories(t *testing.T) {
	t.Parallel()
	dir, workspace := filepath.Join(t.TempDir(), "runs"), t.TempDir()
	one, two := filepath.Join(workspace, "one"), filepath.Join(workspace, "two")
	begin(t, dir, lastrun.Run{Workspace: workspace, Folder: workspace, Now: "before"})
	for _, folder := range []string{one, two} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		begin(t, dir, lastrun.Run{Workspace: workspace, Folder: folder, Now: filepath.Base(folder)})
	}
	want(t, dir, []string{one, workspace}, lastrun.Killed, "one")
	want(t, dir, []string{workspace}, lastrun.Killed, "two")
}

// An agent that can write to the records could choose the next run's command.
func TestNoRecordInTheWorkspace(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	if _, err := lastrun.Begin(filepath.Join(workspace, "home", "runs"), lastrun.Run{Workspace: workspace, Folder: workspace}); err == nil {
		t.Error("Begin recorded a run within its workspace, want an error")
	}
}

func TestForeignRecord(t *testing.T) {
	t.Parallel()
	dir, workspace, other := filepath.Join(t.TempDir(), "runs"), t.TempDir(), t.TempDir()
	begin(t, dir, lastrun.Run{Workspace: other, Folder: other})
	theirs, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(theirs) != 1 {
		t.Fatal(theirs, err)
	}
	begin(t, dir, lastrun.Run{Workspace: workspace, Folder: workspace})
	all, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	for _, path := range all {
		if path != theirs[0] {
			if err := os.Rename(theirs[0], path); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, _, err := lastrun.Find(dir, []string{workspace}); err == nil || errors.Is(err, lastrun.ErrNone) {
		t.Errorf("Find with another directory's record = %v, want an error about it", err)
	}
}
