package confine

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	_ "github.com/org/ralph-action/internal/sandbox/confine/probe" // the child
)

const (
	probeTime  = 10 * time.Second // on a machine that is busy
	acceptTime = 2 * time.Second  // of a connection that is there
)

// NetworkAvailable reports whether this process can restrict the network of its children;
// reason says why not. It tries it until that went well once, which takes a few milliseconds.
//
// Needed are Linux 5.9, amd64 or arm64, a seccomp that is not refused and not in
// use by a supervisor around us, and the right to read the memory of a child.
func NetworkAvailable() (ok bool, reason string) {
	network.Lock()
	defer network.Unlock()
	if network.tried {
		return true, ""
	}
	network.tried, reason = tryNetwork()
	return network.tried, reason
}

// network is whether a try went well. One that failed may have failed because the machine
// was busy.
var network struct {
	sync.Mutex
	tried bool
}

// tryNetwork tries the network restriction on a child of its own, see package probe.
func tryNetwork() (ok bool, reason string) {
	if architecture() == 0 {
		return false, "there is no filter for this processor"
	}
	if why := yama(); why != "" {
		return false, why
	}
	err := probe()
	if err != nil {
		return false, err.Error()
	}
	return true, ""
}

// yama is why a process without capabilities may not read its children's memory.
// The probe of a root does not see it, and sandbox-init is no root.
func yama() (reason string) {
	scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err != nil {
		return "" // there is none
	}
	if n, err := strconv.Atoi(string(bytes.TrimSpace(scope))); err != nil || n > 1 {
		return fmt.Sprintf("kernel.yama.ptrace_scope is %s: no process may read its children's memory (1 lets it)", bytes.TrimSpace(scope))
	}
	return ""
}

// explainFilter says what the error of seccomp(2) means here.
func explainFilter(err error) error {
	switch {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL):
		return errors.New("the kernel has no seccomp notifications (before 5.9, or left out)")
	case errors.Is(err, unix.EBUSY):
		return errors.New("system calls are watched by a supervisor around us already")
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return fmt.Errorf("seccomp is refused here: %w", err)
	}
	return fmt.Errorf("seccomp: %w", err)
}

// probe has a child connect to a listener of ours.
func probe() error {
	l, err := net.Listen("tcp4", "127.0.0.1:0") //nolint:noctx // loopback, closed below
	if err != nil {
		return fmt.Errorf("there is no loopback: %w", err)
	}
	defer l.Close()
	to := l.Addr().(*net.TCPAddr).AddrPort()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	d := &allowed{proxies: map[netip.AddrPort]bool{to: true}}
	var pid int
	g, err := behind(func() (*Notifier, error) { return askNetwork(d) }, func() error { return nil }, func() (err error) {
		pid, err = syscall.ForkExec("/proc/self/exe", []string{"ralph", "sandbox-init", "probe", strconv.Itoa(int(to.Port()))}, &syscall.ProcAttr{
			Dir: "/", Env: []string{}, Files: []uintptr{null.Fd(), null.Fd(), null.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
		})
		return err
	})
	if err != nil {
		return err
	}
	why := make(chan error, 1)
	go func() {
		refused := errors.New("the probe did not connect")
		g.Serve(func(_, reason string) { refused = errors.New(reason) })
		why <- refused
	}()
	go func() { // it ends by itself, or is ended
		timer := time.AfterFunc(probeTime, func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		defer timer.Stop()
		var status syscall.WaitStatus
		_, err := syscall.Wait4(pid, &status, 0, nil)
		for err == syscall.EINTR {
			_, err = syscall.Wait4(pid, &status, 0, nil)
		}
		g.Close()
		if err != nil || status.ExitStatus() == 0 {
			_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(acceptTime)) // it may wait to be accepted
		} else {
			_ = l.Close()
		}
	}()
	connected := false
	if c, err := l.Accept(); err == nil {
		_ = c.SetReadDeadline(time.Now().Add(probeTime))
		n, _ := c.Read(make([]byte, 1))
		connected = n == 1
		_ = c.Close()
	}
	if err := <-why; !connected {
		return err
	}
	return nil
}
