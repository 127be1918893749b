package confine

import (
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const tcpTable = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
	"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 4711 1 0000000000000000 100 0 0 10 0\n" +
	"   1: 0100007F:8AE2 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 4712 1 0000000000000000 20 4 30 10 -1\n"

func TestReadTCP(t *testing.T) {
	t.Parallel()
	var got []tcpSocket
	err := readTCP(strings.NewReader(tcpTable), func(s tcpSocket) bool { got = append(got, s); return true })
	if err != nil || len(got) != 2 || got[0] != (tcpSocket{8080, stateListen, "4711"}) || got[1] != (tcpSocket{0x8ae2, "01", "4712"}) {
		t.Errorf("readTCP() = %+v, %v", got, err)
	}
	for _, line := range []string{"0: 0100007F:1F90 0A", "0: x:y z 0A a b c d e f g"} {
		if err := readTCP(strings.NewReader("head\n"+line+"\n"), func(tcpSocket) bool { return true }); err == nil {
			t.Errorf("readTCP(%q) = nil, want an error: no listener may be overlooked", line)
		}
	}
}

func FuzzReadTCP(f *testing.F) {
	f.Add(tcpTable)
	f.Add("head\n0: 00000000000000000000000001000000:0016 0:0 0A 0:0 0:0 0 0 0 1\n")
	f.Fuzz(func(t *testing.T, table string) {
		n := 0
		_ = readTCP(strings.NewReader(table), func(tcpSocket) bool { n++; return n < 100 })
		if n > strings.Count(table, "\n")+1 {
			t.Errorf("readTCP(%q) found %d sockets", table, n)
		}
	})
}

// TestListening: both ways find a listener, on IPv4 and IPv6.
func TestListening(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			if strings.Contains(address, "::1") {
				continue // this machine has no IPv6
			}
			t.Fatal(err)
		}
		defer l.Close()
		port := uint16(l.Addr().(*net.TCPAddr).Port)
		inode := socketInode(t, l.(*net.TCPListener))
		for _, asked := range []uint16{0, port} {
			byTable, err := listeningByTable(asked)
			if err != nil || byTable[inode] != port || asked != 0 && len(byTable) != 1 {
				t.Errorf("listeningByTable(%d) = %v, %v, want %s on %d", asked, byTable, err, inode, port)
			}
			bySocket, err := listeningBySocket(asked)
			if err != nil {
				t.Logf("no sock_diag here: %v", err)
			} else if bySocket[inode] != port || asked != 0 && len(bySocket) != 1 {
				t.Errorf("listeningBySocket(%d) = %v, want %s on %d", asked, bySocket, inode, port)
			}
		}
	}
}

// socketInode is the inode of a socket, as /proc and the kernel's tables write it.
func socketInode(t *testing.T, c syscall.Conn) string {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var stat unix.Stat_t
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = unix.Fstat(int(fd), &stat) }); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return strconv.FormatUint(stat.Ino, 10)
}

// Of two servers that share a port the kernel chooses one for each connection.
func TestServers(t *testing.T) {
	t.Parallel()
	share := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		_ = c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
		return err
	}}
	listen := func(address string) *net.TCPListener {
		l, err := share.Listen(t.Context(), "tcp4", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l.(*net.TCPListener)
	}
	s := servers{}
	want := func(when string, port uint16, wantListens, wantOwn bool) {
		t.Helper()
		if listens, own, err := s.only(port); err != nil || listens != wantListens || own != wantOwn {
			t.Errorf("%s: only() = %v, %v, %v, want %v, %v", when, listens, own, err, wantListens, wantOwn)
		}
	}
	first := listen("127.0.0.1:0")
	port := uint16(first.Addr().(*net.TCPAddr).Port)
	want("a foreign server", port, true, false)
	s.add(socketInode(t, first))
	want("an own server", port, true, true)
	second := listen(first.Addr().String())
	want("an own server and a foreign one", port, true, false)
	s.add(socketInode(t, second))
	want("two own servers", port, true, true)
	// A child of another test holds a closed socket as well, between its fork and
	// its exec.
	gone := func(l *net.TCPListener, left func() bool) {
		t.Helper()
		_ = l.Close()
		for deadline := time.Now().Add(10 * time.Second); left() && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
	}
	gone(first, func() bool { s.forget(); return len(s) > 1 })
	if len(s) != 1 {
		t.Errorf("after one was closed %d servers are known, want 1", len(s))
	}
	gone(second, func() bool { listens, _, _ := s.only(port); return listens })
	want("no server", port, false, true)
	for i := range 2 * maxServers {
		s.add(strconv.Itoa(-i))
	}
	if len(s) > maxServers {
		t.Errorf("%d servers are known, want %d at most", len(s), maxServers)
	}
}
