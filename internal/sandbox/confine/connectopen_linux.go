package confine

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// With an open network every connect is still asked for, because a filter cannot tell
// those of unix sockets, behind which are Docker, systemd and others who act for their
// user. The notifier takes hold of the caller's own socket and connects it: whatever the
// caller puts in its place, or at the address, is not what was judged.

// canHold reports whether the notifier can take hold of its children's sockets. Docker's
// default profile refuses that without CAP_SYS_PTRACE.
func canHold() bool {
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return false
	}
	defer unix.Close(self)
	same, err := unix.PidfdGetfd(self, self, 0)
	if err == nil {
		_ = unix.Close(same)
	}
	return err == nil && yama() == ""
}

// unixRules leaves all sockets but datagrams of AF_UNIX, which name their target in the
// call that sends, in a pair as well.
func unixRules() []unix.SockFilter {
	made := join(arg(0), when(unix.AF_UNIX, streamOnly(resultAllow)), give(resultAllow))
	return join(
		when(unix.SYS_CONNECT, give(resultNotify)),
		when(unix.SYS_SOCKET, made),
		when(unix.SYS_SOCKETPAIR, made),
	)
}

// answerOpen judges the connects of unix sockets, and makes all of them.
func (g *Notifier) answerOpen(n *notification) {
	c := caller{thread: int(n.thread), fd: int32(uint32(n.args[0]))}
	err := c.hold()
	var to []byte
	if err == nil {
		to, err = readMemory(c.thread, n.args[1], int32(uint32(n.args[2])))
	}
	if err == nil && c.protocol != "" {
		var errno unix.Errno
		if c.to, errno = parseAddress(to); errno != 0 {
			err = errno
		} else if c.to.family != unix.AF_UNIX {
			err = unix.EINVAL
		}
	}
	if err == nil && g.valid(n.id) {
		if c.protocol != "" {
			g.unix(n.id, c)
		} else {
			g.connectOpen(n.id, c, to)
		}
		return
	}
	if c.own >= 0 {
		_ = unix.Close(c.own)
	}
	var errno unix.Errno
	if errors.As(err, new(unreadable)) || !errors.As(err, &errno) {
		g.refuse(n.id, "connect", fmt.Sprint(err), unix.EACCES)
		return
	}
	_ = g.reply(n.id, errno)
}

// hold takes the socket itself. Its protocol stays empty unless it is one of AF_UNIX.
func (c *caller) hold() error {
	c.own = -1
	process, err := processOf(c.thread)
	if err != nil {
		return unix.ESRCH
	}
	pidfd, err := unix.PidfdOpen(process, 0)
	if err != nil {
		return unix.ESRCH
	}
	defer unix.Close(pidfd)
	fd, err := unix.PidfdGetfd(pidfd, int(c.fd), 0)
	if errors.Is(err, unix.EBADF) {
		return unix.EBADF
	}
	if err != nil {
		return unreadable{fmt.Errorf("its descriptors cannot be read: %w", err)}
	}
	c.own = fd
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return err // ENOTSOCK
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	c.nonblock = flags&unix.O_NONBLOCK != 0
	if err == nil && domain == unix.AF_UNIX {
		c.protocol = "UNIX"
		var kind int
		if kind, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); kind == unix.SOCK_STREAM {
			c.protocol = "UNIX-STREAM"
		}
	}
	return err
}

// connectOpen makes a connect that nobody judges.
func (g *Notifier) connectOpen(id uint64, c caller, to []byte) {
	if err := unix.SetNonblock(c.own, true); err != nil {
		g.finish(id, c, c.own, number(err))
		return
	}
	var first unsafe.Pointer
	if len(to) > 0 {
		first = unsafe.Pointer(&to[0])
	}
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(c.own), uintptr(first), uintptr(len(to)))
	if errno == unix.EINPROGRESS && !c.nonblock {
		g.await(id, c, c.own, func() { g.awaitTCP(id, c, c.own) })
		return
	}
	g.finish(id, c, c.own, errno)
}
