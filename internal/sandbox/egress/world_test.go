package egress_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/egress"
	"github.com/org/ralph-action/internal/sandbox/hosts"
)

// publicAddress is somebody's; no test sends anything there.
const publicAddress = "93.184.215.14"

// world is a network: names with addresses, and what listens behind those.
type world struct {
	mu      sync.Mutex
	names   map[string][]string
	behind  map[string]string // address:port in the world → one of loopback
	dialled []string
	lookups int
}

func newWorld() *world {
	return &world{names: map[string][]string{}, behind: map[string]string{}}
}

// put makes a name with an address, and a server behind it.
func (w *world) put(name, address string, port int, server string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[name] = append(w.names[name], address)
	w.behind[net.JoinHostPort(address, fmt.Sprint(port))] = server
}

func (w *world) lookup(_ context.Context, name string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookups++
	var all []netip.Addr
	for _, a := range w.names[name] {
		all = append(all, netip.MustParseAddr(a))
	}
	if all == nil {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return all, nil
}

func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, address)
	to := w.behind[address]
	w.mu.Unlock()
	if to == "" {
		if host, _, _ := net.SplitHostPort(address); host != "127.0.0.1" {
			return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("nothing is at %s", address)}
		}
		to = address
	}
	return (&net.Dialer{}).DialContext(ctx, network, to)
}

func (w *world) went() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.dialled)
}

// start gives a proxy in the world.
func (w *world) start(t testing.TB, o egress.Options, entries ...string) *egress.Proxy {
	t.Helper()
	list, err := hosts.ParseList(entries)
	if err != nil {
		t.Fatal(err)
	}
	o.Hosts, o.Lookup, o.Dial = append(o.Hosts, list...), w.lookup, w.dial
	p, err := egress.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// echo is a server that sends back what it gets, and ends when its client does.
func echo(t testing.TB) string {
	return listen(t, func(c net.Conn) { _, _ = io.Copy(c, c) })
}

// listen gives a server that serves each connection and closes it.
func listen(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	var mu sync.Mutex
	var all []net.Conn
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			all = append(all, c)
			mu.Unlock()
			running.Go(func() { defer c.Close(); serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range all {
			c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return l.Addr().String()
}

// dial connects to a proxy.
func dial(t testing.TB, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(60 * time.Second))
	return c.(*net.TCPConn)
}

// ask sends raw bytes and reads one answer.
func ask(t testing.TB, address, raw string) (int, string) {
	t.Helper()
	c := dial(t, address)
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("no answer to %.100q: %v", raw, err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}

// connect opens a tunnel.
func connect(t testing.TB, p *egress.Proxy, authority string) *net.TCPConn {
	t.Helper()
	c := dial(t, p.Address())
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority)
	const want = "HTTP/1.1 200 Connection established\r\n\r\n"
	head := make([]byte, len(want))
	if n, err := io.ReadFull(c, head); err != nil || string(head) != want {
		rest, _ := io.ReadAll(c)
		t.Fatalf("CONNECT %s: %q%q, %v", authority, head[:n], rest, err)
	}
	return c
}

// client is an HTTP client that goes through the proxy.
func client(p *egress.Proxy) *http.Client {
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: p.Address()}), DisableKeepAlives: true}, Timeout: 60 * time.Second}
}

// eventually polls.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 15 s: %s", what)
		}
	}
}

// stacks counts the goroutines that have a function on their stack.
func stacks(function string) int {
	buf := make([]byte, 16<<20)
	n := 0
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, function) {
			n++
		}
	}
	return n
}

// web gives a server of HTTP that keeps the last request.
func web(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func builtin(entries ...string) hosts.List { return hosts.Builtin(entries...) }

type ctx = context.Context

func withCancel(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	c, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return c, cancel
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
