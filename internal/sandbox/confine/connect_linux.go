package confine

import (
	"errors"
	"net/netip"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// lookAgain is how often it is asked whether a caller that waits still lives.
const lookAgain = 250 * time.Millisecond

// answer decides one connect and sees to its answer, without waiting for it.
func (g *Notifier) answer(n *notification) {
	c, err := readCaller(n)
	if err == nil {
		err = g.own(&c)
	}
	if !g.valid(n.id) {
		g.putBack(c)
		return
	}
	if err != nil {
		g.putBack(c)
		var errno unix.Errno
		if errors.As(err, new(unreadable)) || !errors.As(err, &errno) {
			g.refuse(n.id, "connect", err.Error(), unix.EACCES)
			return
		}
		_ = g.reply(n.id, errno)
		return
	}
	if c.own < 0 {
		if errno, known := g.again(c.inode); known {
			_ = g.reply(n.id, errno)
			return
		}
	}
	g.connect(n.id, c)
}

// own finds the notifier's hold on the caller's socket, or else what there is to know
// to replace it.
func (g *Notifier) own(c *caller) error {
	s, ok := g.kept.take(c.inode)
	if !ok {
		return c.describe()
	}
	flags, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETFL, 0)
	c.own, c.protocol, c.nonblock = s.fd, s.protocol, flags&unix.O_NONBLOCK != 0
	return err
}

// putBack keeps the hold on a socket that was not connected. With an open network it
// is taken anew for each connect.
func (g *Notifier) putBack(c caller) {
	switch {
	case c.own < 0:
	case g.allowed.open:
		_ = unix.Close(c.own)
	default:
		g.kept.putBack(c.inode, madeSocket{c.own, c.protocol})
	}
}

// connect decides by the kind of socket.
func (g *Notifier) connect(id uint64, c caller) {
	switch {
	case c.protocol == "TCP" && c.to.family == unix.AF_INET:
		g.tcp(id, c, unix.AF_INET)
	case c.protocol == "TCPv6" && c.to.family == unix.AF_INET6:
		g.tcp(id, c, unix.AF_INET6)
	case (c.protocol == "UNIX-STREAM" || c.protocol == "UNIX") && c.to.family == unix.AF_UNIX:
		g.unix(id, c)
	case c.protocol == "TCP" || c.protocol == "TCPv6": // AF_UNSPEC too: nothing is taken apart
		g.putBack(c)
		_ = g.reply(id, unix.EAFNOSUPPORT)
	case c.protocol == "UNIX-STREAM" || c.protocol == "UNIX":
		g.putBack(c)
		_ = g.reply(id, unix.EINVAL)
	default:
		g.refuse(id, "connect", "a socket of the kind "+strconv.QuoteToASCII(c.protocol), unix.EACCES)
	}
}

// refuse answers, and tells of an address the first time it is refused.
func (g *Notifier) refuse(id uint64, address, reason string, errno unix.Errno) {
	_ = g.reply(id, errno)
	if key := [2]string{address, reason}; !g.told[key] && len(g.told) < maxTold {
		g.told[key] = true
		g.refused(address, reason)
	}
}

// tcp connects by TCP.
func (g *Notifier) tcp(id uint64, c caller, family int) {
	to := c.to.direct()
	reason, named := g.allowed.closed(to)
	if reason == "" && !named {
		var listens bool
		if reason, listens = g.foreign(to.Port()); !listens {
			// The kernel refuses this one, whoever begins to listen meanwhile.
			c.to.ip = netip.AddrPortFrom(c.to.ip.Addr(), 0)
		}
	}
	if reason == "" {
		reason = g.apart(c.thread, to)
	}
	if reason != "" {
		g.putBack(c)
		g.refuse(id, to.String(), reason, unix.EACCES)
		return
	}
	fd, err := c.socket(family, unix.SOCK_STREAM)
	if err != nil {
		_ = g.reply(id, number(err))
		return
	}
	if c.own < 0 { // the options of the caller's socket are lost; these are what most set
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	}
	errno := number(unix.Connect(fd, c.to.sockaddr(family)))
	if errno == unix.EINPROGRESS && !c.nonblock {
		done := false
		if done, errno = connected(fd); !done {
			g.await(id, c, fd, func() { g.awaitTCP(id, c, fd) })
			return
		}
	}
	g.finish(id, c, fd, errno)
}

// foreign is why a port of loopback is out of reach; "" when only servers of the
// caller's side listen there, or none.
func (g *Notifier) foreign(port uint16) (reason string, listens bool) {
	listens, own, err := g.servers.only(port)
	switch {
	case err != nil:
		return "what listens on this machine cannot be read", false
	case !own && (port == 2375 || port == 2376): // Docker, without TLS and with
		return EngineRefused, true
	case !own:
		return "a server that was not started in the sandbox", true
	}
	return "", listens
}

// socket is the one that is connected: the caller's own, or one for its place. It
// does not block.
func (c *caller) socket(family, kind int) (fd int, err error) {
	if c.own >= 0 {
		return c.own, unix.SetNonblock(c.own, true)
	}
	return unix.Socket(family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
}

// await has somebody wait for the end of a connect, if there are not too many
// already.
func (g *Notifier) await(id uint64, c caller, fd int, wait func()) {
	select {
	case g.waiting <- struct{}{}:
		go func() {
			defer func() { <-g.waiting }()
			wait()
		}()
	default:
		g.finish(id, c, fd, unix.EAGAIN)
	}
}

// awaitTCP waits for the server, as long as the caller does.
func (g *Notifier) awaitTCP(id uint64, c caller, fd int) {
	f := os.NewFile(uintptr(fd), "connect")
	defer f.Close()
	raw, err := f.SyscallConn()
	for err == nil {
		if err = f.SetWriteDeadline(time.Now().Add(lookAgain)); err != nil {
			break
		}
		done, errno := false, unix.Errno(0)
		_ = raw.Write(func(uintptr) bool { done, errno = connected(fd); return done })
		if done || !g.valid(id) {
			g.give(id, c, fd, errno)
			return
		}
	}
	g.give(id, c, fd, unix.EAGAIN)
}

// connected reports whether a connect is over, and how.
func connected(fd int) (done bool, errno unix.Errno) {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	n, err := unix.Poll(poll, 0)
	for errors.Is(err, unix.EINTR) { // else the runtime's poller, which says it once, is waited for in vain
		n, err = unix.Poll(poll, 0)
	}
	if err != nil || n == 0 {
		return false, 0
	}
	value, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return true, number(err)
	}
	return true, unix.Errno(value)
}

// number is the errno of an error; 0 is nil's.
func number(err error) unix.Errno {
	var errno unix.Errno
	if err != nil && !errors.As(err, &errno) {
		return unix.EIO
	}
	return errno
}
