package proc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

func init() {
	programs["own-reaper"] = func(args []string) int {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
		spawn(args[0], "own-reaper-stays", &syscall.SysProcAttr{Setsid: true}, false)
		return 0
	}
	programs["own-reaper-stays"] = func(args []string) int {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
		spawn(args[0], "double-forks", nil, true)
		return sleep()
	}
	programs["hops"] = func(args []string) int {
		n, _ := strconv.Atoi(args[1])
		fmt.Println("ready")
		for range n {
			hop()
		}
		return 0
	}
	programs["fork-loop"] = func([]string) int {
		fmt.Println("ready")
		forkLoop()
		return 0
	}
	programs["kills-supervisor"] = func(args []string) int {
		escapes([]string{args[0]})
		fmt.Println("kill:", syscall.Kill(os.Getppid(), syscall.SIGKILL))
		return sleep()
	}
	programs["stops-supervisor"] = func([]string) int {
		fmt.Println("stop:", syscall.Kill(os.Getppid(), syscall.SIGSTOP))
		return sleep()
	}
	programs["host"] = host
	programs["restarts"] = restarts
}

// fuse bounds the programs below, so that a supervisor that fails its test does
// not take the machine with it. It burns for seconds; the tests need a fraction.
const fuse = 20_000

// hop starts a process that keeps forking and exiting, so that it has a new
// number each time one looks. Only raw system calls: the copy has no Go runtime.
//
//go:norace
//go:nosplit
func hop() {
	if pid, _, _ := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0); pid != 0 {
		return
	}
	for range fuse {
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if errno == 0 && pid != 0 {
			break
		}
	}
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
}

// forkLoop doubles until a limit stops it, and goes on trying.
//
//go:norace
//go:nosplit
func forkLoop() {
	for range 50 * fuse {
		syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	}
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
}

// hostSpec is what the program host does: start one supervisor as the only
// one of its process, run one command, say how that went.
type hostSpec struct {
	Seal      bool
	Identity  confine.Identity
	Argv      []string
	Limits    proc.Limits
	BlockOn   string // the writer takes nothing until this file exists
	Slow      time.Duration
	SkipClose bool
	EndAll    bool
	Linger    time.Duration // says on stderr that somebody lingers
	Cancel    time.Duration // the run, after this long
	Beside    bool          // another command runs beside it, for a second
}

type hostSaid struct {
	Exit    proc.Exit
	Err     string
	Lost    bool
	Close   string
	Output  string // its beginning
	Bytes   int64
	PeakRSS int64
	Left    []string
	Environ []string
}

func host(args []string) int {
	var spec hostSpec
	if err := json.Unmarshal([]byte(args[1]), &spec); err != nil {
		fmt.Println(err)
		return 1
	}
	var said hostSaid
	if os.Getpid() == 1 {
		if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			said.Err = err.Error()
			return say(said)
		}
	}
	if spec.Seal {
		environ, err := confine.Seal(os.Environ())
		if err != nil {
			said.Err = err.Error()
		}
		said.Environ = environ
	}
	s, err := proc.Start(context.Background(), proc.Options{Identity: spec.Identity, Reaper: true, Env: []string{quickExit}})
	if err != nil {
		said.Err = err.Error()
		return say(said)
	}
	w := &slowWriter{until: spec.BlockOn, pause: spec.Slow}
	if spec.BlockOn == "" && spec.Slow == 0 {
		w.echo = os.Stderr
	}
	c := proc.Command{
		Argv: spec.Argv, Dir: "/", Env: []string{"PATH=/usr/bin:/bin", "HOST_PID=" + strconv.Itoa(os.Getpid()), quickExit},
		Stdout: w, Stderr: w, Limits: spec.Limits,
	}
	if spec.Linger > 0 {
		c.Linger = func() time.Duration { fmt.Fprintln(os.Stderr, "lingers"); return spec.Linger }
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if spec.Cancel > 0 {
		time.AfterFunc(spec.Cancel, cancel)
	}
	run, besides := s.Run, sync.WaitGroup{}
	if spec.Beside {
		pool := proc.NewPool(s)
		defer pool.Close()
		other, busy := c, watchFor("busy")
		other.Argv, other.Stdout, other.Stderr, other.Limits.Time = []string{"sh", "-c", "echo busy; exec sleep 600"}, busy, nil, time.Second
		besides.Go(func() { _, _ = pool.Run(ctx, other) })
		<-busy.seen
		run = pool.Run
	}
	exit, err := run(ctx, c)
	besides.Wait()
	said.Exit, said.Output, said.Bytes = exit, w.head.String(), w.n
	if err != nil {
		said.Err, said.Lost = err.Error(), errors.Is(err, proc.ErrLost)
	}
	said.Left = marked(args[0])
	if err := s.Close(); err != nil {
		said.Close = err.Error()
	}
	if spec.EndAll {
		if err := proc.EndAll(5 * time.Second); err != nil {
			said.Close += err.Error()
		}
	}
	said.PeakRSS = peakRSS()
	return say(said)
}

