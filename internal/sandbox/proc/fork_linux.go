package proc

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

// fork starts the leader of a tree in a session of its own.
func (in *supervised) fork(j job, fds []int) (pid int, err error) {
	attr := syscall.ProcAttr{
		Dir:   j.Dir,
		Env:   j.Env,
		Files: []uintptr{uintptr(fds[0]), uintptr(fds[1]), uintptr(fds[2])},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	if in.policy == nil {
		return forkLimited(j, &attr)
	}
	reserveThreads() // a restricted start uses one up
	in.notifier, err = confine.Behind(*in.policy, func() (err error) {
		pid, err = forkLimited(j, &attr)
		return err
	})
	if err != nil || in.notifier == nil {
		return pid, err
	}
	if j.Speaks {
		if err = in.notifier.Speaks(fds[1], j.Judges); err != nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	in.serveNotifier()
	return pid, err
}

// notifierTime is how long a notifier may take to see that all who could ask are gone.
const notifierTime = time.Second

func (in *supervised) serveNotifier() {
	in.served = make(chan struct{})
	go func(notifier *confine.Notifier, served chan<- struct{}) {
		defer close(served)
		notifier.Serve(func(address, reason string) {
			select {
			case in.refused <- refused{address, reason}:
			default: // the notifier tells less for a child than there is room for
			}
		})
	}(in.notifier, in.served)
}

// closeNotifier is called when nobody is left who could ask. What was refused is told
// before the end is.
func (in *supervised) closeNotifier() {
	if in.notifier == nil {
		return
	}
	in.notifier.Close()
	select {
	case <-in.served:
	case <-time.After(notifierTime):
	}
	in.notifier = nil
	for {
		select {
		case r := <-in.refused:
			in.tell(frameRefused, r)
		default:
			return
		}
	}
}

// spareThreads is how many more threads than the children the supervisor may
// have: a Go program that cannot start one dies.
const spareThreads = 64

// forkLimited starts a child under its process limit, which fork cannot set. The
// supervisor lowers its own for the moment of the fork, when nothing of the
// agent's runs, and then takes away the child's right to raise it. A child that
// is faster than that gains the spare threads at most.
func forkLimited(j job, attr *syscall.ProcAttr) (int, error) {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &own); err != nil {
		return 0, os.NewSyscallError("getrlimit", err)
	}
	limit := min(j.MaxProcs, own.Max)
	if own.Max < unix.RLIM_INFINITY && limit > own.Max-min(spareThreads, own.Max/2) {
		limit = own.Max - min(spareThreads, own.Max/2) // there is no more room above it
	}
	own.Max = min(own.Max, max(limit+spareThreads, limit))
	own.Cur = min(own.Cur, own.Max)
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: own.Max}); err != nil {
		return 0, os.NewSyscallError("setrlimit", err)
	}
	pid, err := syscall.ForkExec(j.Path, j.Argv, attr)
	_ = unix.Setrlimit(unix.RLIMIT_NPROC, &own)
	if err != nil {
		return 0, explain(err, j)
	}
	_ = unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit, Max: limit}, nil)
	return pid, nil
}

// explain reports whether it is the directory that is missing.
func explain(err error, j job) error {
	if j.Dir != "" {
		if _, dirErr := os.Stat(j.Dir); dirErr != nil {
			return dirErr
		}
	}
	return err
}

// inheritNothing keeps from children what whoever started the parent had open, and
// the link to the parent: a copy of the log, for example, into which nobody else may
// write.
func inheritNothing() error {
	if unix.CloseRange(linkFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	names, err := readNames("/proc/self/fd") // before Linux 5.11
	if err != nil {
		return fmt.Errorf("inherited descriptors: %w", err)
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd >= linkFD {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// preyScore is what the kernel's out-of-memory killer adds for the agent's side,
// in thousandths of the machine's memory: it is to take that before the parent.
const preyScore = 500

// becomePrey raises the score of this process and of all it starts. It has to
// come before the process hides itself: then the file is root's.
func becomePrey() {
	const path = "/proc/self/oom_score_adj"
	data, err := os.ReadFile(path)
	if n, errN := strconv.Atoi(string(bytes.TrimSpace(data))); err == nil && errN == nil && n < preyScore {
		_ = os.WriteFile(path, strconv.AppendInt(nil, preyScore, 10), 0)
	}
}

// limitFiles bounds what this process and all it starts may write: no core
// dumps, and no file larger than size; 0: as large as it was.
func limitFiles(size int64) error {
	if err := lower(unix.RLIMIT_CORE, 0); err != nil {
		return fmt.Errorf("limit core dumps: %w", err)
	}
	if size <= 0 {
		return nil
	}
	if err := lower(unix.RLIMIT_FSIZE, uint64(size)); err != nil {
		return fmt.Errorf("limit the size of files: %w", err)
	}
	return nil
}

func lower(resource int, to uint64) error {
	var old unix.Rlimit
	if err := unix.Getrlimit(resource, &old); err != nil {
		return err
	}
	to = min(to, old.Max)
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: to, Max: to})
}
