//go:build !linux

package proc

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

// client starts children itself and ends them by process group: who leaves the
// group survives. On macOS sandbox-exec keeps the policy, as far as it can;
// identities and process limits are Linux's.
type client struct {
	events chan event
	mu     sync.Mutex
	group  int // 0: nothing runs
	grace  time.Duration
	linger bool
	kill   *time.Timer

	policy       *confine.Policy // nil: none, or none that could be kept
	unrestricted string
}

func newClient(o Options) (*client, error) {
	if !o.Identity.IsZero() && o.Identity.UID != os.Geteuid() {
		return nil, fmt.Errorf("children run as another user (%s) on Linux only", o.Identity)
	}
	if o.Policy != nil && o.Policy.Strict {
		return nil, fmt.Errorf("isolation is strict, but file access cannot be restricted outside Linux")
	}
	closeOnExec()
	c := &client{events: make(chan event, 4)}
	if o.Policy == nil {
		return c, nil
	}
	if ok, reason := confine.FilesAvailable(); !ok {
		if o.Policy.Network != nil {
			c.unrestricted = reason
		}
		return c, nil
	}
	c.policy = o.Policy
	argv := confine.SeatbeltCommand(*c.policy, filepath.EvalSymlinks, []string{"/usr/bin/true"})
	if out, err := (&exec.Cmd{Path: argv[0], Args: argv, Dir: "/", Env: []string{}}).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("macOS does not take the sandbox's profile, as it does inside of another sandbox (isolation: off goes without): %w: %.500s", err, out)
	}
	return c, nil
}

// closeOnExec keeps from children what whoever started us left open.
func closeOnExec() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

func (c *client) start(j job, child [3]*os.File) error {
	attr := syscall.ProcAttr{
		Dir:   j.Dir,
		Env:   j.Env,
		Files: []uintptr{child[0].Fd(), child[1].Fd(), child[2].Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	path, argv := j.Path, j.Argv
	if c.policy != nil {
		argv = confine.SeatbeltCommand(*c.policy, filepath.EvalSymlinks, append([]string{j.Path}, j.Argv[1:]...))
		path = argv[0]
	}
	pid, err := syscall.ForkExec(path, argv, &attr)
	if err != nil {
		return &StartError{Errno: err.(syscall.Errno), Text: fmt.Sprintf("exec %s: %v", j.Path, err)}
	}
	c.mu.Lock()
	c.group, c.grace, c.linger = pid, j.Grace, j.Linger
	c.mu.Unlock()
	go c.wait(pid)
	return nil
}

func (c *client) wait(pid int) {
	e := event{kind: over}
	var r syscall.Rusage
	for {
		if _, err := syscall.Wait4(pid, &e.status, 0, &r); err != syscall.EINTR {
			break
		}
	}
	e.usage = usage{time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano()), int64(r.Maxrss)}
	if c.groupLives() {
		c.events <- event{kind: left}
		if !c.linger {
			c.end(c.grace)
		}
		for c.groupLives() { // nobody tells
			time.Sleep(5 * time.Millisecond)
		}
	}
	c.mu.Lock()
	c.group = 0
	if c.kill != nil {
		c.kill.Stop()
		c.kill = nil
	}
	c.mu.Unlock()
	c.events <- e
}

func (c *client) groupLives() bool { return syscall.Kill(-c.group, 0) == nil }

func (c *client) end(grace time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.group == 0 {
		return
	}
	if c.kill == nil {
		_ = syscall.Kill(-c.group, syscall.SIGTERM)
		_ = syscall.Kill(-c.group, syscall.SIGCONT)
		c.kill = time.AfterFunc(grace, c.killGroup)
		return
	}
	c.kill.Reset(grace)
}

func (c *client) killGroup() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.group != 0 {
		_ = syscall.Kill(-c.group, syscall.SIGKILL)
	}
}

func (c *client) openNetwork() string { return c.unrestricted }

func (c *client) abandon(reason error) error {
	c.killGroup()
	return reason
}

func (c *client) close() error { return nil }

// supervise is the hidden command sandbox-init, which only Linux uses.
func supervise(stderr io.Writer) int {
	fmt.Fprintln(stderr, "sandbox-init: Linux only")
	return 1
}

// EndAll is the last act of a PID 1, which this system has another for.
func EndAll(time.Duration) error { return nil }