func say(said hostSaid) int {
	_ = json.NewEncoder(os.Stdout).Encode(said)
	return 0
}

// peakRSS is the most memory this process ever had, VmHWM of proc(5).
func peakRSS() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	_, _ = fmt.Sscan(rest, &kib)
	return kib << 10
}

type slowWriter struct {
	until string
	pause time.Duration
	echo  *os.File
	head  strings.Builder
	n     int64
}

func (w *slowWriter) Write(p []byte) (int, error) {
	for w.until != "" {
		if _, err := os.Stat(w.until); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(w.pause)
	w.n += int64(len(p))
	if room := 4096 - w.head.Len(); room > 0 {
		w.head.Write(p[:min(room, len(p))])
	}
	if w.echo != nil {
		_, _ = w.echo.Write(p)
	}
	return len(p), nil
}

// threadsOf counts the threads of a user's processes.
func threadsOf(uid int) (n int) {
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		status, err := os.ReadFile("/proc/" + d.Name() + "/status")
		if err != nil {
			continue
		}
		var uidOfFile, threads int
		_, rest, _ := strings.Cut(string(status), "\nUid:")
		_, _ = fmt.Sscan(rest, &uidOfFile)
		_, rest, _ = strings.Cut(string(status), "\nThreads:")
		_, _ = fmt.Sscan(rest, &threads)
		if uidOfFile == uid {
			n += threads
		}
	}
	return n
}

// held is what a process has open.
type held struct{ Files, Goroutines, Children, InitFiles int }

func holds() held {
	files, _ := os.ReadDir("/proc/self/fd")
	h := held{Files: len(files), Goroutines: runtime.NumGoroutine()}
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for pid := range strings.FieldsSeq(string(children)) {
			h.Children++
			files, _ := os.ReadDir("/proc/" + pid + "/fd") // empty where we may not look
			h.InitFiles += len(files)
		}
	}
	return h
}

// restarts runs a trivial child 100 times, in every way a run plumbs it, and
// says what it held before and after. The first runs fill pools.
func restarts(args []string) int {
	o := proc.Options{Reaper: true, Env: []string{quickExit}}
	if args[1] == "restricted" {
		policy := confine.DefaultPolicy(nil, nil)
		policy.Network = &confine.Network{Sockets: []string{"/tmp"}}
		o.Policy, o.Refused, o.Memory = &policy, func(string, string) {}, 1<<40
	}
	s, err := proc.Start(context.Background(), o)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	var before, after held
	for i := range 110 {
		if i == 10 {
			before = settled(nil)
		}
		c := proc.Command{
			Argv: []string{"sh", "-c", "cat; echo done >&2; exit 1"}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"},
			Stdin: strings.NewReader(strings.Repeat("x", 1+i%2*10_000)), Stdout: io.Discard, Stderr: &strings.Builder{},
			Limits: proc.Limits{Time: time.Hour, Silence: time.Hour, OutputBytes: 1 << 20},
			Linger: func() time.Duration { return time.Hour },
		}
		if exit, err := s.Run(context.Background(), c); err != nil || exit.Code != 1 {
			fmt.Printf("%+v %v\n", exit, err)
			return 1
		}
	}
	after = settled(&before)
	if err := s.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	_ = json.NewEncoder(os.Stdout).Encode([]held{before, after})
	return 0
}

// settled counts when goroutines that have done their work are gone: when
// nothing changes any more, or it is as wanted.
func settled(want *held) held {
	last := holds()
	for same := 0; same < 20 && (want == nil || last != *want); {
		time.Sleep(5 * time.Millisecond)
		now := holds()
		same++
		if now != last {
			last, same = now, 0
		}
	}
	return last
}
