package taskdir_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/tasks/taskdir"
)

// unprivileged runs a function whose file accesses are those of nobody, also
// when the tests run as root: file system ids belong to a thread.
func unprivileged(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with us
		if os.Geteuid() == 0 {
			_, _ = syscall.Setfsgid(65534), syscall.Setfsuid(65534)
		}
		f()
	}()
	<-done
}

// public makes a directory every user can walk to.
func public(t *testing.T, mode fs.FileMode) string {
	t.Helper()
	base, err := os.MkdirTemp("", "taskdir")
	must(t, err)
	path := filepath.Join(base, "task")
	must(t, errors.Join(os.Mkdir(path, 0o777), os.Chmod(path, 0o777), os.Chmod(base, mode)))
	t.Cleanup(func() { _ = errors.Join(os.Chmod(base, 0o700), os.Chmod(path, 0o700), os.RemoveAll(base)) })
	return path
}

// TestReadOnlyFolder covers the bad input "task dir missing or read-only".
func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	path := public(t, 0o755)
	must(t, os.Chmod(path, 0o555))
	unprivileged(t, func() {
		_, err := taskdir.Open(path, nobody)
		wantError(t, "Open", err, "task folder "+path, "is read-only", "permission denied", "make it writable")
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("Open() = %v, want the reason wrapped", err)
		}
	})
}

// TestFactIsBestEffort: a directory above that cannot be read or written keeps
// nobody from working.
func TestFactIsBestEffort(t *testing.T) {
	t.Parallel()
	for _, mode := range []fs.FileMode{0o111, 0o555} {
		path := public(t, mode)
		unprivileged(t, func() {
			d, err := taskdir.Open(path, nobody)
			if err != nil {
				t.Errorf("Open() below a folder with mode %v = %v, want it open", mode, err)
				return
			}
			defer d.Close()
			wantError(t, "Fact", d.Fact(noon, "x"), "PROJECT-MESSAGE-BUS.md above task folder", "permission denied")
			if _, err := d.NewRun(noon, 1); err != nil {
				t.Errorf("NewRun() = %v, want a folder", err)
			}
			if done, err := d.Done(); done || err != nil {
				t.Errorf("Done() = %v, %v, want false", done, err)
			}
		})
	}
}
