package tasks_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/tasks"
)

// 003-07
func TestMarker(t *testing.T) {
	t.Parallel()
	s := snapshot(t, reviewed, story("US-001", open), story("US-002", approved))
	got, err := tasks.Marker{At: noon, PID: 12345, MaxIterations: 15, Mode: "sandbox", Snapshot: s}.Encode()
	want := `{
  "timestamp": "2026-03-04T11:00:00Z",
  "pid": 12345,
  "max_iterations": 15,
  "mode": "sandbox",
  "skipReview": false,
  "reviewCap": 5,
  "iterationMode": "implement",
  "preIterationSnapshot": {
    "US-001": {
      "passes": false,
      "reviewStatus": null,
      "reviewCount": 0
    },
    "US-002": {
      "passes": true,
      "reviewStatus": "approved",
      "reviewCount": 1
    }
  }
}
`
	if err != nil || string(got) != want {
		t.Errorf("Encode = %s, %v", got, err)
	}
	got, err = tasks.Marker{At: noon, PID: 1, Mode: "direct", Snapshot: tasks.Snapshot{Rules: unreviewed}}.Encode()
	if err != nil || bytes.Contains(got, []byte("preIterationSnapshot")) || !bytes.Contains(got, []byte(`"skipReview": true`)) || !json.Valid(got) {
		t.Errorf("Encode = %s, %v", got, err)
	}
}

// 003-33
func TestLock(t *testing.T) {
	t.Parallel()
	f, project := folder(t)
	marker := filepath.Join(project, ".ralph-active")
	mine := tasks.Marker{At: noon, PID: os.Getpid(), Mode: "direct", Snapshot: snapshot(t, reviewed, story("A", open))}
	for _, stale := range []string{"", `{"pid": 1073741824}`, `{"pid": -1}`, `{"pid": "1"}`, "rubbish"} {
		if stale != "" {
			put(t, stale, marker)
		}
		lock, err := f.Lock(mine)
		if err != nil {
			t.Fatalf("with %q: %v", stale, err)
		}
		if got := unmarshal(t, []byte(slurp(t, marker))).(object)["pid"]; got != float64(os.Getpid()) {
			t.Errorf("pid = %v", got)
		}
		if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(marker); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the marker is still there: %v", err)
		}
	}

	// The process that runs this test lives.
	other := mine
	other.PID = os.Getppid()
	theirs, err := f.Lock(other)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Lock(mine)
	if !errors.Is(err, tasks.ErrLocked) || !strings.Contains(err.Error(), "running in this project") {
		t.Errorf("a second start: %v", err)
	}
	// Who knows better takes it over, and then the marker is theirs.
	taken, err := f.TakeOver(mine)
	if err != nil {
		t.Fatal(err)
	}
	if err := theirs.Release(); err != nil || unmarshal(t, []byte(slurp(t, marker))).(object)["pid"] != float64(os.Getpid()) {
		t.Errorf("released by who lost it: %v", err)
	}
	if err := taken.Release(); err != nil {
		t.Fatal(err)
	}

	// A marker that another process put there stays, one that was forged in
	// ours goes.
	lock, err := f.Lock(mine)
	if err != nil {
		t.Fatal(err)
	}
	put(t, `{"pid": 1, "preIterationSnapshot": {"A": {"passes": true}}}`, marker)
	mine.MaxIterations = 7
	if err := lock.Update(mine); err != nil || !strings.Contains(slurp(t, marker), `"max_iterations": 7`) {
		t.Errorf("Update = %v, %s", err, slurp(t, marker))
	}
	put(t, `{"pid": 1}`, marker)
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(marker); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a forged marker is still there: %v", err)
	}
	if lock, err = f.Lock(mine); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(marker, marker+".old"); err != nil {
		t.Fatal(err)
	}
	put(t, `{"pid": 1}`, marker)
	if err := errors.Join(lock.Release(), lock.Release()); err != nil || slurp(t, marker) != `{"pid": 1}` {
		t.Errorf("another's marker: %v", err)
	}
}

// Of many that take over what a dead one left, one succeeds.
func TestLockRace(t *testing.T) {
	t.Parallel()
	f, project := folder(t)
	s := snapshot(t, reviewed, story("A", open))
	put(t, `{"pid": 1073741824}`, project, ".ralph-active")
	locked := make(chan error, 8)
	for i := range cap(locked) {
		mine := tasks.Marker{At: noon, PID: []int{os.Getpid(), os.Getppid()}[i%2], Snapshot: s}
		go func() { _, err := f.Lock(mine); locked <- err }()
	}
	pids := map[bool]int{}
	for range cap(locked) {
		err := <-locked
		pids[err == nil]++
		if err != nil && !errors.Is(err, tasks.ErrLocked) {
			t.Error(err)
		}
	}
	if pids[true] == 0 || pids[false] < 4 {
		t.Errorf("%d of 8 have the lock, of two processes", pids[true])
	}
}

// Nothing planted as marker is followed.
func TestPlantedMarker(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(path string) error{
		"link":   func(path string) error { return os.Symlink("../secret", path) },
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"folder": func(path string) error { return os.MkdirAll(path+"/x", 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, project := folder(t)
			put(t, "untouched", project, "..", "secret")
			marker := filepath.Join(project, ".ralph-active")
			if err := plant(marker); err != nil {
				t.Fatal(err)
			}
			lock, err := f.Lock(tasks.Marker{At: noon, PID: os.Getpid()})
			if err != nil {
				t.Fatal(err)
			}
			if info, err := os.Lstat(marker); err != nil || !info.Mode().IsRegular() {
				t.Errorf("the marker is %v, %v", info, err)
			}
			if err := lock.Release(); err != nil || slurp(t, project, "..", "secret") != "untouched" {
				t.Errorf("Release = %v", err)
			}
			entries, err := os.ReadDir(project)
			if err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), "tmp-") }) {
				t.Errorf("left behind: %v, %v", entries, err)
			}
		})
	}
}
