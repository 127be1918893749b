package proc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// netSpec is what the programs below are told: addresses of the test's.
type netSpec struct {
	Forbidden, Proxy, Named netip.AddrPort // TCP; they listened before the sandboxed process started
	Inside, Outside         string         // unix sockets
	Link                    string         // inside, to Outside
	Seqpacket, Datagram     string         // inside
	Abstract                string
	Folder                  string // of Inside
}

func init() {
	programs["network"] = network
	programs["network-race"] = networkRace
	programs["network-many"] = networkMany
	programs["network-dies"] = networkDies
	programs["network-connects"] = func(args []string) int {
		fmt.Println("result:", word(dial(netip.MustParseAddrPort(args[1]))))
		return 0
	}
	programs["network-later"] = func([]string) int { // of a server it is told of when it runs
		fmt.Println("ready")
		var address string
		if _, err := fmt.Scanln(&address); err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println("result:", word(dial(netip.MustParseAddrPort(address))))
		return 0
	}
	programs["network-hides"] = func(args []string) int {
		err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
		if err == nil {
			err = dial(netip.MustParseAddrPort(args[1]))
		}
		fmt.Println("result:", word(err))
		return 0
	}
	programs["network-grandchild"] = func(args []string) int {
		cmd := exec.Command(os.Args[0], "program", "network-connects", args[0], args[1])
		cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, &syscall.SysProcAttr{Setsid: true}
		if cmd.Run() != nil {
			return 1
		}
		return 0
	}
	programs["network-bench"] = func(args []string) int {
		to, stop, err := local()
		if err != nil {
			return 1
		}
		defer stop()
		rounds, _ := strconv.Atoi(args[1])
		sa, _ := sockaddr(to)
		begin := time.Now()
		for range rounds {
			if err := connectNew(unix.AF_INET, sa); err != nil {
				return 1
			}
		}
		fmt.Println(time.Since(begin).Microseconds())
		return 0
	}
	programs["network-floods"] = func([]string) int {
		for i := range 5_000 {
			_ = dial(netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), uint16(i)))
		}
		return 0
	}
	programs["network-nested"] = func(args []string) int {
		said := [3]string{}
		policy := confine.DefaultPolicy([]string{"/tmp"}, nil)
		policy.Strict, policy.Network = args[1] == "true", &confine.Network{}
		s, err := proc.Start(context.Background(), proc.Options{Policy: &policy, Env: []string{quickExit}})
		if err == nil {
			if _, err = s.Run(context.Background(), shell("true")); err == nil {
				said[1], said[2] = s.OpenNetwork(), s.Unprotected()
			}
			_ = s.Close()
		}
		if err != nil {
			said[0] = err.Error()
		}
		_ = json.NewEncoder(os.Stdout).Encode(said)
		return 0
	}
	programs["network-int80"] = func([]string) int { fmt.Println("result:", int80()); return 0 }
}

// word is the name of an error: "ok", an errno's, or all of it.
func word(err error) string {
	var errno unix.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

func sockaddr(a netip.AddrPort) (unix.Sockaddr, int) {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}, unix.AF_INET
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}, unix.AF_INET6
}

// dial connects with a blocking socket, and sends and receives a byte where that
// works.
func dial(to netip.AddrPort) error {
	sa, family := sockaddr(to)
	fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, sa); err != nil {
		return err
	}
	return echoed(fd)
}

func echoed(fd int) error {
	b := []byte{7}
	if _, err := unix.Write(fd, b); err != nil {
		return err
	}
	n, err := unix.Read(fd, b)
	if err == nil && (n != 1 || b[0] != 7) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func dialUnix(kind int, path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, kind, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return err
	}
	return echoed(fd)
}

func socket(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind, protocol)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

// rawConnect is connect with arguments no library would pass.
func rawConnect(fd int, pointer, size uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), pointer, size); errno != 0 {
		return errno
	}
	return nil
}

func tcpSocket(flags int) int {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|flags, 0)
	if err != nil {
		panic(err)
	}
	return fd
}

// network tries everything and says what came of it.
func network(args []string) int {
	var s netSpec
	if err := json.Unmarshal([]byte(args[1]), &s); err != nil {
		fmt.Println(err)
		return 1
	}
	said := map[string]string{}
	for name, attempt := range attempts(s) {
		said[name] = word(attempt())
	}
	_ = json.NewEncoder(os.Stdout).Encode(said)
	return 0
}

