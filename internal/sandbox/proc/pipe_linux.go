package proc

import (
	"crypto/rand"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// pipes makes a pipe; both ends block, and are closed by an exec.
type pipes func() (read, write int, err error)

func anonymous() (read, write int, err error) {
	var fd [2]int
	err = os.NewSyscallError("pipe", unix.Pipe2(fd[:], unix.O_CLOEXEC))
	return fd[0], fd[1], err
}

// pipesIn makes pipes that lie in a folder. What /proc/PID/fd leads to can be
// opened anew by every process of the same user, unless the restrictions on files stand
// before it; they let an anonymous pipe pass. The name is gone when it returns.
func pipesIn(dir string) pipes {
	return func() (read, write int, err error) {
		path := filepath.Join(dir, "pipe-"+rand.Text())
		if err := unix.Mkfifo(path, 0o600); err != nil {
			return 0, 0, &os.PathError{Op: "mkfifo", Path: path, Err: err}
		}
		defer os.Remove(path)
		if read, err = unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
			return 0, 0, &os.PathError{Op: "open", Path: path, Err: err}
		}
		if write, err = unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0); err == nil {
			err = unix.SetNonblock(read, false)
		}
		if err != nil {
			_ = unix.Close(read)
			return 0, 0, &os.PathError{Op: "open", Path: path, Err: err}
		}
		return read, write, nil
	}
}

// newPipe returns a pipe whose writing end is ours. Where a write may have to
// wait, closing our end ends it. The child's end must block: programs do not
// expect EAGAIN on their standard descriptors.
func newPipe(wait bool, pipe pipes) (child, ours *os.File, err error) {
	read, write, err := pipe()
	if err != nil {
		return nil, nil, err
	}
	child = os.NewFile(uintptr(read), "|0")
	if !wait { // known to the poller, it would wake a thread for nothing
		return child, os.NewFile(uintptr(write), "|1"), nil
	}
	return child, pollable(write, "|1"), nil
}

// newOutputPipe returns a pipe whose reading end is ours, as large as the system
// gives it: claude loses output when its pipe is full.
func newOutputPipe(pipe pipes) (ours, child *os.File, err error) {
	read, write, err := pipe()
	if err != nil {
		return nil, nil, err
	}
	_, _ = unix.FcntlInt(uintptr(read), unix.F_SETPIPE_SZ, pipeSize)
	return pollable(read, "|0"), os.NewFile(uintptr(write), "|1"), nil
}

// pollable makes closing the file end a read or write that waits in it.
func pollable(fd int, name string) *os.File {
	_ = unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), name)
}
