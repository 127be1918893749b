package proc

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/namespace"
	"github.com/org/ralph-action/internal/sandbox/wire"
)

// client is our side of one sandbox-init.
type client struct {
	events       chan event
	conn         *net.UnixConn
	init         process
	exited       chan struct{} // closed when it has been waited for
	ended        error         // then: how, if not well
	complain     namespace.Complaint
	maxProcs     uint64
	reaper       bool
	refused      func(address, reason string) // nil: nobody wants to know
	unrestricted atomic.Pointer[string]
}

// process is sandbox-init: a child of ours, or one in namespaces.
type process interface {
	Kill() error
	// Wait returns nil if it exited with code 0, or if another waited for it.
	Wait() error
}

func newClient(o Options) (*client, error) {
	if pid, err := os.Readlink("/proc/self"); err != nil {
		return nil, fmt.Errorf("find processes: %w", err)
	} else if pid != strconv.Itoa(os.Getpid()) {
		return nil, errors.New("find processes: /proc belongs to another PID namespace")
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "link")
	defer theirs.Close()
	ours := os.NewFile(uintptr(pair[0]), "link")
	conn, err := net.FileConn(ours)
	_ = ours.Close()
	if err != nil {
		return nil, err
	}
	c := &client{
		events:   make(chan event, 4),
		conn:     conn.(*net.UnixConn),
		exited:   make(chan struct{}),
		maxProcs: o.MaxProcs,
		reaper:   o.Reaper && o.Namespaces == nil,
		refused:  o.Refused,
	}
	if c.reaper {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			c.conn.Close()
			return nil, fmt.Errorf("become sub-reaper: %w", err)
		}
	}
	if o.Namespaces != nil {
		c.init, err = c.inNamespaces(o, theirs)
	} else {
		c.init, err = c.child(o, theirs)
	}
	if err != nil {
		c.conn.Close()
		return nil, err
	}
	go func() { c.ended = c.init.Wait(); close(c.exited) }()
	s := setup{Policy: o.Policy, Memory: o.Memory, FreeDisk: o.FreeDisk, DiskPaths: o.DiskPaths, FileSize: o.FileSize}
	if o.Policy != nil && o.Policy.Network != nil && o.Identity.IsZero() && o.Namespaces == nil {
		s.Tried, _ = confine.NetworkAvailable()
	}
	if err := send(c.conn, frameSetup, s); err != nil {
		return nil, errors.Join(err, c.close())
	}
	go c.read()
	return c, nil
}

// inNamespaces starts sandbox-init in namespaces, with our own user.
func (c *client) inNamespaces(o Options, link *os.File) (process, error) {
	if !o.Identity.IsZero() {
		return nil, fmt.Errorf("children in namespaces have our own user (not %s)", o.Identity)
	}
	child := namespace.Child{Env: o.Env, Memory: o.Memory, Procs: o.MaxProcs}
	if p := o.Policy; p != nil {
		child.Read, child.Write = p.ReadOnly, p.ReadWrite
	}
	return o.Namespaces.Start(child, link, &c.complain)
}

// ownChild is sandbox-init as a child of ours.
type ownChild struct{ cmd *exec.Cmd }

func (p ownChild) Kill() error { return p.cmd.Process.Kill() }

func (p ownChild) Wait() error {
	_ = p.cmd.Wait()
	if state := p.cmd.ProcessState; state != nil && !state.Success() { // nil: a supervisor's sweep took its exit status
		return errors.New(state.String())
	}
	return nil
}

func (c *client) child(o Options, link *os.File) (process, error) {
	cmd := &exec.Cmd{
		// The binary that runs, even if its file was replaced meanwhile, and even
		// where the agent's user cannot walk to it.
		Path:        "/proc/self/exe",
		Args:        []string{"ralph", "sandbox-init"},
		Dir:         "/",
		Env:         append([]string{}, o.Env...),
		Stderr:      &c.complain,
		ExtraFiles:  []*os.File{link},
		WaitDelay:   pipeDelay,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // out of reach of the terminal's signals
	}
	switch id := o.Identity; {
	case id.IsZero():
	case os.Geteuid() == 0:
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(id.UID), Gid: uint32(id.GID)} // no groups
	case id.UID != os.Geteuid() || id.GID != os.Getegid():
		return nil, fmt.Errorf("only root can start children as another user (%s)", id)
	}
	return ownChild{cmd}, startUnprivileged(cmd)
}

