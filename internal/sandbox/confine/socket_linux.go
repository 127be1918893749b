package confine

import (
	"errors"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxKept bounds the sockets that wait for a connect.
const maxKept = 512

// kept are sockets the notifier made for its callers and holds on to until they are
// connected, so that it is the caller's own socket that gets the connection,
// with its options and with whoever watches it already. What a caller binds or
// listens on is let go: only the caller's close may end that.
type kept struct {
	byInode map[string]madeSocket
	order   []string // oldest first; some may be gone
}

type madeSocket struct {
	fd       int
	protocol string
}

func (k *kept) keep(inode string, s madeSocket) {
	if len(k.order) == maxKept {
		k.drop(k.order[0])
		k.order = k.order[1:]
	}
	k.byInode[inode] = s
	k.order = append(k.order, inode)
}

// putBack keeps a socket on that was taken.
func (k *kept) putBack(inode string, s madeSocket) {
	if slices.Contains(k.order, inode) {
		k.byInode[inode] = s
	} else {
		k.keep(inode, s)
	}
}

// take hands over the socket, which is then the taker's to close.
func (k *kept) take(inode string) (s madeSocket, ok bool) {
	s, ok = k.byInode[inode]
	delete(k.byInode, inode)
	return s, ok
}

func (k *kept) drop(inode string) {
	if s, ok := k.take(inode); ok {
		_ = unix.Close(s.fd)
	}
}

func (k *kept) close() {
	for inode := range k.byInode {
		k.drop(inode)
	}
	k.order = nil
}

// create makes a socket for the caller. What kinds there are has been decided by
// the filter, on the same arguments.
func (g *Notifier) create(n *notification) {
	family, kind, protocol := int(int32(uint32(n.args[0]))), int(int32(uint32(n.args[1]))), int(int32(uint32(n.args[2])))
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) { // too many of ours: it makes its own
		g.kept.close()
		g.proceed(n.id)
		return
	}
	if err != nil {
		_ = g.reply(n.id, number(err))
		return
	}
	a := addition{id: n.id, flags: unix.SECCOMP_ADDFD_FLAG_SEND, from: uint32(fd), extra: uint32(kind) & unix.O_CLOEXEC}
	err = g.add(&a)
	var st unix.Stat_t
	if err == nil && unix.Fstat(fd, &st) == nil {
		g.kept.keep(strconv.FormatUint(st.Ino, 10), madeSocket{fd, protocolName(family, kind)})
		return
	}
	_ = unix.Close(fd)
	switch {
	case err == nil:
	case errors.Is(err, unix.EINVAL): // before Linux 5.14: then its socket is replaced when it connects
		g.proceed(n.id)
	default:
		_ = g.reply(n.id, number(err))
	}
}

// protocolName is the kernel's.
func protocolName(family, kind int) string {
	switch {
	case family == unix.AF_INET:
		return "TCP"
	case family == unix.AF_INET6:
		return "TCPv6"
	case kind&typeMask == unix.SOCK_STREAM:
		return "UNIX-STREAM"
	}
	return "UNIX"
}

// release is for bind and listen, which every program may. What listens is the
// caller's own to connect to.
func (g *Notifier) release(n *notification) {
	c := caller{thread: int(n.thread), fd: int32(uint32(n.args[0]))}
	if err := c.look(); err == nil && g.valid(n.id) { // else the number may be another thread's by now
		g.kept.drop(c.inode)
		if n.number == unix.SYS_LISTEN {
			g.servers.add(c.inode)
		}
	}
	g.proceed(n.id)
}

// proceed has the kernel do what was asked. Never for a connect: the kernel
// reads its address anew.
func (g *Notifier) proceed(id uint64) {
	r := response{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	_ = g.control(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
}
