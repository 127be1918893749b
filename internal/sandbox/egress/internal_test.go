package egress

import (
	"bufio"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/hosts"
)

// FuzzAuthority: what is taken has one reading, which the standard library shares.
func FuzzAuthority(f *testing.F) {
	for _, seed := range []string{
		"example.com:443", "EXAMPLE.com.:443", "[::1]:443", "127.1:443", "0x7f.1:80", "2130706433:80", "a@b:443", "a:b@c:1", "[fe80::1%25x]:1", "[::ffff:1.2.3.4]:1",
		"a.b:0443", "a:443:80", "%41:443", "a\x00:443", "[::1", "a..:1", "_x:1", "[1.2.3.4]:80", "1.2.3.4:80", ":80", "a:", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseAuthority(text, 0)
		if err != nil {
			return
		}
		if again, err := parseAuthority(got.String(), 0); err != nil || again != got {
			t.Fatalf("%q is %v, which is %v, %v", text, got, again, err)
		}
		u, err := url.Parse("http://" + text + "/")
		if err != nil {
			t.Fatalf("%q is %v here, and to net/url %v", text, got, err)
		}
		if host, err := hosts.Canonical(u.Hostname()); err != nil || host != got.host || u.User != nil {
			t.Fatalf("%q is %v here, and %q to net/url", text, got, u.Host)
		}
		if host, _, err := net.SplitHostPort(text); err != nil || strings.ContainsAny(host, "%@/") {
			t.Fatalf("%q is %v here, and %q to net", text, got, host)
		}
		if strings.Trim(got.host, "0123456789.") == "" {
			if _, err := netip.ParseAddr(got.host); err != nil {
				t.Fatalf("%q is a number that is no address: %v", text, got)
			}
		}
	})
}

// FuzzRequest: a request that goes on, goes to the host that was decided on, and
// what is written is read as one request for it.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		"GET http://example.com/ HTTP/1.1\r\nHost: evil\r\n\r\n",
		"POST http://example.com:81/x?y HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"GET http://a@example.com/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET http://example.com\\@evil/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://example.com#@evil/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET http://example.com?@evil/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://example.com/ HTTP/1.1\r\nHost: a\r\nConnection: host, x\r\nX: 1\r\n y\r\n\r\n", "GET //example.com/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://[::1]/ HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS http://example.com HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
		if err != nil || r.Method == http.MethodConnect {
			return
		}
		u, decided, err := absolute(r)
		if err != nil {
			return
		}
		var wire strings.Builder
		if outgoing(r, u).Write(&wire) != nil {
			return // net/http refuses to send it, or the body ends too early
		}
		b := bufio.NewReader(strings.NewReader(wire.String()))
		sent, err := http.ReadRequest(b)
		if err != nil {
			t.Fatalf("%q goes on as %q, which cannot be read: %v", raw, wire.String(), err)
		}
		if went, err := parseAuthority(sent.Host, 80); err != nil || went != decided {
			t.Fatalf("%q was decided for %v and says Host: %q", raw, decided, sent.Host)
		}
		if sent.Header.Get("Connection")+sent.Header.Get("Upgrade")+sent.Header.Get("Proxy-Authorization") != "" {
			t.Fatalf("%q goes on with %v", raw, sent.Header)
		}
	})
}

// FuzzPath: what the key proxy lets pass is an allowed path, however a server decodes and
// cleans it.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/v1/messages", "/v1/messages/../x", "/v1/messages/%2e%2e/x", "/v1/messages%2f..", "/v1/messages/..;/", "/v1/messages/%252e%252e", "//", "/v1/messages?key=1", "/v1/models/x:y", "/v1/models/..", "/v1/models/x%3ay"} {
		f.Add(seed)
	}
	upstream, _ := url.Parse("https://api.example.com/base")
	endpoints, err := parseEndpoints([]string{"GET /v1/messages", "GET /v1/models/{name}:y"})
	if err != nil {
		f.Fatal(err)
	}
	allowed := regexp.MustCompile(`^/base/v1/(messages|models/[^/:]+:y)$`)
	d := &KeyProxy{o: KeyProxyOptions{Upstream: upstream}, endpoints: endpoints}
	f.Fuzz(func(t *testing.T, path string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")))
		if err != nil {
			return
		}
		u, err := d.destination(r)
		if err != nil {
			return
		}
		for _, form := range []string{u.EscapedPath(), u.Path, u.JoinPath().Path} {
			if !allowed.MatchString(form) {
				t.Fatalf("%q goes to %q", path, form)
			}
		}
		if u.Host != upstream.Host || u.Scheme != "https" || u.User != nil {
			t.Fatalf("%q goes to %v", path, u)
		}
	})
}

// A repository of any size is looked at for a bounded time.
func TestListIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 40 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	left, seen := 25, 0
	for range 2 {
		list(root, ".", &left, func(string, fs.FileMode) { seen++ })
	}
	if seen != 25 || left != 0 {
		t.Errorf("%d entries seen, %d left, want 25 and 0", seen, left)
	}
}
