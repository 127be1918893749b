package starter_test

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// asNobody takes root's right to write anywhere from this goroutine, until the
// function it returns is called.
func asNobody() (back func()) {
	if os.Geteuid() != 0 {
		return func() {}
	}
	runtime.LockOSThread() // the right belongs to a thread
	_ = unix.Setfsuid(65534)
	return func() {
		_ = unix.Setfsuid(0)
		runtime.UnlockOSThread()
	}
}