func attempts(s netSpec) map[string]func() error {
	port := func(host string, like netip.AddrPort) netip.AddrPort {
		return netip.AddrPortFrom(netip.MustParseAddr(host), like.Port())
	}
	tcp := func(host string, like netip.AddrPort) func() error {
		return func() error { return dial(port(host, like)) }
	}
	to := func(address string) func() error {
		return func() error { return dial(netip.MustParseAddrPort(address)) }
	}
	create := func(family, kind, protocol int) func() error {
		return func() error { return socket(family, kind, protocol) }
	}
	call := func(number uintptr) func() error {
		return func() error {
			if _, _, errno := unix.Syscall6(number, 0, 0, 0, 0, 0, 0); errno != 0 {
				return errno
			}
			return nil
		}
	}
	a := map[string]func() error{
		"tcp: listened before":                 tcp("127.0.0.1", s.Forbidden),
		"tcp: listened before, 127.9.8.7":      tcp("127.9.8.7", s.Forbidden),
		"tcp: listened before, 0.0.0.0":        tcp("0.0.0.0", s.Forbidden),
		"tcp: listened before, ::ffff:0.0.0.0": tcp("::ffff:0.0.0.0", s.Forbidden),
		"tcp: listened before, ::ffff:127":     tcp("::ffff:127.0.0.1", s.Forbidden),
		"tcp: listened before, ::":             tcp("::", s.Forbidden),
		"tcp: listened before, ::1":            tcp("::1", s.Forbidden),
		"tcp: proxy":                           tcp("127.0.0.1", s.Proxy),
		"tcp: proxy, ::ffff:127":               tcp("::ffff:127.0.0.1", s.Proxy),
		"tcp: proxy's port on 127.0.0.2":       tcp("127.0.0.2", s.Proxy),
		"tcp: proxy's port elsewhere":          tcp("192.0.2.1", s.Proxy),
		"tcp: named port":                      tcp("127.0.0.1", s.Named),
		"tcp: named port elsewhere":            tcp("192.0.2.1", s.Named),
		"tcp: elsewhere":                       to("192.0.2.1:443"),
		"tcp: metadata service":                to("169.254.169.254:80"),
		"tcp: elsewhere, IPv6":                 to("[2001:db8::1]:443"),
		"tcp: elsewhere, IPv4 in IPv6":         to("[::ffff:192.0.2.1]:443"),
		"tcp: name service":                    to("127.0.0.53:53"),
		"tcp: nobody listens":                  to("127.0.0.1:1"),
		"udp":                                  create(unix.AF_INET, unix.SOCK_DGRAM, 0),
		"udp, IPv6":                            create(unix.AF_INET6, unix.SOCK_DGRAM, 0),
		"udp, flags":                           create(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0),
		"icmp":                                 create(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP),
		"raw":                                  create(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP),
		"packet":                               create(unix.AF_PACKET, unix.SOCK_RAW, 0),
		"vsock":                                create(unix.AF_VSOCK, unix.SOCK_STREAM, 0),
		"alg":                                  create(unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
		"mptcp":                                create(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP),
		"sctp":                                 create(unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_SCTP),
		"tcp: high bits of the type":           func() error { return wideSocket(unix.AF_INET, unix.SOCK_DGRAM) },
		"netlink: routes":                      create(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE),
		"netlink: sock_diag":                   create(unix.AF_NETLINK, unix.SOCK_RAW, 4),
		"netlink: audit":                       create(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT),
		"interfaces":                           func() error { _, err := net.Interfaces(); return err },
		"fast open: sendto": func() error {
			sa, _ := sockaddr(s.Forbidden)
			return unix.Sendto(tcpSocket(0), []byte("x"), unix.MSG_FASTOPEN, sa)
		},
		"fast open: sendmsg": func() error {
			sa, _ := sockaddr(s.Forbidden)
			return unix.Sendmsg(tcpSocket(0), []byte("x"), nil, sa, unix.MSG_FASTOPEN)
		},
		"fast open: sendmmsg": func() error {
			_, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(tcpSocket(0)), 0, 1, unix.MSG_FASTOPEN, 0, 0)
			return errno
		},
		"fast open: by connect": func() error {
			fd := tcpSocket(0)
			return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1)
		},
		"unix: inside":          func() error { return dialUnix(unix.SOCK_STREAM, s.Inside) },
		"unix: seqpacket":       func() error { return dialUnix(unix.SOCK_SEQPACKET, s.Seqpacket) },
		"unix: outside":         func() error { return dialUnix(unix.SOCK_STREAM, s.Outside) },
		"unix: link to outside": func() error { return dialUnix(unix.SOCK_STREAM, s.Link) },
		"unix: dots to outside": func() error {
			return dialUnix(unix.SOCK_STREAM, s.Folder+"/../"+filepath.Base(filepath.Dir(s.Outside))+"/socket")
		},
		"unix: link inside":        func() error { return dialUnix(unix.SOCK_STREAM, s.Link+"-in") },
		"unix: near link":          func() error { return dialUnix(unix.SOCK_STREAM, "link-near") },
		"unix: loop":               func() error { return dialUnix(unix.SOCK_STREAM, "link-loop") },
		"unix: through a folder":   func() error { return dialUnix(unix.SOCK_STREAM, s.Link+"-dir/socket") },
		"unix: relative":           func() error { return dialUnix(unix.SOCK_STREAM, "inside") },
		"unix: relative, outside":  func() error { return dialUnix(unix.SOCK_STREAM, "link") },
		"unix: missing":            func() error { return dialUnix(unix.SOCK_STREAM, s.Folder+"/missing") },
		"unix: missing outside":    func() error { return dialUnix(unix.SOCK_STREAM, "/no/such/socket") },
		"unix: through a link":     func() error { return dialUnix(unix.SOCK_STREAM, "/proc/self/root"+s.Outside) },
		"unix: abstract":           func() error { return dialUnix(unix.SOCK_STREAM, s.Abstract) },
		"unix: datagram":           create(unix.AF_UNIX, unix.SOCK_DGRAM, 0),
		"unix: raw":                create(unix.AF_UNIX, unix.SOCK_RAW, 0),
		"unix: pair":               func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err },
		"unix: pair of datagrams":  func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0); return err },
		"unix: address of TCP":     func() error { sa, _ := sockaddr(s.Forbidden); return connectNew(unix.AF_UNIX, sa) },
		"tcp: address of unix":     func() error { return connectNew(unix.AF_INET, &unix.SockaddrUnix{Name: s.Inside}) },
		"tcp: address of IPv6":     func() error { return connectNew(unix.AF_INET, &unix.SockaddrInet6{Port: 1}) },
		"connect: no memory":       func() error { return rawConnect(tcpSocket(0), 16, 16) },
		"connect: no length":       func() error { return rawConnect(tcpSocket(0), 16, 0) },
		"connect: huge length":     func() error { return rawConnect(tcpSocket(0), 16, 1<<31-1) },
		"connect: negative length": func() error { return rawConnect(tcpSocket(0), 16, ^uintptr(0)) },
		"connect: closed":          func() error { return rawConnect(999, 16, 16) },
		"connect: negative":        func() error { return rawConnect(-1, 16, 16) },
		"connect: unspecified": func() error {
			var any [16]byte
			return rawConnect(tcpSocket(0), uintptr(unsafe.Pointer(&any)), 16)
		},
		"connect: a pipe": func() error {
			sa := &unix.RawSockaddrInet4{Family: unix.AF_INET}
			return rawConnect(0, uintptr(unsafe.Pointer(sa)), 16)
		},
		"io_uring":           call(unix.SYS_IO_URING_SETUP),
		"bpf":                call(unix.SYS_BPF),
		"userfaultfd":        call(unix.SYS_USERFAULTFD),
		"perf":               call(unix.SYS_PERF_EVENT_OPEN),
		"keys":               call(unix.SYS_KEYCTL),
		"file handles":       call(unix.SYS_OPEN_BY_HANDLE_AT),
		"pidfd_getfd":        call(unix.SYS_PIDFD_GETFD),
		"local, blocking":    localBlocking,
		"local, nonblocking": localNonblocking,
		"local, go":          localGo,
		"local, refused":     localRefused,
		"local, watched":     localWatched,
		"local, bound":       localBound,
		"local, many open":   localManyOpen,
		"local, free port":   localFreePort,
		"local, options":     localOptions,
		"local, signals":     localSignals,
		"route: of an option": func() error { // loose source route by way of 192.0.2.1
			return unix.SetsockoptString(tcpSocket(0), unix.IPPROTO_IP, unix.IP_OPTIONS, "\x01\x83\x07\x04\xc0\x00\x02\x01")
		},
		"route: of an option, IPv6": func() error {
			fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			return unix.SetsockoptString(fd, unix.IPPROTO_IPV6, unix.IPV6_RTHDR, strings.Repeat("\x00", 24))
		},
		"route: by a device": func() error {
			return unix.SetsockoptString(tcpSocket(0), unix.SOL_SOCKET, unix.SO_BINDTODEVICE, "lo")
		},
		"unix: bound": func() error { return boundUnix(s.Folder+"/own", s.Inside) },
	}
	if runtime.GOARCH == "amd64" {
		a["x32"] = call(0x40000000 | unix.SYS_SOCKET)
	}
	return a
}

