package egress_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/egress"
)

// Every form of an address that some program reads otherwise is refused, and
// nothing is connected to.
func TestAuthorityTricks(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.put("good.example", publicAddress, 443, echo(t))
	p := w.start(t, egress.Options{}, "good.example", "127.0.0.1:443", "[::1]:443", "*:443", "*:80")
	cases := []struct{ name, authority string }{
		{"a user", "evil.example@good.example:443"},
		{"a user and a password", "a:b@good.example:443"},
		{"no port", "good.example"},
		{"an empty port", "good.example:"},
		{"port 0", "good.example:0"},
		{"port 65536", "good.example:65536"},
		{"a port that overflows", "good.example:18446744073709552059"},
		{"a port with a sign", "good.example:+443"},
		{"a port with a zero", "good.example:0443"},
		{"a port in hexadecimal", "good.example:0x1bb"},
		{"a port by name", "good.example:https"},
		{"two ports", "good.example:443:80"},
		{"a path", "good.example:443/"},
		{"a path alone", "/good.example:443"},
		{"an address with a scheme", "http://good.example:443"},
		{"a query", "good.example:443?"},
		{"a fragment", "good.example:443#"},
		{"an escape", "good%2eexample:443"},
		{"NUL escaped", "good.example%00.evil.example:443"},
		{"a backslash", "good.example\\:443"},
		{"two dots at the end", "good.example..:443"},
		{"an empty host", ":443"},
		{"a star", "*:443"},
		{"a comma", "good.example,evil.example:443"},
		{"a letter outside of ASCII", "g\xc3\xb6od.example:443"},
		{"digits outside of ASCII", "\xef\xbc\x91.2.3.4:443"},
		{"IPv4 as one number", "2130706433:443"},
		{"IPv4 in hexadecimal", "0x7f000001:443"},
		{"IPv4 mixed", "0x7f.1:443"},
		{"IPv4 short", "127.1:443"},
		{"IPv4 in octal", "0177.0.0.1:443"},
		{"IPv4 with zeros", "127.000.000.001:443"},
		{"IPv4 with a hexadecimal end", "1.2.3.0x4:443"},
		{"IPv4 in brackets", "[127.0.0.1]:443"},
		{"a name in brackets", "[good.example]:443"},
		{"IPv6 without brackets", "::1:443"},
		{"IPv6 with a zone", "[fe80::1%25eth0]:443"},
		{"IPv6 with a raw zone", "[::1%lo]:443"},
		{"a bracket open", "[::1:443"},
		{"two brackets", "[[::1]]:443"},
		{"a name too long", strings.Repeat("a.", 200) + "example:443"},
	}
	for _, c := range cases {
		for _, raw := range []string{
			"CONNECT " + c.authority + " HTTP/1.1\r\nHost: good.example:443\r\n\r\n",
			"GET http://" + c.authority + "/ HTTP/1.1\r\nHost: good.example\r\n\r\n",
		} {
			connects := strings.HasPrefix(raw, "CONNECT")
			if !connects && slices.Contains([]string{"no port", "a path", "a query", "an address with a scheme", "a path alone"}, c.name) {
				continue // that is how it is written there, or it has no host
			}
			if status, body := ask(t, p.Address(), raw); status != http.StatusBadRequest {
				t.Errorf("%s: %.60q: %d %q, want 400", c.name, raw, status, body)
			}
		}
	}
	if went := w.went(); len(went) != 0 {
		t.Errorf("connections to %v, want none", went)
	}
}

