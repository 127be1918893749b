package egress_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/egress"
)

// A server that many hosts share is not asked for another through a tunnel, as it
// is not by a request to the proxy: not in the first request, and in no later one.
func TestPlainRequestsInTunnel(t *testing.T) {
	t.Parallel()
	const first = "GET /first HTTP/1.1\r\nHost: shared.example\r\n\r\n"
	for name, tc := range map[string]struct {
		sent    string // request by request, each with its answer: "|" stands between
		entries []string
		want    string // what the server was asked, each as method, host, path and body
		refused string
	}{
		"requests": {
			sent: first + "|POST /second?q=1 HTTP/1.1\r\nHost: Shared.Example:80\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nDATA\r\n0\r\n\r\n",
			want: "GET shared.example /first |POST Shared.Example:80 /second?q=1 DATA",
		},
		"another host":          {sent: "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", refused: "evil.example behind shared.example:80"},
		"in a later request":    {sent: first + "|GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", want: "GET shared.example /first ", refused: "evil.example behind shared.example:80"},
		"in the line":           {sent: "GET http://evil.example/ HTTP/1.1\r\nHost: shared.example\r\n\r\n", refused: "evil.example behind shared.example:80"},
		"behind an empty line":  {sent: "\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", refused: "shared.example:80"},
		"two of them":           {sent: "GET / HTTP/1.1\r\nHost: shared.example\r\nHost: evil.example\r\n\r\n", refused: "shared.example:80"},
		"none":                  {sent: "GET / HTTP/1.0\r\n\r\n", refused: "shared.example:80"},
		"HTTP/2":                {sent: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", refused: "shared.example:80"},
		"another protocol":      {sent: "SSH-2.0-OpenSSH_9\r\n\r\n", refused: "shared.example:80"},
		"another allowed one":   {sent: "GET / HTTP/1.1\r\nHost: other.example\r\n\r\n", entries: []string{"other.example"}, want: "GET other.example / "},
		"a body that is no end": {sent: "POST / HTTP/1.1\r\nHost: shared.example\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n|GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", want: "POST shared.example / ", refused: "evil.example behind shared.example:80"},
		"a change of protocol":  {sent: "GET /ws HTTP/1.1\r\nHost: shared.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n|GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", want: "GET shared.example /ws ", refused: "evil.example behind shared.example:80"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			asked := make(chan string, 4)
			w.put("shared.example", publicAddress, 80, web(t, func(rw http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				asked <- fmt.Sprintf("%s %s %s %s", r.Method, r.Host, r.RequestURI, body)
				if r.Header.Get("Upgrade") != "" {
					t.Error("the server was asked to change the protocol")
				}
				_, _ = io.WriteString(rw, "answer")
			}))
			o := egress.Options{Hosts: builtin("shared.example")}
			p := w.start(t, o, tc.entries...)
			c := connect(t, p, "shared.example:80")
			in := bufio.NewReader(c)
			var got []string
			for n, request := range strings.Split(tc.sent, "|") {
				for i := range len(request) { // nobody decides by how much comes at once
					if _, err := io.WriteString(c, request[i:i+1]); err != nil {
						break
					}
				}
				if n > strings.Count(tc.want, "|") || tc.want == "" {
					break
				}
				response, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatal(err)
				}
				if body, err := io.ReadAll(response.Body); err != nil || string(body) != "answer" {
					t.Errorf("the client got %q, %v", body, err)
				}
				_ = response.Body.Close()
				got = append(got, <-asked)
			}
			if joined := strings.Join(got, "|"); joined != tc.want {
				t.Errorf("the server was asked %q, want %q", joined, tc.want)
			}
			if tc.refused != "" {
				eventually(t, "the refusal is counted", func() bool { return len(p.Refusals()) == 1 })
				if list := p.Refusals(); list[0].Address != tc.refused {
					t.Errorf("refused %q, want %q", list[0].Address, tc.refused)
				}
			} else if list := p.Refusals(); len(list) != 0 {
				t.Errorf("Refusals() = %v", list)
			}
			p.Close()
			if len(asked) != 0 {
				t.Errorf("the server was asked %q, too", <-asked)
			}
		})
	}
}

