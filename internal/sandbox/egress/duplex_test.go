package egress_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/egress"
)

// hasty answers each request at once, and reads its body (of bytes length) later, as
// servers do that are asked too often.
func hasty(t *testing.T, length int64) string {
	return listen(t, func(c net.Conn) {
		for in := bufio.NewReader(c); ; {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			io.WriteString(c, "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nlate")
			if n, err := io.Copy(io.Discard, r.Body); n != length || err != nil {
				return
			}
		}
	})
}

// A client whose question is answered early sends the rest, and then asks again by
// the same connection, unless it was told that this one ends.
func TestEarlyAnswersKeepTheNextQuestion(t *testing.T) {
	t.Parallel()
	const length = 100 << 10
	server := hasty(t, length)
	u, _ := url.Parse("http://" + server)
	world := newWorld()
	world.put("good.example", publicAddress, 80, server)
	for name, c := range map[string]struct{ address, target string }{
		"key proxy": {strings.TrimPrefix(keyProxy(t, egress.KeyProxyOptions{Upstream: u}, nil).URL(), "http://"), "/v1/messages"},
		"proxy":     {world.start(t, egress.Options{}, "good.example").Address(), "http://good.example/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, c.address)
			in := bufio.NewReader(conn)
			for i := range 3 {
				fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: good.example\r\nx-api-key: %s\r\nContent-Length: %d\r\n\r\n%s", c.target, placeholder, length, strings.Repeat("x", length/2))
				response, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatalf("question %d: %v", i, err)
				}
				if i > 0 { // while the answer comes; else behind it
					io.WriteString(conn, strings.Repeat("x", length/2))
				}
				body, err := io.ReadAll(response.Body)
				if i == 0 && !response.Close {
					io.WriteString(conn, strings.Repeat("x", length/2))
				}
				if string(body) != "late" || err != nil || response.StatusCode != 429 || response.Header.Get("Retry-After") != "7" {
					t.Fatalf("question %d: %d %q, %v", i, response.StatusCode, body, err)
				}
				if response.Close {
					if n, err := in.Read(make([]byte, 1)); err != io.EOF {
						t.Errorf("question %d: %d bytes, %v behind the last answer, want its end", i, n, err)
					}
					conn = dial(t, c.address)
					in.Reset(conn)
				}
			}
		})
	}
}

// A client that is refused early reads the refusal to its end, and sends no more.
func TestEarlyAnswersEnd(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "too large", 413) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	u, _ := url.Parse(s.URL)
	transport := s.Client().Transport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2 = true
	transport.TLSClientConfig = &tls.Config{RootCAs: transport.TLSClientConfig.RootCAs, MinVersion: tls.VersionTLS12}
	for name, o := range map[string]egress.KeyProxyOptions{
		"HTTP/2":   {Upstream: u, Transport: transport, Connections: 1},
		"HTTP/1.1": {Upstream: &url.URL{Scheme: "http", Host: hasty(t, 8)}, Connections: 1},
		"ours":     {Upstream: u, Connections: 1, Endpoints: []string{"POST /other"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := strings.TrimPrefix(keyProxy(t, o, nil).URL(), "http://")
			conn := dial(t, address)
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			fmt.Fprintf(conn, "POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\nContent-Length: 8\r\n\r\nhalf", placeholder)
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(response.Body); len(body) == 0 || err != nil {
				t.Errorf("%d %q, %v; want the whole answer", response.StatusCode, body, err)
			}
			// nor does it leave, but its place is another's
			if status, _ := ask(t, address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); status != http.StatusUnauthorized {
				t.Errorf("the next client: %d, want 401", status)
			}
		})
	}
}
