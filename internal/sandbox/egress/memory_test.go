package egress_test

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/egress"
)

// Clients that open all the connections there are, send heads without end, or
// never read what they asked for, cost a bounded amount of memory.
func TestMemoryIsBounded(t *testing.T) { //nolint:paralleltest // it measures the process
	const many, most = 128, 32 << 20
	w := newWorld()
	w.put("a.example", publicAddress, 443, listen(t, pour))
	w.put("a.example", publicAddress, 80, listen(t, func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		pour(c)
	}))
	p := w.start(t, egress.Options{}, "a.example")
	before := heap()
	for i := range many {
		c := dial(t, p.Address())
		switch i % 4 {
		case 0: // a head that does not end
			io.WriteString(c, "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nX: ")
			go io.Copy(c, io.LimitReader(zeros{}, 60<<10))
		case 1: // an answer that nobody reads
			io.WriteString(c, "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n")
		case 2: // a tunnel that nobody reads
			fmt.Fprint(c, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\nx")
		case 3: // a handshake that does not end
			fmt.Fprint(c, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n\x16\x03\x01\x3f\xff\x01\x00\xf0\x00")
			go io.Copy(c, io.LimitReader(zeros{}, 1<<20))
		}
	}
	eventually(t, "all servers reached", func() bool { return len(w.went()) >= many*3/4 })
	if used := heap() - before; used > most {
		t.Errorf("%d hostile connections hold %d MiB, want at most %d", many, used>>20, most>>20)
	} else {
		t.Logf("%d hostile connections hold %d KiB", many, used>>10)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// pour sends more than anybody should hold, and waits.
func pour(c net.Conn) {
	if _, err := io.Copy(c, io.LimitReader(zeros{}, 8<<20)); err == nil {
		io.Copy(io.Discard, c)
	}
}
