package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	lookAgain  = 250 * time.Millisecond // whether a caller that waits still lives
	firstRetry = time.Millisecond       // of a unix socket whose backlog is full
	lastRetry  = 100 * time.Millisecond
)

// answer decides one connect and sees to its answer, without waiting for it.
func (g *Gate) answer(n *notification) {
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

// own finds the gate's hold on the caller's socket, or else what there is to know
// to replace it.
func (g *Gate) own(c *caller) error {
	s, ok := g.kept.take(c.inode)
	if !ok {
		return c.describe()
	}
	flags, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETFL, 0)
	c.own, c.protocol, c.nonblock = s.fd, s.protocol, flags&unix.O_NONBLOCK != 0
	return err
}

// putBack keeps the hold on a socket that was not connected.
func (g *Gate) putBack(c caller) {
	if c.own >= 0 {
		g.kept.putBack(c.inode, madeSocket{c.own, c.protocol})
	}
}

// connect decides by the kind of socket.
func (g *Gate) connect(id uint64, c caller) {
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
func (g *Gate) refuse(id uint64, address, reason string, errno unix.Errno) {
	_ = g.reply(id, errno)
	if key := [2]string{address, reason}; !g.told[key] && len(g.told) < maxTold {
		g.told[key] = true
		g.refused(address, reason)
	}
}

// again is the answer to a second connect of what we have connected already: a
// program's way to ask how the first one went, or the first one again after a
// signal. known is false for every other socket.
func (g *Gate) again(inode string) (errno unix.Errno, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	knows, known := g.made[inode]
	if !known {
		return 0, false
	}
	if knows {
		return unix.EISCONN, true
	}
	switch state, err := tcpState(inode); {
	case err != nil || state == stateSynSent:
		return unix.EALREADY, true
	case state == "": // it came to nothing
		delete(g.made, inode)
		return 0, false
	}
	g.made[inode] = true
	return 0, true
}

// tcp connects by TCP.
func (g *Gate) tcp(id uint64, c caller, family int) {
	to := c.to.direct()
	if reason := g.doors.closed(to); reason != "" {
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
func (g *Gate) await(id uint64, c caller, fd int, wait func()) {
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
func (g *Gate) awaitTCP(id uint64, c caller, fd int) {
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

// connected says whether a connect is over, and how.
func connected(fd int) (done bool, errno unix.Errno) {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	if n, err := unix.Poll(poll, 0); err != nil || n == 0 {
		return false, 0
	}
	value, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return true, number(err)
	}
	return true, unix.Errno(value)
}

// finish is give, and forgets the socket.
func (g *Gate) finish(id uint64, c caller, fd int, errno unix.Errno) {
	g.give(id, c, fd, errno)
	_ = unix.Close(fd)
}

// give puts the socket in the place of the caller's own, if it is not that
// already, and answers.
func (g *Gate) give(id uint64, c caller, fd int, errno unix.Errno) {
	lives := errno == 0 || errno == unix.EINPROGRESS
	if c.own >= 0 || lives {
		if err := unix.SetNonblock(fd, c.nonblock); err != nil {
			errno, lives = number(err), false
		}
	}
	var st unix.Stat_t
	if !lives || unix.Fstat(fd, &st) != nil {
		_ = g.reply(id, errno)
		return
	}
	inode := strconv.FormatUint(st.Ino, 10)
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.own < 0 {
		a := addition{id: id, flags: unix.SECCOMP_ADDFD_FLAG_SETFD, from: uint32(fd), to: uint32(c.fd)}
		if c.cloexec {
			a.extra = unix.O_CLOEXEC
		}
		if err := g.control(unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&a)); err != nil {
			_ = g.reply(id, number(err))
			return
		}
	}
	g.remember(inode)
	if err := g.reply(id, errno); err == nil && errno == 0 {
		g.made[inode] = true
	}
}

func (g *Gate) remember(inode string) {
	if len(g.order) == maxMade {
		delete(g.made, g.order[0])
		g.order = g.order[1:]
	}
	g.made[inode] = false
	g.order = append(g.order, inode)
}

// unix connects to a unix socket.
func (g *Gate) unix(id uint64, c caller) {
	refuse := func(name, reason string) {
		g.putBack(c)
		g.refuse(id, "unix:"+printable(name), reason, unix.EACCES)
	}
	if c.to.abstract {
		refuse("@"+c.to.path, "no abstract sockets")
		return
	}
	path, err := c.absolute(c.to.path)
	if err != nil {
		g.putBack(c)
		_ = g.reply(id, unix.EACCES)
		return
	}
	socket, inside, err := g.doors.socket(path)
	switch {
	case inside && err == nil:
		g.unixTo(id, c, socket)
	case inside && number(err) != unix.EIO:
		g.putBack(c)
		_ = g.reply(id, number(err))
	case inside: // an error of os.Root's own
		refuse(path, "a link leads out of the folders with sockets")
	default:
		// Most programs ask for sockets that are nowhere: that is no news.
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			g.putBack(c)
			_ = g.reply(id, unix.ENOENT)
			return
		}
		refuse(path, "outside of the folders with sockets")
	}
}

// unixTo connects to the open socket, and closes it. Of a socket that is not the
// gate's it tries both kinds it may be of: before Linux 5.15 they have one name.
func (g *Gate) unixTo(id uint64, c caller, socket *os.File) {
	to := &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d", socket.Fd())}
	kind := unix.SOCK_STREAM
	if c.protocol == "UNIX" {
		kind = unix.SOCK_SEQPACKET
	}
	fd, err := c.socket(unix.AF_UNIX, kind)
	if err != nil {
		_ = socket.Close()
		_ = g.reply(id, number(err))
		return
	}
	errno := number(unix.Connect(fd, to))
	if errno == unix.EPROTOTYPE && c.own < 0 && kind == unix.SOCK_SEQPACKET {
		_ = unix.Close(fd)
		if fd, err = c.socket(unix.AF_UNIX, unix.SOCK_STREAM); err == nil {
			err = unix.Connect(fd, to)
		}
		errno = number(err)
	}
	if errno == unix.EAGAIN && !c.nonblock {
		g.await(id, c, fd, func() { defer socket.Close(); g.awaitUnix(id, c, fd, to) })
		return
	}
	_ = socket.Close()
	g.finish(id, c, fd, errno)
}

// awaitUnix tries again until the server's backlog has room.
func (g *Gate) awaitUnix(id uint64, c caller, fd int, to unix.Sockaddr) {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		time.Sleep(pause)
		errno := unix.EAGAIN
		if g.valid(id) {
			errno = number(unix.Connect(fd, to))
		}
		if errno != unix.EAGAIN || !g.valid(id) {
			g.finish(id, c, fd, errno)
			return
		}
	}
}

// number is the errno of an error; 0 is nil's.
func number(err error) unix.Errno {
	var errno unix.Errno
	if err != nil && !errors.As(err, &errno) {
		return unix.EIO
	}
	return errno
}

// printable is a path of the caller's for people.
func printable(path string) string {
	quoted := strconv.QuoteToGraphic(path)
	return quoted[1 : len(quoted)-1]
}
