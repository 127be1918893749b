package egress_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/egress"
)

func TestTunnelCarriesBothWays(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.put("api.example.com", publicAddress, 8443, echo(t))
	p := w.start(t, egress.Options{}, "api.example.com:8443")
	c := connect(t, p, "API.example.com.:8443")
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<17) // 2 MiB, more than one chunk
	go func() {
		c.Write(sent)
		c.CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("%d bytes came back, %v, want %d", len(got), err, len(sent))
	}
	if went := w.went(); !slices.Equal(went, []string{publicAddress + ":8443"}) {
		t.Errorf("connections to %v, want the one address that was looked at", went)
	}
	if list := p.Refusals(); len(list) != 0 {
		t.Errorf("Refusals() = %v, want none", list)
	}
}

// A client that has said everything still gets the answer.
func TestTunnelHalfClosed(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.put("a.example", publicAddress, 8443, listen(t, func(c net.Conn) {
		all, _ := io.ReadAll(c)
		c.Write(append([]byte("you said "), all...))
	}))
	p := w.start(t, egress.Options{}, "a.example:8443")
	c := connect(t, p, "a.example:8443")
	io.WriteString(c, "hello")
	c.CloseWrite()
	if got, err := io.ReadAll(c); string(got) != "you said hello" {
		t.Errorf("got %q, %v", got, err)
	}
}

// The server may speak first.
func TestTunnelServerFirst(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.put("ssh.example", publicAddress, 8443, listen(t, func(c net.Conn) { io.WriteString(c, "SSH-2.0-x\r\n"); io.Copy(io.Discard, c) }))
	p := w.start(t, egress.Options{}, "ssh.example:8443")
	c := connect(t, p, "ssh.example:8443")
	line := make([]byte, 11)
	if _, err := io.ReadFull(c, line); err != nil || string(line) != "SSH-2.0-x\r\n" {
		t.Errorf("got %q, %v", line, err)
	}
}

