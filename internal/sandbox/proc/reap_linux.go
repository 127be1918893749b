package proc

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// EndAll is the last act of a process that is PID 1: it kills every other
// process there is in its PID namespace and waits until none is left, at most
// for the given time. Elsewhere it does nothing. Nothing may be started during
// or after it, and every Supervisor must be closed: it takes the exit status of
// any child.
func EndAll(within time.Duration) error {
	if os.Getpid() != 1 {
		return nil
	}
	for deadline := time.Now().Add(within); ; time.Sleep(time.Millisecond) {
		_ = syscall.Kill(-1, syscall.SIGKILL) // everybody but the caller
		if reap(forget) {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.New("processes are left that do not die")
		}
	}
}