// What is no request for a proxy is none.
func TestRequestTricks(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.put("good.example", publicAddress, 80, echo(t))
	p := w.start(t, egress.Options{}, "good.example")
	cases := map[string]string{
		"origin form":                  "GET / HTTP/1.1\r\nHost: good.example\r\n\r\n",
		"origin form, the proxy's own": "GET / HTTP/1.1\r\nHost: " + p.Address() + "\r\n\r\n",
		"asterisk form":                "OPTIONS * HTTP/1.1\r\nHost: good.example\r\n\r\n",
		"https in absolute form":       "GET https://good.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n",
		"ftp":                          "GET ftp://good.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n",
		"a file":                       "GET file:///etc/passwd HTTP/1.1\r\nHost: good.example\r\n\r\n",
		"no host":                      "GET http:///x HTTP/1.1\r\nHost: good.example\r\n\r\n",
		"opaque":                       "GET http:good.example HTTP/1.1\r\nHost: good.example\r\n\r\n",
		"two Host fields":              "GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\nHost: evil.example\r\n\r\n",
		"no Host field":                "GET http://good.example/ HTTP/1.1\r\n\r\n",
		"two lengths":                  "POST http://good.example/ HTTP/1.1\r\nHost: good.example\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
		"a length with a sign":         "POST http://good.example/ HTTP/1.1\r\nHost: good.example\r\nContent-Length: +3\r\n\r\nabc",
		"a field without a name":       "GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\n: x\r\n\r\n",
		"a space before the colon":     "GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\nContent-Length : 3\r\n\r\nabc",
		"NUL in a field":               "GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\nX: a\x00b\r\n\r\n",
		"HTTP/2 by prior knowledge":    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"another version":              "GET http://good.example/ HTTP/9.9\r\nHost: good.example\r\n\r\n",
	}
	for name, raw := range cases {
		if status, body := ask(t, p.Address(), raw); status < 400 || status >= 600 || status == http.StatusBadGateway {
			t.Errorf("%s: %d %q, want a refusal", name, status, body)
		}
	}
	for name, raw := range map[string]string{
		"an unknown coding": "POST http://good.example/ HTTP/1.1\r\nHost: good.example\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"chunked twice":     "POST http://good.example/ HTTP/1.1\r\nHost: good.example\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	} {
		if status, body := ask(t, p.Address(), raw); status != http.StatusNotImplemented && status != http.StatusBadRequest {
			t.Errorf("%s: %d %q, want 400 or 501", name, status, body)
		}
	}
	if went := w.went(); len(went) != 0 {
		t.Errorf("connections to %v, want none", went)
	}
}

// Each kind of address that a name may resolve to, or that is asked for as it is:
// whether any rule that covers it is enough, one for the very name, or one for
// the very address.
func TestAddresses(t *testing.T) {
	t.Parallel()
	const (
		any     = 1 // by a rule with a star
		named   = 2 // by one for the name
		literal = 3 // by one for the address
		never   = 4
	)
	cases := []struct {
		address string
		from    int
		says    string
	}{
		{publicAddress, any, ""}, {"2606:2800:220:1:248:1893:25c8:1946", any, ""},
		{"10.0.0.5", named, "private"}, {"172.16.0.1", named, "private"}, {"172.31.255.255", named, "private"}, {"192.168.1.1", named, "private"},
		{"172.32.0.1", any, ""}, {"172.15.255.255", any, ""}, {"100.63.255.255", any, ""}, {"100.128.0.1", any, ""},
		{"100.64.0.1", named, "private"}, {"198.18.0.1", named, "private"}, {"fd12:3456::1", named, "private"}, {"fec0::1", named, "private"},
		{"127.0.0.2", named, "this machine"}, {"127.255.255.254", named, "this machine"}, {"::1", named, "this machine"},
		{"::ffff:127.0.0.1", named, "this machine"}, {"::ffff:10.0.0.1", named, "private"}, {"::7f00:1", named, "this machine"},
		{"169.254.1.1", literal, "link-local"}, {"fe80::1", literal, "link-local"},
		{"169.254.169.254", literal, "metadata"}, {"169.254.170.2", literal, "metadata"}, {"fd00:ec2::254", literal, "metadata"},
		{"100.100.100.200", literal, "metadata"}, {"168.63.129.16", literal, "metadata"}, {"::ffff:169.254.169.254", literal, "metadata"},
		{"64:ff9b::a9fe:a9fe", literal, "metadata"}, {"2002:a9fe:a9fe::1", literal, "metadata"},
		{"64:ff9b::a00:1", named, "private"}, {"64:ff9b::7f00:1", named, "this machine"}, {"64:ff9b::5db8:d70e", any, ""},
		{"2002:a00:1::1", named, "private"}, {"2002:7f00:1::1", named, "this machine"},
		{"2001:0:5db8:d70e::f5ff:fffe", named, "private"},          // Teredo: the client is 10.0.0.1
		{"2001:0:a00:1::a247:28f1", named, "private"},              // its server is
		{"2606:2800:220:1:0:5efe:a00:1", named, "private"},         // ISATAP
		{"2606:2800:220:1:200:5efe:7f00:1", named, "this machine"}, // ISATAP
		{"::ffff:0:7f00:1", named, "this machine"},                 // translated
		{"0.0.0.0", never, "no server"}, {"::", never, "no server"}, {"0.1.2.3", never, "no server"}, {"255.255.255.255", never, "no server"},
		{"224.0.0.1", never, "no server"}, {"239.255.255.250", never, "no server"}, {"ff02::1", never, "no server"}, {"240.0.0.1", named, "private"},
		{"192.0.2.1", named, "private"}, {"203.0.113.1", named, "private"}, {"2001:db8::1", named, "private"}, {"64:ff9b:1::1", never, "no server"}, {"64:ff9b::", never, "no server"},
	}
	for _, c := range cases {
		t.Run(c.address, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.names["name.example"] = []string{c.address}
			bracketed := c.address
			if strings.Contains(c.address, ":") {
				bracketed = "[" + c.address + "]"
			}
			for level, try := range []struct{ what, rule, authority string }{
				{"a name by a rule with a star", "*.example", "name.example:443"},
				{"the address by a rule with a star", "*:443", bracketed + ":443"},
				{"a name by its own rule", "name.example", "name.example:443"},
				{"the address by its own rule", bracketed, bracketed + ":443"},
			} {
				allowed := c.from <= []int{any, any, named, literal}[level]
				p := w.start(t, egress.Options{}, try.rule)
				status, body := ask(t, p.Address(), "CONNECT "+try.authority+" HTTP/1.1\r\nHost: x\r\n\r\n")
				if passed := status == http.StatusBadGateway; passed != allowed { // nothing is there
					t.Errorf("%s: %d %q, want it to be allowed: %v", try.what, status, body, allowed)
				}
				if !allowed && (status != http.StatusForbidden || !strings.Contains(body, c.says) || len(p.Refusals()) != 1) {
					t.Errorf("%s: %d %q, refusals %v, want 403 with %q", try.what, status, body, p.Refusals(), c.says)
				}
			}
		})
	}
}

