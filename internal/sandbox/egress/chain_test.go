package egress_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/egress"
)

// company is the machine's own proxy: it wants a user and a password, and leads
// everything to one server.
type company struct {
	address string
	mu      sync.Mutex
	asked   []string
}

const companyLogin = "user:p%40ss word"

func newCompany(t *testing.T, server string) *company {
	co := &company{}
	co.address = listen(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		co.mu.Lock()
		co.asked = append(co.asked, request.Method+" "+request.RequestURI)
		co.mu.Unlock()
		if request.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("user:p@ss word")) {
			io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
			return
		}
		if request.Method != http.MethodConnect {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nfrom")
			return
		}
		to, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		defer to.Close()
		io.WriteString(c, "HTTP/1.1 200 Fine\r\nX: y\r\n\r\nfirst ")
		go func() { io.Copy(to, r); to.(*net.TCPConn).CloseWrite() }()
		io.Copy(c, to)
	})
	return co
}

func (co *company) list() []string {
	co.mu.Lock()
	defer co.mu.Unlock()
	return slices.Clone(co.asked)
}

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestChain(t *testing.T) {
	t.Parallel()
	co := newCompany(t, echo(t))
	w := newWorld()
	w.put("near.example", publicAddress, 443, echo(t))
	address := "http://" + strings.Replace(companyLogin, " ", "%20", 1) + "@" + co.address
	upstream := egress.Environment(environment(map[string]string{"https_proxy": address, "HTTP_PROXY": address, "NO_PROXY": "near.example"}))
	p := w.start(t, egress.Options{Upstream: upstream}, "*.example", "*:8080")
	if !p.ByName() {
		t.Error("ByName() = false with a proxy of the machine")
	}
	c := connect(t, p, "far.example:8080")
	io.WriteString(c, "hello")
	c.CloseWrite()
	if got, _ := io.ReadAll(c); string(got) != "first hello" {
		t.Errorf("through both proxies: %q, want all that came behind the head, too", got)
	}
	if status, body := ask(t, p.Address(), "GET http://far.example/x HTTP/1.1\r\nHost: y\r\nProxy-Authorization: Basic mine\r\n\r\n"); status != 200 || body != "from" {
		t.Errorf("a request through both proxies: %d %q", status, body)
	}
	if want := []string{"CONNECT far.example:8080", "GET http://far.example/x"}; !slices.Equal(co.list(), want) {
		t.Errorf("the machine's proxy was asked for %q, want %q", co.list(), want)
	}
	for _, authority := range []string{"127.0.0.1:8080", "10.0.0.1:8080", "169.254.169.254:8080", "localhost:8080", "x.localhost:8080", "metadata.google.internal:8080", "evil.test:443"} {
		for _, raw := range []string{"CONNECT " + authority + " HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://" + authority + "/ HTTP/1.1\r\nHost: x\r\n\r\n"} {
			if status, body := ask(t, p.Address(), raw); status != http.StatusForbidden {
				t.Errorf("%q: %d %q, want 403", raw, status, body)
			}
		}
	}
	if n := len(co.list()); n != 2 {
		t.Errorf("the machine's proxy was asked %d times, want 2", n)
	}
	connect(t, p, "near.example:443") // not through it
	if went := w.went(); went[len(went)-1] != publicAddress+":443" || w.lookups != 1 {
		t.Errorf("connections to %v, %d resolutions: want only what NO_PROXY names resolved here", went, w.lookups)
	}
}

func TestChainFailures(t *testing.T) {
	t.Parallel()
	co := newCompany(t, echo(t))
	endless := listen(t, func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nX: ")
		io.Copy(c, zeros{})
	})
	garbage := listen(t, func(c net.Conn) { io.WriteString(c, "SSH-2.0-x\r\n\r\n"); io.Copy(io.Discard, c) })
	gone := listen(t, func(net.Conn) {})
	signed := httptest.NewUnstartedServer(http.NotFoundHandler())
	signed.Config.ErrorLog = quiet()
	signed.StartTLS()
	t.Cleanup(signed.Close)
	cases := []struct{ name, proxy, says string }{
		{"a certificate nobody signed", "https://user:hunter22@" + signed.Listener.Addr().String(), "machine's own proxy"},
		{"a wrong password", "http://user:hunter22@" + co.address, "answers 407"},
		{"an answer without end", "http://user:hunter22@" + endless, "no end"},
		{"no HTTP", "http://user:hunter22@" + garbage, "does not answer in HTTP"},
		{"no answer", "http://user:hunter22@" + gone, "machine's own proxy"},
		{"another kind", "socks5://user:hunter22@" + gone, "http and https are supported"},
		{"an unreadable address", "http://user:hunter22@[::1", "cannot be read"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			p := w.start(t, egress.Options{Upstream: func(*url.URL) (*url.URL, error) { return url.Parse(c.proxy) }}, "*.example")
			status, body := ask(t, p.Address(), "CONNECT far.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
			if status != http.StatusBadGateway || !strings.Contains(body, c.says) {
				t.Errorf("%d %q, want 502 and %q", status, body, c.says)
			}
			for _, raw := range []string{body, fmt.Sprint(p.Refusals())} {
				if strings.Contains(raw, "hunter22") {
					t.Errorf("the password of the machine's proxy is told: %q", raw)
				}
			}
			if _, body := ask(t, p.Address(), "GET http://far.example/ HTTP/1.1\r\nHost: x\r\n\r\n"); strings.Contains(body, "hunter22") {
				t.Errorf("the password of the machine's proxy is told: %q", body)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	if egress.Environment(environment(map[string]string{"NO_PROXY": "x"})) != nil {
		t.Error("without a proxy: want nil")
	}
	p := newWorld().start(t, egress.Options{})
	if p.ByName() {
		t.Error("ByName() = true without a proxy of the machine")
	}
	all := newWorld().start(t, egress.Options{Upstream: egress.Environment(environment(map[string]string{"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": "*"}))})
	if all.ByName() {
		t.Error("ByName() = true with NO_PROXY=*")
	}
}
