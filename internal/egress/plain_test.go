package egress_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/egress"
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
					t.Errorf("the guest got %q, %v", body, err)
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
