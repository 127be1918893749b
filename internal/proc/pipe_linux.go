package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// newPipe returns a pipe whose writing end is ours. Where a write may have to
// wait, closing our end ends it. The child's end must block: programs do not
// expect EAGAIN on their standard descriptors.
func newPipe(wait bool) (child, ours *os.File, err error) {
	var fd [2]int
	if err := unix.Pipe2(fd[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe", err)
	}
	child = os.NewFile(uintptr(fd[0]), "|0")
	if !wait { // known to the poller, it would wake a thread for nothing
		return child, os.NewFile(uintptr(fd[1]), "|1"), nil
	}
	return child, pollable(fd[1], "|1"), nil
}

// newOutputPipe returns a pipe whose reading end is ours, as large as the system
// gives it: claude loses output when its pipe is full.
func newOutputPipe() (ours, child *os.File, err error) {
	var fd [2]int
	if err := unix.Pipe2(fd[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe", err)
	}
	_, _ = unix.FcntlInt(uintptr(fd[0]), unix.F_SETPIPE_SZ, pipeSize)
	return pollable(fd[0], "|0"), os.NewFile(uintptr(fd[1]), "|1"), nil
}

// pollable makes closing the file end a read or write that waits in it.
func pollable(fd int, name string) *os.File {
	_ = unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), name)
}