func connectNew(family int, to unix.Sockaddr) error {
	fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, to)
}

// wideSocket passes what the kernel cuts off.
func wideSocket(family, kind uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_SOCKET, family|1<<32, kind|1<<40, 1<<33); errno != 0 {
		return errno
	}
	return nil
}

// echo serves what echoed sends.
func echo(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_, _ = io.Copy(c, c)
		}()
	}
}

func local() (to netip.AddrPort, stop func(), err error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return to, nil, err
	}
	go echo(l)
	return l.Addr().(*net.TCPAddr).AddrPort(), func() { _ = l.Close() }, nil
}

func localBlocking() error {
	to, stop, err := local()
	if err != nil {
		return err
	}
	defer stop()
	sa, _ := sockaddr(to)
	fd := tcpSocket(unix.SOCK_CLOEXEC)
	defer unix.Close(fd)
	if err := unix.Connect(fd, sa); err != nil {
		return err
	}
	if err := unix.Connect(fd, sa); !errors.Is(err, unix.EISCONN) {
		return fmt.Errorf("a second connect: %w", err)
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
		return fmt.Errorf("its flags are %#x, %w", flags, err)
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		return fmt.Errorf("its descriptor's flags are %#x, %w", flags, err)
	}
	return echoed(fd)
}

func localNonblocking() error {
	to, stop, err := local()
	if err != nil {
		return err
	}
	defer stop()
	sa, _ := sockaddr(to)
	fd := tcpSocket(unix.SOCK_NONBLOCK)
	defer unix.Close(fd)
	if err := unix.Connect(fd, sa); !errors.Is(err, unix.EINPROGRESS) {
		return fmt.Errorf("connect: %w", err)
	}
	if err := writable(fd); err != nil {
		return err
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK == 0 {
		return fmt.Errorf("its flags are %#x, %w", flags, err)
	}
	for _, want := range []error{nil, unix.EISCONN} { // as the kernel answers
		if err := unix.Connect(fd, sa); !errors.Is(err, want) {
			return fmt.Errorf("connect again: %w, want %w", err, want)
		}
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		return err
	}
	return echoed(fd)
}

func writable(fd int) error {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	for {
		n, err := unix.Poll(poll, 10_000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n != 1 {
			return fmt.Errorf("poll: %d, %w", n, err)
		}
		value, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if err != nil {
			return err
		}
		if value != 0 {
			return unix.Errno(value)
		}
		return nil
	}
}

func localGo() error {
	to, stop, err := local()
	if err != nil {
		return err
	}
	defer stop()
	c, err := net.DialTimeout("tcp", to.String(), 10*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte("hello")); err != nil {
		return err
	}
	b := make([]byte, 5)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
		return fmt.Errorf("%q, %w", b, err)
	}
	return nil
}

func localRefused() error {
	to, stop, err := local()
	if err != nil {
		return err
	}
	stop() // nobody listens there any more
	sa, _ := sockaddr(to)
	if err := connectNew(unix.AF_INET, sa); !errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("blocking: %w", err)
	}
	fd := tcpSocket(unix.SOCK_NONBLOCK)
	defer unix.Close(fd)
	if err := unix.Connect(fd, sa); !errors.Is(err, unix.EINPROGRESS) {
		return fmt.Errorf("connect: %w", err)
	}
	return writable(fd)
}

