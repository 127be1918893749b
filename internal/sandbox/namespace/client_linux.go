package namespace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/sandbox/wire"
)

const (
	startTime = 10 * time.Second // sudo may have to ask a directory service
	closeTime = 15 * time.Second // more than the helper's own limits together
	maxPacket = 256 << 10
)

// Namespaces are a run's. They may be used by several goroutines.
type Namespaces struct {
	link   *net.UnixConn
	helper *exec.Cmd
	exited chan struct{} // closed when it has been waited for
	says   *Complaint
	has    answer
}

// answer is what the helper says when it has made what there is one of.
type answer struct {
	NoCgroup string   // why there is no cgroup; empty: there is one
	Caches   []string // whose changes are thrown away
	Problems []string // why those of other caches are not
	Err      string
}

// Start starts the helper. The error is why there are no namespaces, in words for a log.
func Start(ctx context.Context, o Options) (*Namespaces, error) {
	sudo := cmp.Or(o.Sudo, "/usr/bin/sudo")
	if _, err := os.Stat(sudo); err != nil {
		return nil, fmt.Errorf("there is no %s", sudo)
	}
	ours, theirs, err := socketpair(unix.SOCK_SEQPACKET)
	if err != nil {
		return nil, err
	}
	n := &Namespaces{link: ours, exited: make(chan struct{}), says: &Complaint{}}
	n.helper = &exec.Cmd{
		Path: sudo,
		// The binary that runs, even if its file was replaced meanwhile.
		Args:        []string{"sudo", "-n", "--", fmt.Sprintf("/proc/%d/exe", os.Getpid()), command},
		Dir:         "/",
		Env:         []string{},
		Stdin:       theirs, // sudo closes all but the standard descriptors
		Stderr:      n.says,
		WaitDelay:   time.Second,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	err = n.helper.Start()
	_ = theirs.Close()
	if err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("sudo: %w", err)
	}
	go func() { _ = n.helper.Wait(); close(n.exited) }()
	if err := n.open(ctx, o); err != nil {
		_ = ours.Close()
		select {
		case <-n.exited:
			return nil, n.complaint()
		case <-time.After(time.Second): // it hangs, and ends when it sees that nobody asks
			return nil, err
		}
	}
	if n.has.Err != "" {
		_ = n.Close()
		return nil, errors.New(n.has.Err)
	}
	return n, nil
}

// open asks for what there is one of.
func (n *Namespaces) open(ctx context.Context, o Options) error {
	deadline := time.Now().Add(startTime)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	if err := n.link.SetReadDeadline(deadline); err != nil {
		return err
	}
	if err := send(n.link, o); err != nil {
		return err
	}
	buf := make([]byte, maxPacket)
	size, err := n.link.Read(buf)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("sudo does not answer")
	case err != nil:
		return err
	}
	return wire.Decode(buf[:size], &n.has)
}

// String says what there is, for a log.
func (n *Namespaces) String() string {
	text := "namespaces"
	if n.has.NoCgroup == "" {
		text += ", cgroup"
	} else {
		text += ", no cgroup (" + n.has.NoCgroup + ")"
	}
	for _, problem := range n.has.Problems {
		text += ", " + problem
	}
	return text
}

// Caches returns those of Options.Caches whose changes are thrown away.
func (n *Namespaces) Caches() []string { return n.has.Caches }

// Close ends what still lives in the namespaces, and has them removed.
func (n *Namespaces) Close() error {
	_ = n.link.Close()
	select {
	case <-n.exited:
		if !n.helper.ProcessState.Success() {
			return fmt.Errorf("namespaces: %w", n.complaint())
		}
		return nil
	case <-time.After(closeTime):
		return errors.New("namespaces: what removes them does not end")
	}
}

// complaint is why the helper has ended.
func (n *Namespaces) complaint() error {
	text := n.says.String()
	if last := strings.LastIndex(text, "sudo: "); last > 0 { // before it are warnings
		text = text[last:]
	}
	return errors.New(cmp.Or(text, fmt.Sprintf("sudo: %s", n.helper.ProcessState)))
}

// Process is a supervisor.
type Process struct {
	alive *net.UnixConn
	heard chan struct{} // closed when its standard error is
}

// Start starts a supervisor with link as its descriptor 3.
func (n *Namespaces) Start(c Child, link *os.File, stderr io.Writer) (*Process, error) {
	ours, theirs, err := socketpair(unix.SOCK_STREAM)
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	r, w, err := os.Pipe()
	if err == nil {
		defer w.Close()
		err = send(n.link, c, link, w, theirs)
	}
	if err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("namespaces: %w", err)
	}
	p := &Process{ours, make(chan struct{})}
	go func() {
		defer close(p.heard)
		_, _ = io.Copy(stderr, r)
		_ = r.Close()
	}()
	return p, nil
}

// Kill ends the supervisor and all that it started.
func (p *Process) Kill() error {
	_, err := p.alive.Write([]byte{0})
	return err
}

// Wait waits until the supervisor and all that it started are gone. The error is how it
// ended if that was not well.
func (p *Process) Wait() error {
	defer p.alive.Close()
	text, err := io.ReadAll(p.alive)
	select {
	case <-p.heard:
	case <-time.After(time.Second):
	}
	switch {
	case string(text) == ended:
		return nil
	case len(text) > 0:
		return errors.New(string(text))
	case err != nil:
		return fmt.Errorf("the namespaces were lost: %w", err)
	}
	return errors.New("the namespaces were lost")
}

const ended = "exit status 0"

// send writes one packet: a value, and descriptors.
func send(c *net.UnixConn, value any, files ...*os.File) error {
	fds := make([]int, 0, len(files))
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	_, _, err := c.WriteMsgUnix(wire.Encode(value), rights, nil)
	return err
}

func socketpair(kind int) (ours *net.UnixConn, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	f := os.NewFile(uintptr(pair[0]), "link")
	defer f.Close()
	theirs = os.NewFile(uintptr(pair[1]), "link")
	c, err := net.FileConn(f)
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return c.(*net.UnixConn), theirs, nil
}

// Complaint keeps the beginning of what a program says on its standard error, on one
// line: a panic starts with its reason.
type Complaint struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write never fails.
func (c *Complaint) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if room := 2048 - c.text.Len(); room > 0 {
		c.text.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (c *Complaint) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(strings.Fields(c.text.String()), " ")
}
