package install_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/install"
)

// hold locks the root as any process can that may read it.
func (l *lab) hold() (release func()) {
	l.t.Helper()
	if err := os.MkdirAll(l.o.Root, 0o755); err != nil {
		l.t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(l.o.Root, ".lock"), os.O_RDONLY|os.O_CREATE, 0o644)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return func() { _ = f.Close() }
}

// Somebody who holds the lock for ever is waited for as long as an installation
// may take, and that is said.
func TestLockHeld(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	release := l.hold()
	defer release()
	l.o.Time = 1500 * time.Millisecond
	began := time.Now()
	_, err := l.install(tool)
	wantError(t, err, "install @acme/tool@1.2.3: not done within 1.5s: another process holds the lock "+l.o.Root+"/.lock")
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	l.heard("Another process holds " + l.o.Root + "/.lock; waiting for it.")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = install.Install(ctx, l.o, tool)
	wantError(t, err, "context canceled")
}

// A lock that is let go of ends the waiting, whole installations are used
// meanwhile.
func TestLockReleased(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	release := l.hold()
	done := make(chan error, 1)
	l.o.Log = nil
	waits := make(chan struct{}, 1)
	o := l.o
	o.Say = func(string) {
		select {
		case waits <- struct{}{}:
		default:
		}
	}
	go func() { _, err := install.Install(t.Context(), o, tool); done <- err }()
	<-waits
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	defer l.hold()()
	if in, err := l.install(tool); err != nil || in.Fresh {
		t.Errorf("Install(there) = %+v, %v, want it although the lock is held", in, err)
	}
}

// What is there and whole needs nothing to be written. As root this shows only
// that there is no lock to take; cmd/ralph has a script for another user.
func TestReadOnlyRoot(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.mustInstall(tool)
	if err := os.Remove(filepath.Join(l.o.Root, ".lock")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(l.o.Root, 0o555); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(l.o.Root, 0o755) }()
	if in, err := l.install(tool); err != nil || in.Fresh {
		t.Errorf("Install() = %+v, %v, want what is there", in, err)
	}
	latest := tool
	latest.Version = "latest"
	if os.Geteuid() == 0 {
		return
	}
	if in, err := l.install(latest); err != nil || in.Fresh {
		t.Errorf("Install(latest) = %+v, %v, want what is there", in, err)
	}
	l.heard("the newest that is installed, 1.2.3, is used: agents cannot be installed into")
}
