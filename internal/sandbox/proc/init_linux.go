package proc

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/wire"
)

const (
	linkFD       = 3    // the supervisor's end of the socket
	refusalQueue = 1024 // what is refused meanwhile is not told when it is full
)

// supervise is the hidden command sandbox-init. It serves the parent at the other
// end of descriptor 3 until that is closed, ends what is left, and returns the
// process's exit code.
func supervise(stderr io.Writer) int {
	// There is nothing to do at the same time: threads that wake each other
	// would only cost.
	runtime.GOMAXPROCS(1)
	in, err := newInit(stderr)
	if err != nil {
		fmt.Fprintln(stderr, "sandbox-init:", err)
		return 1
	}
	in.serve()
	return 0
}

// supervised is sandbox-init at work. All of it belongs to one goroutine.
type supervised struct {
	conn   *net.UnixConn
	frames chan frame // closed when the parent is gone
	child  chan os.Signal
	policy *confine.Policy // nil: none
	meter  *meter          // nil: nothing is measured
	broken error           // the policy or limits cannot be kept: nothing starts

	leader   int // 0: nothing runs
	exited   bool
	result   syscall.WaitStatus
	usage    usage
	grace    time.Duration
	linger   bool         // who is left may go on until the parent ends it
	anyDisk  bool         // it is not ended for a full disk
	told     bool         // the parent knows that somebody is left
	asked    map[int]bool // nil: the tree is not being ended
	killAt   time.Time
	again    *time.Timer
	notifier *confine.Notifier // nil: the network is open
	served   chan struct{}     // closed when the notifier is
	refused  chan refused      // by the notifier
}

func newInit(stderr io.Writer) (*supervised, error) {
	becomePrey()
	// Before anything else that matters: the agent has the same user, and the
	// environments of all children pass through this process.
	if err := confine.Undumpable(); err != nil {
		return nil, err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become sub-reaper: %w", err)
	}
	if err := inheritNothing(); err != nil {
		return nil, err
	}
	f := os.NewFile(linkFD, "link")
	c, err := net.FileConn(f)
	_ = f.Close()
	conn, ok := c.(*net.UnixConn)
	if err != nil || !ok {
		return nil, errors.New("it is started by ralph only")
	}
	in := &supervised{
		conn:    conn,
		frames:  make(chan frame, 1),
		child:   make(chan os.Signal, 1),
		again:   time.NewTimer(0),
		refused: make(chan refused, refusalQueue),
	}
	in.again.Stop()
	signal.Notify(in.child, syscall.SIGCHLD)
	// Handled, not ignored: children would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	reserveThreads()
	go in.read(stderr)
	return in, nil
}

// reserveThreads makes the runtime start the threads it will want. Later the
// agent may have used up the processes its user may have, and a Go program that
// cannot start a thread dies.
func reserveThreads() {
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	for range 8 {
		ready.Add(1)
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			<-release
		})
	}
	ready.Wait()
	close(release)
	done.Wait()
}

func (in *supervised) read(stderr io.Writer) {
	defer close(in.frames)
	for {
		f, err := receive(in.conn)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				fmt.Fprintln(stderr, "sandbox-init:", err)
			}
			return
		}
		in.frames <- f
	}
}

func (in *supervised) serve() {
	for {
		select {
		case f, ok := <-in.frames:
			if !ok {
				in.orphaned()
				return
			}
			in.obey(f)
		case <-in.child:
			in.collect()
		case r := <-in.refused:
			in.tell(frameRefused, r)
		case <-in.meter.ticks():
			in.measure()
		case <-in.again.C:
			in.press()
		}
	}
}

func (in *supervised) obey(f frame) {
	switch f.kind {
	case frameSetup:
		in.broken = in.setUp(f.body)
	case frameStart:
		in.start(f)
		for _, fd := range f.fds {
			_ = unix.Close(fd)
		}
	case frameEnd:
		var grace time.Duration
		if err := wire.Decode(f.body, &grace); err == nil && in.leader != 0 {
			in.endTree(grace)
		}
	}
}

