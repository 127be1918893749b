package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// unprivileged runs a function whose file accesses are those of nobody, also
// when the tests run as root: file system ids belong to a thread.
func unprivileged(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with us
		_, _ = unix.SetfsgidRetGid(65534)
		_, _ = unix.SetfsuidRetUid(65534)
		f()
	}()
	<-done
}

func TestReadOnlyWorkspace(t *testing.T) {
	t.Parallel()
	base, err := os.MkdirTemp("", "rundir")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	fresh, used := filepath.Join(base, "fresh"), filepath.Join(base, "used")
	err = errors.Join(os.Mkdir(fresh, 0o755), os.MkdirAll(filepath.Join(used, ".ralph"), 0o755),
		os.WriteFile(filepath.Join(used, ".ralph/.gitignore"), nil, 0o644),
		os.Chmod(filepath.Join(used, ".ralph"), 0o555), os.Chmod(fresh, 0o555), os.Chmod(base, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(used, ".ralph"), 0o755) })
	unprivileged(t, func() {
		for _, ws := range []string{fresh, used} {
			_, err := Open(ws, Owner{-1, -1})
			wantError(t, "Open", err, "workspace "+ws, "permission denied", ".ralph/", "mount the workspace read-write")
		}
	})
}

func TestDiskFull(t *testing.T) {
	t.Parallel()
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := &file{f: f, path: ".ralph/report.json"}
	defer w.Close()
	_, err = w.Write([]byte("x"))
	wantError(t, "Write", err, "write .ralph/report.json", "no space left on device")
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Write = %v, want ENOSPC wrapped", err)
	}
}
