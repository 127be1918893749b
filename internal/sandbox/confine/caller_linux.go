package confine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// caller is the thread that asks, and the descriptor it wants connected. All of
// it is read once; the thread may be gone or another by then, which is why it
// counts only when the question is still valid afterwards.
type caller struct {
	thread   int
	fd       int32
	inode    string
	to       address
	own      int    // the notifier's hold on the same socket; -1: none
	protocol string // "TCP", "TCPv6", "UNIX-STREAM", "UNIX", …
	nonblock bool
	cloexec  bool // known only without own
}

// unreadable says that the policy, not the caller, is why there is no answer.
type unreadable struct{ err error }

func (u unreadable) Error() string { return u.err.Error() }

// readCaller takes the arguments of connect(2). The error is the caller's errno
// or unreadable.
func readCaller(n *notification) (c caller, err error) {
	c = caller{thread: int(n.thread), fd: int32(uint32(n.args[0])), own: -1}
	notSocket := c.look()
	if notSocket != nil && !errors.Is(notSocket, unix.ENOTSOCK) {
		return c, notSocket
	}
	if c.to, err = readAddress(c.thread, n.args[1], int32(uint32(n.args[2]))); err != nil {
		return c, err
	}
	return c, notSocket
}

func (c *caller) path(of string) string {
	return fmt.Sprintf("/proc/%d/%s/%d", c.thread, of, c.fd)
}

// look finds the socket behind the descriptor.
func (c *caller) look() error {
	link, err := os.Readlink(c.path("fd"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return unix.EBADF
	case err != nil:
		return unreadable{fmt.Errorf("its descriptors cannot be read: %w", err)}
	}
	inode, ok := strings.CutPrefix(link, "socket:[")
	if !ok {
		return unix.ENOTSOCK
	}
	c.inode = strings.TrimSuffix(inode, "]")
	return nil
}

// describe looks at a socket that is not the notifier's.
func (c *caller) describe() error {
	if err := c.readFlags(); err != nil {
		return unreadable{err}
	}
	var name [32]byte
	size, err := unix.Getxattr(c.path("fd"), "system.sockprotoname", name[:])
	if err != nil {
		return unreadable{fmt.Errorf("the kind of its socket: %w", err)}
	}
	c.protocol = strings.TrimRight(string(name[:size]), "\x00")
	return nil
}

// readAddress copies the address, once.
func readAddress(thread int, from uint64, size int32) (address, error) {
	data, err := readMemory(thread, from, size)
	if err != nil {
		return address{}, err
	}
	a, errno := parseAddress(data)
	if errno != 0 {
		return a, errno
	}
	return a, nil
}

// readMemory copies what may be an address. process_vm_readv(2) would do it in one
// call, but older profiles of Docker refuse that.
func readMemory(thread int, from uint64, size int32) ([]byte, error) {
	if size < 0 || size > maxAddress {
		return nil, unix.EINVAL
	}
	data := make([]byte, size)
	if size > 0 {
		fd, err := unix.Open(fmt.Sprintf("/proc/%d/mem", thread), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, unreadable{fmt.Errorf("its memory cannot be read: %w", err)}
		}
		defer unix.Close(fd)
		if n, err := unix.Pread(fd, data, int64(from)); err != nil || n != int(size) {
			return nil, unix.EFAULT
		}
	}
	return data, nil
}

// readFlags reads the octal "flags:" of proc_pid_fdinfo(5).
func (c *caller) readFlags() error {
	info, err := os.ReadFile(c.path("fdinfo"))
	if err != nil {
		return fmt.Errorf("the flags of its descriptor: %w", err)
	}
	_, text, _ := strings.Cut(string(info), "flags:")
	text, _, _ = strings.Cut(text, "\n")
	flags, err := strconv.ParseUint(strings.TrimSpace(text), 8, 64)
	if err != nil {
		return fmt.Errorf("the flags of its descriptor: %q", text)
	}
	c.nonblock, c.cloexec = flags&unix.O_NONBLOCK != 0, flags&unix.O_CLOEXEC != 0
	return nil
}

// absolute is a path of the caller's as it would be looked up, but for links.
func (c *caller) absolute(path string) (string, error) {
	if strings.HasPrefix(path, "/") {
		return path, nil
	}
	dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", c.thread))
	if err != nil {
		return "", err
	}
	return dir + "/" + path, nil
}