// startUnprivileged starts cmd with no_new_privs, so that nothing below it can
// become somebody the supervisor may not kill. The flag belongs to a thread and
// is inherited; the thread is thrown away afterwards.
func startUnprivileged(cmd *exec.Cmd) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = cmd.Start()
		}
		done <- err
	}()
	return <-done
}

func (c *client) read() {
	for {
		f, err := receive(c.conn)
		if err != nil {
			c.events <- event{kind: lost, err: fmt.Errorf("%w: it ended", ErrLost)}
			return
		}
		var e event
		switch f.kind {
		case frameOpen:
			var reason string
			err = wire.Decode(f.body, &reason)
			c.unrestricted.Store(&reason)
		case frameRefused:
			var r refused
			if err = wire.Decode(f.body, &r); err == nil && c.refused != nil {
				c.refused(r.Address, r.Reason)
			}
		case frameLimit:
			e.kind = limited
			err = wire.Decode(f.body, &e.why)
		case frameFailed:
			var why failure
			err = wire.Decode(f.body, &why)
			e = event{kind: failed, err: why.error()}
		case frameLeft:
			e.kind = left
		case frameOver:
			var how end
			err = wire.Decode(f.body, &how)
			e = event{kind: over, status: how.Status, usage: how.Usage}
		}
		if err != nil {
			e = event{kind: lost, err: fmt.Errorf("%w: it says %q", ErrLost, f.body)}
		}
		if e.kind != 0 {
			c.events <- e
		}
	}
}

// openNetwork is why there is no network restriction although it was asked for.
func (c *client) openNetwork() string {
	if reason := c.unrestricted.Load(); reason != nil {
		return *reason
	}
	return ""
}

func (c *client) start(j job, child [3]*os.File) error {
	j.MaxProcs = c.maxProcs
	err := send(c.conn, frameStart, j, int(child[0].Fd()), int(child[1].Fd()), int(child[2].Fd()))
	if err != nil && !errors.Is(err, syscall.E2BIG) {
		return c.abandon(fmt.Errorf("%w: %w", ErrLost, err))
	}
	return err
}

func (c *client) end(grace time.Duration) {
	_ = send(c.conn, frameEnd, grace) // if it is gone, read says so
}

// abandon gives up a supervisor that died or hangs, ends what it had started if
// that falls to us, and returns the reason with what it complained about.
func (c *client) abandon(reason error) error {
	_ = c.conn.Close()
	_ = c.init.Kill()
	if !within(beltDelay, c.exited) {
		return fmt.Errorf("%w; not even SIGKILL ended it", reason)
	}
	if c.reaper && !sweep(beltDelay, forget) {
		reason = fmt.Errorf("%w; processes are left that do not die", reason)
	}
	state := "exit status 0"
	if c.ended != nil {
		state = c.ended.Error()
	}
	if text := c.complain.String(); text != "" {
		return fmt.Errorf("%w (%s; %s)", reason, state, text)
	}
	return fmt.Errorf("%w (%s)", reason, state)
}

// close lets an idle supervisor go.
func (c *client) close() error {
	_ = c.conn.Close()
	if !within(beltDelay, c.exited) {
		return c.abandon(fmt.Errorf("%w: it does not end", ErrLost))
	}
	if c.reaper && !sweep(beltDelay, forget) {
		return errors.New("processes are left that do not die")
	}
	if c.ended != nil {
		return c.abandon(fmt.Errorf("%w: it failed", ErrLost))
	}
	return nil
}

// within reports whether done is closed in time; in two halves, as watch's belt.
func within(limit time.Duration, done <-chan struct{}) bool {
	for range 2 {
		select {
		case <-done:
			return true
		case <-time.After(limit / 2):
		}
	}
	return false
}
