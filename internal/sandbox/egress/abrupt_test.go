package egress_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/egress"
)

// A server that says no to an upload, and leaves, is heard through a tunnel as it is
// without one (always; through one it was 19 times of 20 on a busy machine).
func TestTunnelAnswerOfWhoLeaves(t *testing.T) {
	t.Parallel()
	answer := bytes.Repeat([]byte("no "), 20_000)
	server := listen(t, func(c net.Conn) {
		io.ReadFull(c, make([]byte, 4))
		c.Write(answer)
	})
	w := newWorld()
	w.put("a.example", publicAddress, 8443, server)
	p := w.start(t, egress.Options{}, "a.example:8443")
	direct, through := 0, 0
	upload := func(c net.Conn) bool {
		sent := make(chan struct{})
		go func() { io.CopyN(c, zeros{}, 2<<20); close(sent) }()
		got, _ := io.ReadAll(c)
		c.Close()
		<-sent
		return bytes.Equal(got, answer)
	}
	for range 60 {
		if upload(dial(t, server)) {
			direct++
		}
		if upload(connect(t, p, "a.example:8443")) {
			through++
		}
	}
	if through < direct {
		t.Errorf("%d answers were whole without a tunnel, %d through one", direct, through)
	}
}

// The same where the answer is read on the way.
func TestAnswerOfWhoLeaves(t *testing.T) {
	t.Parallel()
	const length = 60_000
	server := listen(t, func(c net.Conn) {
		io.ReadFull(c, make([]byte, 40))
		fmt.Fprintf(c, "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", length, bytes.Repeat([]byte("x"), length))
	})
	w := newWorld()
	w.put("a.example", publicAddress, 80, server)
	for name, c := range map[string]struct{ address, target string }{
		"without":   {server, "/"},
		"key proxy": {strings.TrimPrefix(keyProxy(t, egress.KeyProxyOptions{Upstream: &url.URL{Scheme: "http", Host: server}}, nil).URL(), "http://"), "/"},
		"proxy":     {w.start(t, egress.Options{}, "a.example").Address(), "http://a.example/"},
	} {
		says := map[string]int{}
		for range 60 {
			conn := dial(t, c.address)
			sent := make(chan struct{})
			go func() {
				fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a.example\r\nx-api-key: %s\r\nContent-Length: %d\r\n\r\n", c.target, placeholder, 2<<20)
				io.CopyN(conn, zeros{}, 2<<20)
				close(sent)
			}()
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				says[err.Error()]++
			} else {
				body, err := io.ReadAll(response.Body)
				says[fmt.Sprint(response.StatusCode, " ", len(body), " ", err)]++
				if response.StatusCode != 413 {
					says[string(body)]++
				}
			}
			conn.Close()
			<-sent
		}
		if want := fmt.Sprint(413, " ", length, " ", nil); says[want] != 60 {
			t.Errorf("%s: the answers were %.500v, want 60 of %s", name, says, want)
		}
	}
}

// A connection that breaks tells no address, which would say what a name means inside
// of a network.
func TestBrokenConnectionsTellNoAddress(t *testing.T) {
	t.Parallel()
	server := listen(t, func(c net.Conn) {
		io.ReadFull(c, make([]byte, 4))
		c.(*net.TCPConn).SetLinger(0)
	})
	w := newWorld()
	w.put("a.example", publicAddress, 80, server)
	p := w.start(t, egress.Options{}, "a.example")
	status, body := ask(t, p.Address(), "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n")
	if status != http.StatusBadGateway || strings.Contains(body, server) || !strings.Contains(body, "reset") {
		t.Errorf("%d %q, want 502, a reason, and not %s", status, body, server)
	}
}