// localWatched is watched by epoll before it is connected.
func localWatched() error {
	to, stop, err := local()
	if err != nil {
		return err
	}
	defer stop()
	sa, _ := sockaddr(to)
	fd := tcpSocket(unix.SOCK_NONBLOCK)
	defer unix.Close(fd)
	ep, err := unix.EpollCreate1(0)
	if err != nil {
		return err
	}
	defer unix.Close(ep)
	watch := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLET, Fd: int32(fd)}
	if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &watch); err != nil {
		return err
	}
	if err := unix.Connect(fd, sa); !errors.Is(err, unix.EINPROGRESS) {
		return fmt.Errorf("connect: %w", err)
	}
	if err := waitFor(ep, unix.EPOLLOUT); err != nil {
		return err
	}
	if _, err := unix.Write(fd, []byte{7}); err != nil {
		return err
	}
	return waitFor(ep, unix.EPOLLIN)
}

func waitFor(ep int, event uint32) error {
	for range 1000 {
		var events [1]unix.EpollEvent
		n, err := unix.EpollWait(ep, events[:], 10_000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return fmt.Errorf("epoll: %d, %w", n, err)
		}
		if events[0].Events&unix.EPOLLHUP == 0 && events[0].Events&event != 0 { // before the connect it is hung up
			return nil
		}
	}
	return unix.ETIME
}

