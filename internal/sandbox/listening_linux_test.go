package sandbox

import (
	"net"
	"strings"
	"testing"
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
		byTable, err := listeningByTable()
		if err != nil || !byTable[port] {
			t.Errorf("listeningByTable() = %v, %v, want %d in it", byTable, err, port)
		}
		bySocket, err := listeningBySocket()
		if err != nil {
			t.Logf("no sock_diag here: %v", err)
		} else if !bySocket[port] {
			t.Errorf("listeningBySocket() = %v, want %d in it", bySocket, port)
		}
	}
}
