package confine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/sandbox/capabilities"
)

// The structures of linux/seccomp.h for SECCOMP_RET_USER_NOTIF.
type (
	notification struct {
		id            uint64
		thread, flags uint32
		number        int32
		arch          uint32
		instruction   uint64
		args          [6]uint64
	}
	response struct {
		id    uint64
		value int64
		errno int32 // negative
		flags uint32
	}
	addition struct {
		id              uint64
		flags           uint32
		from, to, extra uint32
	}
)

const (
	maxWaiting = 2048 // connects that wait for their servers at a time
	maxTold    = 256  // refused addresses that are told, for a child
	maxMade    = 1024 // connections that a second connect is answered for
)

// Notifier answers the connects of one child and of everything it starts, and what
// they do to other processes.
type Notifier struct {
	listener *os.File
	raw      syscall.RawConn
	allowed  *allowed
	speaker  *speaker // nil: the child is none
	refused  func(address, reason string)
	told     map[[2]string]bool
	waiting  chan struct{} // holds a token for each connect that waits
	kept     kept
	servers  servers

	mu    sync.Mutex // of what follows, and of descriptors on their way: they take a thread
	made  map[string]bool
	order []string // of made, oldest first
}

func newNotifier(listener int, d *allowed) (*Notifier, error) {
	if err := unix.SetNonblock(listener, true); err != nil {
		_ = unix.Close(listener)
		return nil, err
	}
	// From Linux 6.6 on: who asks and who answers take turns on one processor.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	g := &Notifier{
		listener: os.NewFile(uintptr(listener), "connects"),
		allowed:  d,
		told:     map[[2]string]bool{},
		waiting:  make(chan struct{}, maxWaiting),
		kept:     kept{byInode: map[string]madeSocket{}},
		servers:  servers{},
		made:     map[string]bool{},
	}
	var err error
	if g.raw, err = g.listener.SyscallConn(); err != nil {
		_ = g.listener.Close()
		return nil, err
	}
	return g, nil
}

// Behind calls fork on a thread under the policy, so that the child is under
// it, and nobody else. The notifier answers for the child: Serve it. It is nil
// where nothing can be asked, or the child was not started. An error of fork's
// comes back as it is, one of the policy's has no errno.
func Behind(w Policy, fork func() error) (*Notifier, error) {
	abi, reason := Available()
	if abi == 0 && w.Strict {
		return nil, fmt.Errorf("isolation is strict, but file access cannot be restricted: %s", reason)
	}
	files := func() error {
		if abi == 0 {
			return nil
		}
		if err := confine(w, abi); err != nil {
			return fmt.Errorf("restrict file access: %s", err) // its errno is not the child's
		}
		return nil
	}
	network := w.Network
	if network == nil {
		network = &Network{Sockets: w.ReadWrite}
	}
	d, err := openAllowed(*network)
	if err != nil {
		return nil, fmt.Errorf("restrict network access: %s", err)
	}
	d.open = w.Network == nil
	g, err := behind(func() (*Notifier, error) {
		if d.open {
			return askOthers(w.Strict, abi, d)
		}
		return askNetwork(d)
	}, files, fork)
	if g == nil {
		d.close()
	}
	return g, err
}