// At 443 what is no TLS is judged as it is at 80.
func TestPlainRequestsAtTheSecurePort(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ sent, refused string }{
		"the host":         {"GET / HTTP/1.1\r\nHost: shared.example\r\n\r\n", ""},
		"another host":     {"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "evil.example behind shared.example:443"},
		"behind a line":    {"\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "shared.example:443"},
		"another protocol": {"SSH-2.0-OpenSSH_9\r\n\r\n", "shared.example:443"},
		"HTTP/2":           {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "shared.example:443"},
	} {
		for who, o := range map[string]egress.Options{"a default": {Hosts: builtin("shared.example")}, "a person's": {}} {
			t.Run(name+", "+who, func(t *testing.T) {
				t.Parallel()
				w := newWorld()
				asked := make(chan string, 4)
				w.put("shared.example", publicAddress, 443, web(t, func(_ http.ResponseWriter, r *http.Request) { asked <- r.Host }))
				var entries []string
				if o.Hosts == nil {
					entries = []string{"shared.example"}
				}
				p := w.start(t, o, entries...)
				c := connect(t, p, "shared.example:443")
				_, _ = io.WriteString(c, tc.sent)
				if tc.refused == "" {
					if host := <-asked; host != "shared.example" {
						t.Errorf("the server was asked for %q", host)
					}
					return
				}
				eventually(t, "the refusal is counted", func() bool { return len(p.Refusals()) == 1 })
				if list := p.Refusals(); list[0].Address != tc.refused {
					t.Errorf("refused %q, want %q", list[0].Address, tc.refused)
				}
				p.Close()
				if len(asked) != 0 {
					t.Errorf("the server was asked for %q", <-asked)
				}
			})
		}
	}
}

// A request that asks for another protocol does not get it from a server that goes on in
// HTTP: what follows is a request, and its host is looked at.
func TestPlainUpgradeThatIsRefused(t *testing.T) {
	t.Parallel()
	const evil = "GET /evil HTTP/1.1\r\nHost: evil.example\r\n\r\n"
	for name, tc := range map[string]struct {
		upgrade string
		answer  string
	}{
		"200":                      {"websocket", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"},
		"200 behind 100 and 103":   {"websocket", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"},
		"101 in the answer's body": {"websocket", "HTTP/1.1 200 OK\r\nContent-Length: 34\r\n\r\nHTTP/1.1 101 Switching Protocols\r\n"},
		"426":                      {"x", "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n"},
		"HTTP/2":                   {"h2c", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"},
		"TLS":                      {"websocket, TLS/1.0", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: TLS/1.0\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := make(chan string, 1)
			w := newWorld()
			w.put("shared.example", publicAddress, 80, listen(t, func(c net.Conn) {
				in := bufio.NewReader(c)
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				for _, b := range []byte(tc.answer) {
					if _, err := c.Write([]byte{b}); err != nil { // the tunnel has ended already
						break
					}
				}
				rest, _ := io.ReadAll(in)
				got <- r.Header.Get("Upgrade") + string(rest)
			}))
			p := w.start(t, egress.Options{}, "shared.example")
			c := connect(t, p, "shared.example:80")
			_, _ = io.WriteString(c, "GET /ws HTTP/1.1\r\nHost: shared.example\r\nConnection: Upgrade\r\nUpgrade: "+tc.upgrade+"\r\n\r\n"+evil)
			eventually(t, "the refusal is counted", func() bool { return len(p.Refusals()) == 1 })
			if list := p.Refusals(); list[0].Address != "evil.example behind shared.example:80" {
				t.Errorf("Refusals() = %v", list)
			}
			if rest := <-got; strings.Contains(rest, "evil") || keepsHTTP(tc.upgrade) && rest != "" {
				t.Errorf("the server got %q", rest)
			}
		})
	}
}

func keepsHTTP(upgrade string) bool {
	return strings.Contains(upgrade, "h2c") || strings.Contains(upgrade, "TLS")
}

// A server that never answers a request for another protocol holds nothing up when its
// client leaves.
func TestPlainUpgradeWithoutAnswer(t *testing.T) {
	t.Parallel()
	asked := make(chan bool, 1)
	w := newWorld()
	w.put("shared.example", publicAddress, 80, listen(t, func(c net.Conn) {
		asked <- true
		_, _ = io.Copy(io.Discard, c)
	}))
	p := w.start(t, egress.Options{Idle: time.Second}, "shared.example")
	c := connect(t, p, "shared.example:80")
	_, _ = io.WriteString(c, "GET /ws HTTP/1.1\r\nHost: shared.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	<-asked
	if rest, _ := io.ReadAll(c); len(rest) != 0 { // until the tunnel is idle for too long
		t.Errorf("the client got %q", rest)
	}
	p.Close() // waits for all goroutines
}

// Where a person has named the very host, a WebSocket may go through.
func TestPlainUpgradeInTunnel(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.put("ws.example", publicAddress, 80, web(t, func(rw http.ResponseWriter, r *http.Request) {
		c, both, err := http.NewResponseController(rw).Hijack()
		if err != nil || r.Header.Get("Upgrade") != "websocket" {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_, _ = io.Copy(c, both)
	}))
	p := w.start(t, egress.Options{}, "ws.example")
	c := connect(t, p, "ws.example:80")
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: ws.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nframes")
	_ = c.CloseWrite()
	if all, err := io.ReadAll(c); err != nil || !strings.HasSuffix(string(all), "\r\n\r\nframes") {
		t.Errorf("got %q, %v", all, err)
	}
}