// localBound connects sockets that are bound, which lose that.
func localBound() error {
	to, stop, err := local()
	if err != nil {
		return err
	}
	defer stop()
	sa, _ := sockaddr(to)
	for _, flags := range []int{0, unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC} {
		fd := tcpSocket(flags)
		defer unix.Close(fd)
		if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			return err
		}
		if err := unix.Connect(fd, sa); err != nil && (flags == 0 || !errors.Is(err, unix.EINPROGRESS)) {
			return err
		}
		if err := writable(fd); err != nil {
			return err
		}
		if got, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || got&unix.O_NONBLOCK != flags&unix.O_NONBLOCK {
			return fmt.Errorf("its flags are %#x, %w", got, err)
		}
		if got, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || got&unix.FD_CLOEXEC != flags/unix.SOCK_CLOEXEC&1 {
			return fmt.Errorf("its descriptor's flags are %#x, %w", got, err)
		}
		if err := unix.SetNonblock(fd, false); err != nil {
			return err
		}
		if err := echoed(fd); err != nil {
			return err
		}
	}
	return nil
}

// localManyOpen has more sockets than the notifier holds on to.
func localManyOpen() error {
	to, stop, err := local()
	if err != nil {
		return err
	}
	defer stop()
	sa, _ := sockaddr(to)
	var fds []int
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}()
	for range 700 {
		fds = append(fds, tcpSocket(unix.SOCK_CLOEXEC))
	}
	for _, fd := range []int{fds[0], fds[699]} {
		if err := unix.Connect(fd, sa); err != nil {
			return err
		}
		if err := echoed(fd); err != nil {
			return err
		}
	}
	return nil
}

// localFreePort looks for a port that is free, as servers in tests do, and
// listens there: nobody else holds on to it.
func localFreePort() error {
	for range 2 {
		fd := tcpSocket(0)
		if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			return err
		}
		name, err := unix.Getsockname(fd)
		if err != nil {
			return err
		}
		_ = unix.Close(fd)
		fd = tcpSocket(0) // it would be taken
		if err := errors.Join(unix.Bind(fd, name), unix.Listen(fd, 1), unix.Close(fd)); err != nil {
			return err
		}
	}
	fd := tcpSocket(0) // without bind
	if err := unix.Listen(fd, 1); err != nil {
		return err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	_ = unix.Close(fd)
	if err := connectNew(unix.AF_INET, name); !errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("a listener that is closed: %w", err)
	}
	return nil
}

// localOptions keep their values over the connect.
func localOptions() error {
	to, stop, err := local()
	if err != nil {
		return err
	}
	defer stop()
	sa, _ := sockaddr(to)
	fd := tcpSocket(0)
	defer unix.Close(fd)
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 17); err != nil {
		return err
	}
	if err := unix.Connect(fd, sa); err != nil {
		return err
	}
	if n, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL); err != nil || n != 17 {
		return fmt.Errorf("TCP_KEEPINTVL is %d, %w", n, err)
	}
	return echoed(fd)
}

