package proc_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

func init() { programs["network-open"] = networkOpen }

// networkOpen tries what an open network leaves, and what it does not.
func networkOpen(args []string) int {
	var s netSpec
	if err := json.Unmarshal([]byte(args[1]), &s); err != nil {
		return 1
	}
	unixTo := func(path string) error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	}
	_, datagram := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	said := map[string]string{
		"tcp": word(dial(s.Forbidden)), "tcp, nobody there": word(dial(netip.MustParseAddrPort("127.0.0.1:1"))), "tcp, go": word(closed(net.Dial("tcp", s.Forbidden.String()))),
		"udp": word(datagrams()), "pair": word(pair(s.Datagram)),
		"unix, inside": word(unixTo(s.Inside)), "unix, bound": word(boundUnix(filepath.Join(s.Folder, "mine"), s.Inside)), "unix, go": word(closed(net.Dial("unix", s.Inside))),
		"unix, missing": word(unixTo(s.Inside + "-not")), "unix, outside": word(unixTo(s.Outside)), "unix, link": word(unixTo(s.Link)), "unix, abstract": word(unixTo(s.Abstract)), "unix, datagram": word(datagram),
		"no descriptor": word(unix.Connect(999, &unix.SockaddrUnix{Name: s.Outside})), "no socket": word(unix.Connect(0, &unix.SockaddrUnix{Name: s.Inside})),
		"other family": word(unix.Connect(tcpSocket(0), &unix.SockaddrUnix{Name: s.Outside})),
		"exchanged":    word(exchanged(s)),
	}
	_ = json.NewEncoder(os.Stdout).Encode(said)
	return 0
}

func closed(c net.Conn, err error) error {
	if err == nil {
		err = c.Close()
	}
	return err
}

// datagrams connects a socket of UDP to two servers, one after the other.
func datagrams() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for range 2 {
		server, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return err
		}
		defer server.Close()
		sa, _ := sockaddr(server.LocalAddr().(*net.UDPAddr).AddrPort())
		if err := unix.Connect(fd, sa); err != nil {
			return err
		}
		if _, err := unix.Write(fd, []byte("x")); err != nil {
			return err
		}
		_ = server.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, _, err := server.ReadFrom(make([]byte, 1)); err != nil {
			return err
		}
	}
	return nil
}

// pair sends a datagram to somebody else than the other end of a pair.
func pair(path string) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(fds[0], []byte("x"), 0, &unix.SockaddrUnix{Name: path})
}

type rawAddress [unix.SizeofSockaddrUnix]byte

// exchanged puts another socket, and another address, in the place of those that are
// being connected. It reaches nothing that is told apart here: the test counts.
func exchanged(s netSpec) error {
	place := tcpSocket(unix.SOCK_CLOEXEC)
	var address rawAddress
	var forms [2]rawAddress
	*(*unix.RawSockaddrInet4)(unsafe.Pointer(&forms[0])) = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: s.Forbidden.Port()<<8 | s.Forbidden.Port()>>8, Addr: [4]byte{127, 0, 0, 1}}
	*(*uint16)(unsafe.Pointer(&forms[1])) = unix.AF_UNIX
	copy(forms[1][2:], s.Outside)
	stop := make(chan struct{})
	var wg, connects sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				fd := tcpSocket(unix.SOCK_CLOEXEC)
				if i%2 == 1 {
					_ = unix.Close(fd)
					fd, _ = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
				}
				overwrite(&address, &forms[i%2])
				_ = unix.Dup3(fd, place, unix.O_CLOEXEC)
				_ = unix.Close(fd)
			}
		})
	}
	late := time.Now().Add(5 * time.Second) // an emulated machine gets nowhere else
	for range 4 {
		connects.Go(func() {
			for i := 0; i < 400 && time.Now().Before(late); i++ {
				_ = rawConnect(place, uintptr(unsafe.Pointer(&address)), uintptr(len(address)))
			}
		})
	}
	connects.Wait()
	close(stop)
	wg.Wait()
	return nil
}

// overwrite is a race that is meant.
//
//go:norace
func overwrite(to, from *rawAddress) { *to = *from }

// TestOpenNetwork: an open network opens no unix sockets outside of the sandbox, where
// others act for their user: Docker, systemd, D-Bus.
func TestOpenNetwork(t *testing.T) {
	t.Parallel()
	wantNetwork(t)
	r := newSandbox(t)
	server, _ := tcpListener(t)
	s := netSpec{
		Forbidden: server, Folder: r.work, Inside: filepath.Join(r.work, "inside"), Outside: filepath.Join(r.outside, "docker.sock"),
		Link: filepath.Join(r.work, "link"), Datagram: filepath.Join(r.outside, "notify"), Abstract: "@" + newMark(),
	}
	notify, err := net.ListenPacket("unixgram", s.Datagram)
	if err != nil {
		t.Fatal(err)
	}
	defer notify.Close()
	_, outside := listener(t, "unix", s.Outside)
	_, abstract := listener(t, "unix", s.Abstract)
	listener(t, "unix", s.Inside)
	for _, path := range []string{s.Outside, s.Inside, s.Datagram} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(s.Outside, s.Link); err != nil {
		t.Fatal(err)
	}
	var told refusals
	r.options.Refused = told.add
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	c := program("network-open", newMark(), string(text))
	c.Dir, c.Limits.Time = r.work, 2*time.Minute
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	var said map[string]string
	exit, err := start(t, r.options).Run(t.Context(), c)
	if err != nil || exit.Code != 0 || json.Unmarshal([]byte(out.String()), &said) != nil {
		t.Fatalf("Run() = %+v, %v, it said %q and %q", exit, err, out.String(), errs.String())
	}
	want := map[string]string{
		"unix, outside": "EACCES", "unix, link": "EACCES", "unix, abstract": "EACCES", "unix, datagram": "EACCES", "pair": "EACCES", "unix, missing": "ENOENT",
		"tcp, nobody there": "ECONNREFUSED", "no descriptor": "EBADF", "no socket": "ENOTSOCK", "other family": "EAFNOSUPPORT",
	}
	if !takesDescriptors() {
		want["unix, outside"], want["unix, link"], want["unix, datagram"], want["pair"] = "", "", "", ""
		if abi, _ := confine.Available(); abi < 6 {
			want["unix, abstract"] = ""
		} else {
			want["unix, abstract"] = "EPERM" // Landlock
		}
	}
	for name, got := range said {
		expected := want[name]
		if expected == "" {
			expected = "ok"
		}
		if got != expected {
			t.Errorf("%s = %s, want %s", name, got, expected)
		}
	}
	if len(said) != 17 || takesDescriptors() && (outside.Load() != 0 || abstract.Load() != 0) {
		t.Errorf("it tried %d things, %d and %d connections came through, want none", len(said), outside.Load(), abstract.Load())
	}
	if line := fmt.Sprintf("unix:%s: a container engine is root on the machine: use the job's services, or a step before or after ralph", s.Outside); takesDescriptors() && !slices.Contains(told.all(), line) {
		t.Errorf("Refused was told %q, want %q", told.all(), line)
	}
}

// takesDescriptors reports whether a process may take its children's descriptors. Docker's default
// profile refuses that; there the agent is another user than the owner of such sockets.
func takesDescriptors() bool {
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	if err == nil {
		defer unix.Close(self)
		var fd int
		if fd, err = unix.PidfdGetfd(self, self, 0); err == nil {
			_ = unix.Close(fd)
		}
	}
	return err == nil
}