// A rule of ours is for public addresses only.
func TestBuiltinRulesStayPublic(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.names["registry.example"] = []string{"10.0.0.1"}
	p := w.start(t, egress.Options{Hosts: builtin("registry.example")})
	status, body := ask(t, p.Address(), "CONNECT registry.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
	if status != http.StatusForbidden || !strings.Contains(body, "private") {
		t.Errorf("%d %q, want 403", status, body)
	}
}

func TestMetadataByName(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for _, name := range []string{"metadata.google.internal", "metadata.goog", "x.metadata.google.internal"} {
		w.names[name] = []string{publicAddress}
		p := w.start(t, egress.Options{}, name, "*:80")
		for _, raw := range []string{"CONNECT " + name + ".:80 HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://" + name + "/ HTTP/1.1\r\nHost: x\r\n\r\n"} {
			if status, body := ask(t, p.Address(), raw); status != http.StatusForbidden || !strings.Contains(body, "metadata") {
				t.Errorf("%q: %d %q, want 403", raw, status, body)
			}
		}
	}
	if went := w.went(); len(went) != 0 {
		t.Errorf("connections to %v, want none", went)
	}
}

func TestRefusalsAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld()
	var mu sync.Mutex
	var told []string
	p := w.start(t, egress.Options{Refused: func(address, reason string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, address+"|"+reason)
	}}, "good.example")
	status, body := ask(t, p.Address(), "CONNECT evil.example:443 HTTP/1.1\r\nHost: good.example:443\r\n\r\n")
	if status != http.StatusForbidden || body != "ralph: evil.example:443: not in allowed-hosts\n" {
		t.Errorf("%d %q, want a line for a person", status, body)
	}
	ask(t, p.Address(), "GET http://EVIL.example:443/ HTTP/1.1\r\nHost: good.example\r\n\r\n")
	ask(t, p.Address(), "GET http://other.example/x HTTP/1.1\r\nHost: good.example\r\n\r\n")
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"evil.example:443|not in allowed-hosts", "other.example:80|not in allowed-hosts"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q: each address once", told, want)
	}
	want := []egress.Refusal{{Address: "evil.example:443", Count: 2, Reason: "not in allowed-hosts"}, {Address: "other.example:80", Count: 1, Reason: "not in allowed-hosts"}}
	if got := p.Refusals(); !slices.Equal(got, want) {
		t.Errorf("Refusals() = %v, want %v", got, want)
	}
}

func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld()
	p := w.start(t, egress.Options{})
	const asked = 300
	for i := range asked {
		ask(t, p.Address(), fmt.Sprintf("CONNECT h%d.example:443 HTTP/1.1\r\nHost: x\r\n\r\n", i))
	}
	ask(t, p.Address(), "GET http://\xe2\x80\xae::error::/ HTTP/1.1\r\nHost: x\r\n\r\n")
	ask(t, p.Address(), "GET /no-address HTTP/1.1\r\nHost: x\r\n\r\n")
	ask(t, p.Address(), "CONNECT "+strings.Repeat("a", 5000)+":443 HTTP/1.1\r\nHost: x\r\n\r\n")
	list := p.Refusals()
	sum := 0
	for _, r := range list {
		sum += r.Count
		if len(r.Address) > 270 || r.Address == "/no-address" || strings.ContainsAny(r.Address, "\x1b\u202e\n") {
			t.Errorf("an address of %d bytes: %q", len(r.Address), r.Address)
		}
	}
	if len(list) > 256 || sum < asked || list[0].Address != "other addresses" {
		t.Errorf("%d addresses, %d refusals, the first %v; want at most 256, all %d counted", len(list), sum, list[0], asked)
	}
}
