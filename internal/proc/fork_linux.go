package proc

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// fork starts the leader of a tree in a session of its own.
func (in *supervised) fork(r request, fds []int) (pid int, err error) {
	attr := syscall.ProcAttr{
		Dir:   r.Dir,
		Env:   r.Env,
		Files: []uintptr{uintptr(fds[0]), uintptr(fds[1]), uintptr(fds[2])},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	if in.walls != nil {
		return in.forkWalled(r, attr)
	}
	return forkLimited(r, &attr)
}

// spareThreads is how many more threads than the children the supervisor may
// have: a Go program that cannot start one dies.
const spareThreads = 64

// forkLimited starts a child under its process limit, which fork cannot set. The
// supervisor lowers its own for the moment of the fork, when nothing of the
// agent's runs, and then takes away the child's right to raise it. A child that
// is faster than that gains the spare threads at most.
func forkLimited(r request, attr *syscall.ProcAttr) (int, error) {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &own); err != nil {
		return 0, os.NewSyscallError("getrlimit", err)
	}
	limit := min(r.MaxProcs, own.Max)
	own.Max = min(own.Max, max(limit+spareThreads, limit))
	own.Cur = min(own.Cur, own.Max)
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: own.Max}); err != nil {
		return 0, os.NewSyscallError("setrlimit", err)
	}
	pid, err := syscall.ForkExec(r.Path, r.Argv, attr)
	_ = unix.Setrlimit(unix.RLIMIT_NPROC, &own)
	if err != nil {
		return 0, explain(err, r)
	}
	_ = unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: limit}, nil)
	return pid, nil
}

// explain says whether it is the directory that is missing.
func explain(err error, r request) error {
	if r.Dir != "" {
		if _, dirErr := os.Stat(r.Dir); dirErr != nil {
			return dirErr
		}
	}
	return err
}

// forkWalled starts sandbox-exec, which puts up the walls and becomes the child.
// Whether it did is known when it closes its status pipe.
func (in *supervised) forkWalled(r request, attr syscall.ProcAttr) (int, error) {
	var status [2]int
	if err := unix.Pipe2(status[:], unix.O_CLOEXEC); err != nil {
		return 0, os.NewSyscallError("pipe", err)
	}
	attr.Files = append(attr.Files, in.walls.Fd(), uintptr(status[1]))
	// The path is sandbox-exec's first argument, argv[0] its second.
	argv := append([]string{"ralph", "sandbox-exec", r.Path}, r.Argv...)
	pid, err := syscall.ForkExec("/proc/self/exe", argv, &attr)
	_ = unix.Close(status[1])
	if err != nil {
		_ = unix.Close(status[0])
		return 0, explain(err, r)
	}
	in.pending = true
	f := os.NewFile(uintptr(status[0]), "status")
	go func() {
		data, _ := io.ReadAll(io.LimitReader(f, 4096))
		_ = f.Close()
		in.status <- data
	}()
	return pid, nil
}
