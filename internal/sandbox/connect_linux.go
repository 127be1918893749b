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
	if !g.valid(n.id) {
		return
	}
	if err != nil {
		var errno unix.Errno
		if errors.As(err, new(unreadable)) || !errors.As(err, &errno) {
			g.refuse(n.id, "connect", err.Error(), unix.EACCES)
			return
		}
		_ = g.reply(n.id, errno)
		return
	}
	if errno, known := g.again(c.inode); known {
		_ = g.reply(n.id, errno)
		return
	}
	switch {
	case c.to.family == unix.AF_UNSPEC:
		_ = g.reply(n.id, unix.EAFNOSUPPORT) // of what we connected nothing is taken apart
	case c.protocol == "TCP" && c.to.family == unix.AF_INET:
		g.tcp(n.id, c, unix.AF_INET)
	case c.protocol == "TCPv6" && c.to.family == unix.AF_INET6:
		g.tcp(n.id, c, unix.AF_INET6)
	case (c.protocol == "UNIX-STREAM" || c.protocol == "UNIX") && c.to.family == unix.AF_UNIX:
		g.unix(n.id, c)
	case c.protocol == "TCP" || c.protocol == "TCPv6":
		_ = g.reply(n.id, unix.EAFNOSUPPORT)
	case c.protocol == "UNIX-STREAM" || c.protocol == "UNIX":
		_ = g.reply(n.id, unix.EINVAL)
	default:
		g.refuse(n.id, "connect", "a socket of the kind "+strconv.QuoteToASCII(c.protocol), unix.EACCES)
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
		g.refuse(id, to.String(), reason, unix.EACCES)
		return
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		_ = g.reply(id, number(err))
		return
	}
	// The options of the caller's socket are lost. These are what most set.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	err = unix.Connect(fd, c.to.sockaddr(family))
	switch {
	case errors.Is(err, unix.EINPROGRESS) && c.nonblock:
		g.install(id, c, fd, unix.EINPROGRESS)
	case errors.Is(err, unix.EINPROGRESS):
		if done, errno := connected(fd); done {
			g.finish(id, c, fd, errno)
			return
		}
		g.await(id, fd, func() { g.awaitTCP(id, c, fd) })
		return
	default:
		g.finish(id, c, fd, number(err))
		return
	}
	_ = unix.Close(fd)
}

// await has somebody wait for the end of a connect, if there are not too many
// already.
func (g *Gate) await(id uint64, fd int, wait func()) {
	select {
	case g.waiting <- struct{}{}:
		go func() {
			defer func() { <-g.waiting }()
			wait()
		}()
	default:
		_ = unix.Close(fd)
		_ = g.reply(id, unix.EAGAIN)
	}
}

// awaitTCP waits for the server, as long as the caller does.
func (g *Gate) awaitTCP(id uint64, c caller, fd int) {
	f := os.NewFile(uintptr(fd), "connect")
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		_ = g.reply(id, unix.EAGAIN)
		return
	}
	for {
		if err := f.SetWriteDeadline(time.Now().Add(lookAgain)); err != nil {
			_ = g.reply(id, unix.EAGAIN)
			return
		}
		done, errno := false, unix.Errno(0)
		_ = raw.Write(func(uintptr) bool { done, errno = connected(fd); return done })
		switch {
		case done && errno == 0:
			g.install(id, c, fd, 0)
			return
		case done:
			_ = g.reply(id, errno)
			return
		case !g.valid(id):
			return
		}
	}
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

// finish gives the caller the connected socket, or the error, and forgets it.
func (g *Gate) finish(id uint64, c caller, fd int, errno unix.Errno) {
	if errno == 0 {
		g.install(id, c, fd, 0)
	} else {
		_ = g.reply(id, errno)
	}
	_ = unix.Close(fd)
}

// install puts the socket in the place of the caller's own, and answers.
func (g *Gate) install(id uint64, c caller, fd int, errno unix.Errno) {
	var st unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &st), unix.SetNonblock(fd, c.nonblock)); err != nil {
		_ = g.reply(id, unix.EAGAIN)
		return
	}
	inode := strconv.FormatUint(st.Ino, 10)
	g.mu.Lock()
	defer g.mu.Unlock()
	a := addition{id: id, flags: unix.SECCOMP_ADDFD_FLAG_SETFD, from: uint32(fd), to: uint32(c.fd)}
	if c.cloexec {
		a.extra = unix.O_CLOEXEC
	}
	if err := g.control(unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&a)); err != nil {
		_ = g.reply(id, number(err))
		return
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
	if c.to.abstract {
		g.refuse(id, "unix:@"+printable(c.to.path), "no abstract sockets", unix.EACCES)
		return
	}
	path, err := c.absolute(c.to.path)
	if err != nil {
		_ = g.reply(id, unix.EACCES)
		return
	}
	socket, inside, err := g.doors.socket(path)
	switch {
	case inside && err == nil:
		defer socket.Close()
		g.unixTo(id, c, fmt.Sprintf("/proc/self/fd/%d", socket.Fd()))
	case inside && number(err) != unix.EIO:
		_ = g.reply(id, number(err))
	case inside: // an error of os.Root's own
		g.refuse(id, "unix:"+printable(path), "a link leads out of the folders with sockets", unix.EACCES)
	default:
		// Most programs ask for sockets that are nowhere: that is no news.
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			_ = g.reply(id, unix.ENOENT)
			return
		}
		g.refuse(id, "unix:"+printable(path), "outside of the folders with sockets", unix.EACCES)
	}
}

// unixTo tries the kinds the caller's socket may be of: before Linux 5.15 they
// have one name, and later that of a stream has its own.
func (g *Gate) unixTo(id uint64, c caller, path string) {
	kinds := []int{unix.SOCK_STREAM}
	if c.protocol == "UNIX" {
		kinds = []int{unix.SOCK_SEQPACKET, unix.SOCK_STREAM}
	}
	errno := unix.EPROTOTYPE
	for _, kind := range kinds {
		fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			errno = number(err)
			break
		}
		to := &unix.SockaddrUnix{Name: path}
		errno = number(unix.Connect(fd, to))
		switch {
		case errno == unix.EPROTOTYPE:
			_ = unix.Close(fd)
			continue
		case errno == unix.EAGAIN && !c.nonblock:
			again, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				g.finish(id, c, fd, number(err))
				return
			}
			g.await(id, fd, func() { defer unix.Close(again); g.awaitUnix(id, c, fd, again) })
			return
		}
		g.finish(id, c, fd, errno)
		return
	}
	_ = g.reply(id, errno)
}

// awaitUnix tries again until the server's backlog has room.
func (g *Gate) awaitUnix(id uint64, c caller, fd, socket int) {
	to := &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d", socket)}
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		time.Sleep(pause)
		if !g.valid(id) {
			_ = unix.Close(fd)
			return
		}
		if errno := number(unix.Connect(fd, to)); errno != unix.EAGAIN {
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