// What a client sends before it has the proxy's answer is not lost.
func TestTunnelEarlyBytes(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.put("a.example", publicAddress, 8443, echo(t))
	p := w.start(t, egress.Options{}, "a.example:8443")
	c := dial(t, p.Address())
	io.WriteString(c, "CONNECT a.example:8443 HTTP/1.1\r\nHost: a.example:8443\r\n\r\nearly")
	got := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\nearly"))
	if _, err := io.ReadFull(c, got); err != nil || !strings.HasSuffix(string(got), "\r\n\r\nearly") {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTunnelEndsWhenNothingMoves(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.put("a.example", publicAddress, 8443, echo(t))
	p := w.start(t, egress.Options{Idle: time.Second}, "a.example:8443")
	quiet, busy := connect(t, p, "a.example:8443"), connect(t, p, "a.example:8443")
	began := time.Now()
	for time.Since(began) < 3*time.Second { // several times the limit
		if _, err := busy.Write([]byte("x")); err != nil {
			t.Fatalf("a busy tunnel ended: %v", err)
		}
		if _, err := io.ReadFull(busy, make([]byte, 1)); err != nil {
			t.Fatalf("a busy tunnel ended after %v: %v", time.Since(began), err)
		}
		time.Sleep(50 * time.Millisecond) // the pace of the bytes, not a wait for a state
	}
	if _, err := quiet.Read(make([]byte, 1)); err == nil {
		t.Error("a quiet tunnel still carries")
	} else if network, ok := err.(net.Error); ok && network.Timeout() {
		t.Error("a quiet tunnel was not ended")
	}
}

// A server that takes nothing more cannot hold a tunnel for ever.
func TestTunnelEndsWhenStuck(t *testing.T) {
	t.Parallel()
	w := newWorld()
	release := make(chan struct{})
	defer close(release)
	w.put("a.example", publicAddress, 8443, listen(t, func(net.Conn) { <-release }))
	p := w.start(t, egress.Options{Idle: 300 * time.Millisecond}, "a.example:8443")
	c := connect(t, p, "a.example:8443")
	block := make([]byte, 1<<20)
	for {
		if _, err := c.Write(block); err != nil {
			if network, ok := err.(net.Error); ok && network.Timeout() {
				t.Error("a stuck tunnel was not ended")
			}
			return
		}
	}
}

func TestTunnelFailures(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.names["down.example"] = []string{publicAddress}
	p := w.start(t, egress.Options{}, "down.example", "missing.example")
	for authority, says := range map[string]string{"down.example:443": "cannot connect", "missing.example:443": "no such host"} {
		status, body := ask(t, p.Address(), "CONNECT "+authority+" HTTP/1.1\r\nHost: x\r\n\r\n")
		if status != http.StatusBadGateway || !strings.HasPrefix(body, "ralph: "+authority+": ") || !strings.Contains(body, says) {
			t.Errorf("CONNECT %s: %d %q, want 502 and %q", authority, status, body, says)
		}
	}
}

// One resolution; what was looked at is where the connection goes.
func TestNoRebinding(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.put("rebind.example", publicAddress, 443, echo(t))
	p := w.start(t, egress.Options{}, "*.example", "rebind.example")
	connect(t, p, "rebind.example:443")
	w.mu.Lock()
	lookups := w.lookups
	w.names["rebind.example"] = []string{"169.254.169.254"}
	w.mu.Unlock()
	if lookups != 1 {
		t.Errorf("%d resolutions for one connection, want 1", lookups)
	}
	if status, _ := ask(t, p.Address(), "CONNECT rebind.example:443 HTTP/1.1\r\nHost: x\r\n\r\n"); status != http.StatusForbidden {
		t.Errorf("with the metadata service behind the name: %d, want 403", status)
	}
}

// Where a name has addresses of both kinds, only those that may be used are.
func TestMixedAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.names["mixed.example"] = []string{"10.1.2.3", "2606:2800:220:1:248:1893:25c8:1946"}
	w.put("mixed.example", publicAddress, 443, echo(t))
	p := w.start(t, egress.Options{}, "*.example")
	connect(t, p, "mixed.example:443")
	want := []string{"[2606:2800:220:1:248:1893:25c8:1946]:443", publicAddress + ":443"}
	if went := w.went(); !slices.Equal(went, want) {
		t.Errorf("tried %v, want %v: both families, and nothing private", went, want)
	}
}

func TestServerName(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	t.Cleanup(server.Close)
	w := newWorld()
	for _, name := range []string{"a.example", "b.example"} {
		w.put(name, publicAddress, 443, server.Listener.Addr().String())
	}
	var told atomic.Int32
	p := w.start(t, egress.Options{Refused: func(string, string) { told.Add(1) }}, "a.example", "b.example", publicAddress+":443")
	cases := []struct {
		name, tunnel, sni string
		ok                bool
	}{
		{"the same", "a.example:443", "a.example", true},
		{"in capitals", "a.example:443", "A.EXAMPLE", true},
		{"none", "a.example:443", "", true},
		{"another one that is allowed", "a.example:443", "b.example", true},
		{"to an address, an allowed one", publicAddress + ":443", "a.example", true},
		{"one that is not allowed", "a.example:443", "evil.example", false},
		{"to an address, one that is not allowed", publicAddress + ":443", "evil.example", false},
	}
	refused := 0
	for _, c := range cases {
		conn := tls.Client(connect(t, p, c.tunnel), &tls.Config{ServerName: c.sni, InsecureSkipVerify: true})
		err := conn.Handshake()
		if (err == nil) != c.ok {
			t.Errorf("%s: handshake: %v, want it to pass: %v", c.name, err, c.ok)
		}
		if !c.ok {
			refused++
			if err != nil && !strings.Contains(err.Error(), "unrecognized name") {
				t.Errorf("%s: %v, want the alert for a name", c.name, err)
			}
		}
	}
	list := p.Refusals()
	if len(list) != refused || !strings.HasPrefix(list[0].Address, "evil.example behind ") || int(told.Load()) != refused {
		t.Errorf("Refusals() = %v, told %d times, want %d that name evil.example", list, told.Load(), refused)
	}
}

// However a handshake is cut, its name is found; what begins like TLS and is none
// does not pass.
func TestServerNameTricks(t *testing.T) {
	t.Parallel()
	hello := record(t, "evil.example")
	alert := []byte{21, 3, 1, 0, 2, 1, 0}
	var split []byte // each byte of the handshake in a record of its own
	for _, b := range hello[5:] {
		split = append(split, 22, 3, 1, 0, 1, b)
	}
	cases := map[string][]byte{
		"whole":                      hello,
		"records of one byte":        split,
		"behind a warning":           append(slices.Clone(alert), hello...),
		"behind a change of ciphers": append([]byte{20, 3, 1, 0, 1, 1}, hello...),
		"another type of record":     append([]byte{23}, hello[1:]...),
		"garbage":                    append([]byte{22}, bytes.Repeat([]byte{'x'}, 600)...),
		"longer than any":            {22, 3, 1, 0x40, 0},
	}
	for name, sent := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrived := make(chan []byte, 1)
			w := newWorld()
			w.put("a.example", publicAddress, 443, listen(t, func(c net.Conn) {
				all, _ := io.ReadAll(c)
				arrived <- all
			}))
			p := w.start(t, egress.Options{}, "a.example")
			c := connect(t, p, "a.example:443")
			c.Write(sent)
			if name == "longer than any" {
				c.Write(bytes.Repeat([]byte{0}, 0x4000))
			}
			io.Copy(io.Discard, c)
			if got := <-arrived; len(got) != 0 {
				t.Errorf("%d bytes reached the server: %q", len(got), got[:min(len(got), 40)])
			}
			if len(p.Refusals()) != 1 {
				t.Errorf("Refusals() = %v, want one", p.Refusals())
			}
		})
	}
}

// A handshake that never ends holds nothing but its own connection.
func TestServerNameNeverEnds(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.put("a.example", publicAddress, 443, echo(t))
	p := w.start(t, egress.Options{Idle: 200 * time.Millisecond}, "a.example")
	c := connect(t, p, "a.example:443")
	c.Write(record(t, "a.example")[:20])
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("read %d bytes from a handshake that did not end", n)
	} else if network, ok := err.(net.Error); ok && network.Timeout() {
		t.Error("it was not ended")
	}
}

// record is a ClientHello for a name.
func record(t *testing.T, name string) []byte {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() {
		_ = tls.Client(theirs, &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}).Handshake()
	}()
	defer ours.Close()
	head := make([]byte, 5)
	if _, err := io.ReadFull(ours, head); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, int(head[3])<<8|int(head[4]))
	if _, err := io.ReadFull(ours, body); err != nil {
		t.Fatal(err)
	}
	return append(head, body...)
}
