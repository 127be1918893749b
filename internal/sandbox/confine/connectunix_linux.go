package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	firstRetry = time.Millisecond // of a socket whose backlog is full
	lastRetry  = 100 * time.Millisecond
)

// unix connects to a unix socket.
func (g *Notifier) unix(id uint64, c caller) {
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
	socket, inside, err := g.allowed.socket(path)
	switch {
	case inside && err == nil && g.speaker != nil && g.speaker.judge && g.speaks(c.thread):
		_ = socket.Close()
		refuse(path, "a reviewer reaches no socket of what it runs")
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
		reason := "outside of the folders with sockets"
		if isEngine(path) {
			reason = EngineRefused
		}
		refuse(path, reason)
	}
}

// unixTo connects to the open socket, and closes it. Of a socket that is not the
// notifier's it tries both kinds it may be of: before Linux 5.15 they have one name.
func (g *Notifier) unixTo(id uint64, c caller, socket *os.File) {
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
func (g *Notifier) awaitUnix(id uint64, c caller, fd int, to unix.Sockaddr) {
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

// printable is a path of the caller's for people.
func printable(path string) string {
	quoted := strconv.QuoteToGraphic(path)
	return quoted[1 : len(quoted)-1]
}
