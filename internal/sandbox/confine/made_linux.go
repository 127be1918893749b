package confine

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// finish is give, and forgets the socket.
func (g *Notifier) finish(id uint64, c caller, fd int, errno unix.Errno) {
	g.give(id, c, fd, errno)
	_ = unix.Close(fd)
}

// give puts the socket in the place of the caller's own, if it is not that
// already, and answers.
func (g *Notifier) give(id uint64, c caller, fd int, errno unix.Errno) {
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
	if c.own < 0 {
		a := addition{id: id, flags: unix.SECCOMP_ADDFD_FLAG_SETFD, from: uint32(fd), to: uint32(c.fd)}
		if c.cloexec {
			a.extra = unix.O_CLOEXEC
		}
		if err := g.add(&a); err != nil {
			_ = g.reply(id, number(err))
			return
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.remember(inode)
	if err := g.reply(id, errno); err == nil && errno == 0 {
		g.made[inode] = true
	}
}

func (g *Notifier) remember(inode string) {
	if len(g.order) == maxMade {
		delete(g.made, g.order[0])
		g.order = g.order[1:]
	}
	g.made[inode] = false
	g.order = append(g.order, inode)
}

// again is the answer to a second connect of what we have connected already: a
// program's way to ask how the first one went, or the first one again after a
// signal. known is false for every other socket.
func (g *Notifier) again(inode string) (errno unix.Errno, known bool) {
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
