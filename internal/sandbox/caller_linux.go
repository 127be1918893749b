package sandbox

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
	protocol string // "TCP", "TCPv6", "UNIX-STREAM", "UNIX", …
	inode    string
	nonblock bool
	cloexec  bool
	to       address
}

// unreadable says that the walls, not the caller, are why there is no answer.
type unreadable struct{ err error }

func (u unreadable) Error() string { return u.err.Error() }

// readCaller takes the arguments of connect(2). The error is the caller's errno
// or unreadable.
func readCaller(n *notification) (c caller, err error) {
	c.thread, c.fd = int(n.thread), int32(uint32(n.args[0]))
	dir := "/proc/" + strconv.Itoa(c.thread)
	link, err := os.Readlink(fmt.Sprintf("%s/fd/%d", dir, c.fd))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return c, unix.EBADF
	case err != nil:
		return c, unreadable{fmt.Errorf("its descriptors cannot be read: %w", err)}
	}
	if c.to, err = readAddress(c.thread, n.args[1], int32(uint32(n.args[2]))); err != nil {
		return c, err
	}
	inode, ok := strings.CutPrefix(link, "socket:[")
	if !ok {
		return c, unix.ENOTSOCK
	}
	c.inode = strings.TrimSuffix(inode, "]")
	if err := c.readFlags(dir); err != nil {
		return c, unreadable{err}
	}
	var name [32]byte
	size, err := unix.Getxattr(fmt.Sprintf("%s/fd/%d", dir, c.fd), "system.sockprotoname", name[:])
	if err != nil {
		return c, unreadable{fmt.Errorf("the kind of its socket: %w", err)}
	}
	c.protocol = strings.TrimRight(string(name[:size]), "\x00")
	return c, nil
}

// readAddress copies the address, once.
func readAddress(thread int, from uint64, size int32) (address, error) {
	if size < 0 || size > maxAddress {
		return address{}, unix.EINVAL
	}
	var buf [maxAddress]byte
	if size > 0 {
		local := unix.Iovec{Base: &buf[0], Len: uint64(size)}
		remote := unix.RemoteIovec{Base: uintptr(from), Len: int(size)}
		n, err := unix.ProcessVMReadv(thread, []unix.Iovec{local}, []unix.RemoteIovec{remote}, 0)
		switch {
		case errors.Is(err, unix.EFAULT) || err == nil && n != int(size):
			return address{}, unix.EFAULT
		case err != nil:
			return address{}, unreadable{fmt.Errorf("its memory cannot be read: %w", err)}
		}
	}
	a, errno := parseAddress(buf[:size])
	if errno != 0 {
		return a, errno
	}
	return a, nil
}

// readFlags reads the octal "flags:" of proc_pid_fdinfo(5).
func (c *caller) readFlags(dir string) error {
	info, err := os.ReadFile(fmt.Sprintf("%s/fdinfo/%d", dir, c.fd))
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