// behind is Behind with the filter that puts itself on the thread, and with whatever
// files puts up.
func behind(filter func() (*Notifier, error), files, fork func() error) (g *Notifier, err error) {
	err = onThread(func() error {
		if err := noNewPrivileges(); err != nil {
			return err
		}
		if err := capabilities.Limit(); err != nil {
			return fmt.Errorf("drop capabilities: %s", err)
		}
		if err := files(); err != nil {
			return err
		}
		if g, err = filter(); err != nil {
			return err
		}
		err := fork()
		if err != nil && g != nil {
			g.Close()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// askNetwork puts the filter of a network restriction on the calling thread.
func askNetwork(d *allowed) (*Notifier, error) {
	g, err := ask(asks{others: true, network: true}, d)
	if err != nil {
		return nil, fmt.Errorf("restrict network access: %s", err)
	}
	return g, nil
}

// askOthers puts the filter of an open network on the calling thread. Where nobody can
// be asked, the filter does what it can alone. Strict refuses where there is none, and
// where nothing else keeps signals inside.
func askOthers(strict bool, abi int, d *allowed) (*Notifier, error) {
	g, err := ask(asks{others: true, sockets: canHold()}, d)
	if err != nil && strict && abi < scopeABI {
		return nil, fmt.Errorf("isolation is strict, but signals to other processes cannot be refused: Landlock ABI %d does not, and %s", abi, err)
	}
	if err != nil && architecture() != 0 {
		_, err = installFilter(filterFor(asks{}), 0)
	}
	if err != nil && strict {
		return nil, fmt.Errorf("isolation is strict, but there is no filter of system calls: %s", explainFilter(err))
	}
	return g, nil
}

// ask puts a filter on the calling thread, and has its questions come to a notifier.
func ask(what asks, d *allowed) (*Notifier, error) {
	if architecture() == 0 {
		return nil, unix.ENOSYS
	}
	listener, err := installFilter(filterFor(what), unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	if err != nil {
		return nil, explainFilter(err)
	}
	return newNotifier(listener, d)
}

// onThread runs f on a thread that ends with it and that nothing else ever runs
// on: what f does to the thread is inherited by what it forks, and by nobody
// else. Never the first thread, which cannot end and stands for the process.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if unix.Gettid() == unix.Getpid() {
			done <- onThread(f) // another one, while this is held
			runtime.UnlockOSThread()
			return
		}
		done <- f()
	}()
	return <-done
}

func noNewPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %s", err)
	}
	return nil
}

// Serve answers until the last one that could ask is gone, or Close. refused is
// called from this goroutine.
func (g *Notifier) Serve(refused func(address, reason string)) {
	g.refused = refused
	defer g.allowed.close()
	defer g.listener.Close()
	defer g.kept.close()
	for {
		n, err := g.receive()
		if err != nil {
			return
		}
		switch {
		case n.thread == 0: // out of our sight, in another PID namespace
			_ = g.reply(n.id, unix.EACCES)
		case n.number == unix.SYS_SOCKET:
			g.create(&n)
		case n.number == unix.SYS_CONNECT && g.allowed.open:
			g.answerOpen(&n)
		case n.number == unix.SYS_CONNECT:
			g.answer(&n)
		case n.number == unix.SYS_BIND, n.number == unix.SYS_LISTEN:
			g.release(&n)
		default:
			g.answerOthers(&n)
		}
	}
}

// Close ends Serve. Whoever asks after it is told that there is no connect.
func (g *Notifier) Close() { _ = g.listener.Close() }

// receive waits for a question. Reading one that was taken back meanwhile would
// wait for the next, with a thread: so it never reads before poll says so.
func (g *Notifier) receive() (n notification, err error) {
	for {
		var got error
		err := g.raw.Read(func(fd uintptr) bool {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if _, got = unix.Poll(poll, 0); got != nil {
				return true
			}
			switch events := poll[0].Revents; {
			case events&unix.POLLIN != 0:
				n = notification{}
				got = control(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n))
				return true
			case events != 0:
				got = os.ErrClosed
				return true
			}
			return false
		})
		switch {
		case err != nil:
			return n, err
		case got == nil:
			return n, nil
		case errors.Is(got, unix.ENOENT) || errors.Is(got, unix.EINTR): // taken back
		default:
			return n, got
		}
	}
}

// valid reports whether the question still waits for its answer.
func (g *Notifier) valid(id uint64) bool {
	return g.control(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&id)) == nil
}

// reply is the result of the caller's connect; 0 is success. The error says that
// nobody waits for it any more.
func (g *Notifier) reply(id uint64, errno unix.Errno) error {
	r := response{id: id, errno: -int32(errno)}
	return g.control(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
}

// add gives the caller a descriptor, one at a time. A signal while the kernel
// waits for the caller to take it would have an addition with an answer count as
// answered, with 0 for a descriptor (seccomp_notify_addfd in Linux 6.18), so
// there is none: those of the runtime and of children come later.
func (g *Notifier) add(a *addition) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before); err != nil {
		return err
	}
	err := g.control(unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(a))
	return errors.Join(err, unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil))
}

// control keeps the listener open while it is used.
func (g *Notifier) control(request uintptr, arg unsafe.Pointer) (err error) {
	if closed := g.raw.Control(func(fd uintptr) { err = control(fd, request, arg) }); closed != nil {
		return closed
	}
	return err
}

func control(fd, request uintptr, arg unsafe.Pointer) error {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(arg))
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
		default:
			return errno
		}
	}
}