// setUp takes what all children have in common. Its error must never mean: start
// them without.
func (in *supervised) setUp(body []byte) error {
	var s setup
	err := wire.Decode(body, &s)
	if err != nil {
		return err
	}
	in.policy = s.Policy
	if in.meter, err = newMeter(s); err != nil {
		return err
	}
	if err := limitFiles(s.FileSize); err != nil {
		return err
	}
	if in.policy == nil || in.policy.Network == nil || s.Tried {
		return nil
	}
	ok, reason := confine.NetworkAvailable()
	switch {
	case ok:
		return nil
	case in.policy.Strict:
		return fmt.Errorf("isolation is strict, but the network is not restricted: %s", reason)
	}
	in.policy.Network = nil
	in.tell(frameOpen, reason)
	return nil
}

func (in *supervised) start(f frame) {
	var j job
	err := wire.Decode(f.body, &j)
	if err == nil && (len(f.fds) != 3 || in.leader != 0) {
		err = errors.New("request out of order")
	}
	if err == nil {
		err = in.broken
	}
	if err == nil && gone(in.conn) {
		err = errors.New("the parent is gone")
	}
	if err == nil {
		in.usage, in.exited, in.told = usage{}, false, false
		in.grace, in.linger, in.anyDisk = j.Grace, j.Linger, j.AnyDisk
		in.leader, err = in.fork(j, f.fds)
	}
	if err != nil {
		in.leader = 0
		in.fail(err)
		return
	}
	in.meter.start()
}

// gone reports whether the other end of a socket is closed, whatever of it is still to be
// read: a supervisor that starts late has the orders of a parent that was killed meanwhile.
func gone(c syscall.Conn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	var closed bool
	err = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(fds, 0)
		closed = err == nil && n > 0
	})
	return closed || err != nil
}

func (in *supervised) fail(err error) {
	var errno syscall.Errno
	errors.As(err, &errno)
	in.tell(frameFailed, failure{int(errno), err.Error()})
}

func (in *supervised) tell(kind byte, value any) {
	_ = send(in.conn, kind, value) // if the parent is gone, reading says so
}

// collect reaps, and says what that means for the command.
func (in *supervised) collect() {
	none := reap(in.reaped)
	switch {
	case in.leader == 0:
	case none:
		in.finish()
	case in.exited && in.asked == nil:
		if !in.told {
			in.told = true
			in.tell(frameLeft, true)
		}
		if !in.linger {
			in.endTree(in.grace)
		}
	case in.asked != nil:
		terminate(0, in.asked) // the exit of one may have orphaned others
	}
}

func (in *supervised) reaped(pid int, status syscall.WaitStatus, u syscall.Rusage) {
	in.usage.add(u)
	if pid == in.leader && !in.exited { // while others linger its number may come back
		in.exited, in.result = true, status
	}
}

// measure ends a tree that uses more than it may.
func (in *supervised) measure() {
	if in.leader == 0 || in.asked != nil {
		return
	}
	switch why := in.meter.over(in.anyDisk); why {
	case OverMemory:
		in.tell(frameLimit, why)
		in.endTree(0)
	case DiskFull:
		in.tell(frameLimit, why)
		in.endTree(min(in.grace, diskGrace))
	}
}

// finish is called when wait4 has proved that the tree is gone.
func (in *supervised) finish() {
	in.again.Stop()
	in.meter.stop()
	in.leader, in.asked = 0, nil
	in.closeNotifier()
	in.tell(frameOver, end{in.result, in.usage})
}

func (u *usage) add(r syscall.Rusage) {
	u.User += time.Duration(r.Utime.Nano())
	u.System += time.Duration(r.Stime.Nano())
	u.MaxRSS = max(u.MaxRSS, int64(r.Maxrss)<<10)
}