// localSignals connects while a clock keeps interrupting.
func localSignals() error {
	to, stop, err := local()
	if err != nil {
		return err
	}
	defer stop()
	alarms := make(chan os.Signal, 1)
	signal.Notify(alarms, syscall.SIGALRM)
	defer signal.Stop(alarms)
	every := unix.Timeval{Usec: 500}
	if _, err := unix.Setitimer(unix.ITIMER_REAL, unix.Itimerval{Interval: every, Value: every}); err != nil {
		return err
	}
	defer func() { _, _ = unix.Setitimer(unix.ITIMER_REAL, unix.Itimerval{}) }()
	for range 300 {
		c, err := net.Dial("tcp", to.String())
		if err != nil {
			return err
		}
		_ = c.Close()
	}
	return nil
}

func boundUnix(own, to string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: own}); err != nil {
		return err
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: to}); err != nil {
		return err
	}
	return echoed(fd)
}

// networkRace rewrites the address while it is being connected to.
func networkRace(args []string) int {
	forbidden, allowed := netip.MustParseAddrPort(args[1]), netip.MustParseAddrPort(args[2])
	var wg sync.WaitGroup
	stop := make(chan struct{})
	sa := &unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: [4]byte{127, 0, 0, 1}}
	ports := [2]uint16{forbidden.Port(), allowed.Port()}
	for range 2 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					rewrite(sa, ports[i%2])
				}
			}
		})
	}
	count := map[string]int{}
	var mu sync.Mutex
	var connects sync.WaitGroup
	for range 4 {
		connects.Go(func() {
			for range 500 {
				fd := tcpSocket(unix.SOCK_CLOEXEC)
				err := rawConnect(fd, uintptr(unsafe.Pointer(sa)), unix.SizeofSockaddrInet4)
				_ = unix.Close(fd)
				mu.Lock()
				count[word(err)]++
				mu.Unlock()
			}
		})
	}
	connects.Wait()
	close(stop)
	wg.Wait()
	_ = json.NewEncoder(os.Stdout).Encode(count)
	return 0
}

// rewrite is a race that is meant.
//
//go:norace
func rewrite(sa *unix.RawSockaddrInet4, port uint16) {
	sa.Port = port<<8 | port>>8
}

// networkMany makes a thousand connects at once, half of them to a server that
// is slow to accept.
func networkMany(args []string) int {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	go echo(l)
	to := l.Addr().(*net.TCPAddr).AddrPort()
	count := map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			err := error(nil)
			if i%2 == 0 {
				err = dial(to)
			} else {
				var c net.Conn
				if c, err = net.Dial("tcp4", to.String()); err == nil {
					_ = c.Close()
				}
			}
			mu.Lock()
			count[word(err)]++
			mu.Unlock()
		})
	}
	wg.Wait()
	_ = json.NewEncoder(os.Stdout).Encode(count)
	return 0
}

// networkDies leaves connects behind in every state: callers that are killed and
// stopped in the middle, a server whose backlog is full.
func networkDies(args []string) int {
	server := tcpSocket(unix.SOCK_CLOEXEC)
	if err := errors.Join(unix.Bind(server, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(server, 0)); err != nil {
		fmt.Println(err)
		return 1
	}
	name, err := unix.Getsockname(server)
	if err != nil {
		return 1
	}
	full := fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
	var children []*exec.Cmd
	for range 8 {
		cmd := exec.Command(os.Args[0], "program", "network-connects", args[0], full)
		if err := cmd.Start(); err != nil {
			fmt.Println(err)
			return 1
		}
		children = append(children, cmd)
	}
	time.Sleep(300 * time.Millisecond) // they hang
	for i, cmd := range children {
		_ = cmd.Process.Signal([]os.Signal{syscall.SIGKILL, syscall.SIGSTOP}[i%2])
	}
	fmt.Println("result:", word(dial(netip.MustParseAddrPort(args[1])))) // others do not wait
	return 0
}

func trimResult(s string) string {
	_, s, _ = strings.Cut(s, "result: ")
	return strings.TrimSpace(s)
}
