package hosts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/hosts"
)

func TestParse(t *testing.T) {
	t.Parallel()
	cases := []struct{ entry, want string }{
		{"example.com", "example.com"},
		{" Example.COM. ", "example.com"},
		{"example.com:8443", "example.com:8443"},
		{"example.com:*", "example.com:*"},
		{"*.example.com", "*.example.com"},
		{"*.Example.com:8443", "*.example.com:8443"},
		{"localhost:3000", "localhost:3000"},
		{"my_db", "my_db"},
		{"10.0.0.5", "10.0.0.5"},
		{"10.0.0.5:11434", "10.0.0.5:11434"},
		{"[::1]:80", "[::1]:80"},
		{"[::1]", "[::1]"},
		{"[2001:DB8:0:0::1]:443", "[2001:db8::1]:443"},
		{"[::ffff:10.0.0.5]:80", "10.0.0.5:80"},
		{"*:443", "*:443"},
		{"*:*", "*:*"},
		{"*", "*"},
		{"tcp://db.internal:5432", "tcp://db.internal:5432"},
		{"TCP://localhost:5432", "tcp://localhost:5432"},
		{"tcp://[::1]:5432", "tcp://[::1]:5432"},
		{"!example.com", "!example.com"},
		{"!example.com:*", "!example.com"},
		{"!example.com:80", "!example.com:80"},
		{"!*.example.com", "!*.example.com"},
		{"!*:25", "!*:25"},
		{"https://api.example.com/v1", "api.example.com:443"},
		{"https://api.example.com", "api.example.com:443"},
		{"http://api.example.com/", "api.example.com:80"},
		{"http://localhost:11434/v1", "localhost:11434"},
		{"https://*.example.com/", "*.example.com:443"},
		{"bücher.example", "xn--bcher-kva.example"},
		{"BÜCHER.example:443", "xn--bcher-kva.example:443"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example"},
	}
	for _, c := range cases {
		t.Run(c.entry, func(t *testing.T) {
			t.Parallel()
			r, err := hosts.Parse(c.entry)
			if err != nil || r.String() != c.want {
				t.Fatalf("Parse(%q) = %q, %v, want %q", c.entry, r, err, c.want)
			}
			if again, err := hosts.Parse(r.String()); err != nil || again != r {
				t.Errorf("Parse(%q) = %#v, %v, want %#v", r.String(), again, err, r)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, entry, says string }{
		{"nothing", "", "write a host like example.com"},
		{"two in one", "a.example, b.example", "separated by"},
		{"a control character", "exam\x00ple.com", "invisible"},
		{"an escape", "exam\x1b[31mple.com", "invisible"},
		{"a character without width", "exam\u200bple.com", "invisible"},
		{"a character that turns text around", "exam\u202eple.com", "invisible"},
		{"no UTF-8", "exam\xffple.com", "invisible"},
		{"too long", strings.Repeat("a.", 600), "longer than"},
		{"a name too long", strings.Repeat("a.", 130) + "example", "1 to 253"},
		{"a label too long", strings.Repeat("a", 64) + ".example", "1 to 63"},
		{"an empty label", "example..com", "1 to 63"},
		{"two dots at the end", "example.com..", "1 to 63"},
		{"a hyphen first", "-a.example", "hyphens inside"},
		{"a path", "example.com/v1", "write example.com"},
		{"a range", "10.0.0.0/8", "ranges"},
		{"a user", "user@example.com", "user"},
		{"a user in an address", "https://user:pw@example.com", "user"},
		{"a query", "https://example.com?x", "query"},
		{"another scheme", "ssh://example.com:22", "write tcp://HOST:PORT"},
		{"a star inside", "api.*.example.com", "*.example.com"},
		{"a star without a dot", "*example.com", "*.example.com"},
		{"a star alone in an address", "https://*", "*:443"},
		{"names below an address", "*.10.0.0.5", "below an address"},
		{"everything refused", "!*", "refuses everything"},
		{"everything refused, with ports", "!*:*", "refuses everything"},
		{"an address refused", "!https://example.com/x", "write !example.com"},
		{"refused twice", "!!example.com", "letters"},
		{"port 0", "example.com:0", "1 to 65535"},
		{"port 65536", "example.com:65536", "1 to 65535"},
		{"a port with a sign", "example.com:+80", "1 to 65535"},
		{"a port with a zero first", "example.com:080", "1 to 65535"},
		{"no port behind the colon", "example.com:", "1 to 65535"},
		{"tcp without a port", "tcp://db.internal", "tcp://db.internal:5432"},
		{"tcp with every port", "tcp://db.internal:*", "tcp://db.internal:5432"},
		{"tcp with a star", "tcp://*.internal:5432", "tcp://db.internal:5432"},
		{"tcp with a path", "tcp://db.internal:5432/x", "tcp://db.internal:5432"},
		{"IPv6 without brackets", "::1", "[::1]"},
		{"IPv6 with a zone", "[fe80::1%eth0]:80", "zone"},
		{"IPv4 in brackets", "[10.0.0.5]:80", "IPv6"},
		{"IPv4 as one number", "2130706433", "four decimal"},
		{"IPv4 in hexadecimal", "0x7f000001", "four decimal"},
		{"IPv4 mixed", "0x7f.1", "four decimal"},
		{"IPv4 short", "127.1", "four decimal"},
		{"IPv4 in octal", "0177.0.0.1", "four decimal"},
		{"IPv4 with zeros", "127.000.000.001", "four decimal"},
		{"IPv4 in other digits", "①②⑦.①", "four decimal"},
		{"IPv4 too large", "256.0.0.1", "four decimal"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := hosts.Parse(c.entry)
			if err == nil {
				t.Fatalf("Parse(%q) = %q, want an error", c.entry, r)
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("Parse(%q): %v, want it to say %q", c.entry, err, c.says)
			}
			if len(err.Error()) > 2500 {
				t.Errorf("Parse(%q): an error of %d bytes", c.entry, len(err.Error()))
			}
		})
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	list := parse(t, "example.com", "api.example.net:8443", "all.example.net:*", "*.sub.example.org", "10.0.0.5:11434", "[::1]:80",
		"*:8080", "tcp://db.internal:5432", "!bad.sub.example.org", "!worse.example.net:8080", "https://base.example.com/v1")
	list = append(list, hosts.Builtin("builtin.example.com", "example.com")...)
	cases := []struct {
		host             string
		port             int
		allowed, private bool
	}{
		{"example.com", 443, true, true}, {"example.com", 80, true, true}, {"example.com", 8443, false, false},
		{"EXAMPLE.com.", 443, true, true}, {"www.example.com", 443, false, false}, {"evilexample.com", 443, false, false},
		{"example.com.evil.net", 443, false, false},
		{"api.example.net", 8443, true, true}, {"api.example.net", 443, false, false},
		{"all.example.net", 1, true, true}, {"all.example.net", 65535, true, true},
		{"a.sub.example.org", 443, true, false}, {"b.a.sub.example.org", 80, true, false},
		{"sub.example.org", 443, false, false}, {"evilsub.example.org", 443, false, false},
		{"bad.sub.example.org", 443, false, false}, {"x.bad.sub.example.org", 443, true, false},
		{"10.0.0.5", 11434, true, true}, {"::ffff:10.0.0.5", 11434, true, true}, {"10.0.0.5", 80, false, false},
		{"0:0:0:0:0:0:0:1", 80, true, true},
		{"anything.example", 8080, true, false}, {"worse.example.net", 8080, false, false},
		{"db.internal", 5432, true, true}, {"db.internal", 443, false, false},
		{"base.example.com", 443, true, true}, {"base.example.com", 80, false, false},
		{"builtin.example.com", 443, true, false},
		{"example.com", 0, false, false}, {"example.com", 65536, false, false}, {"", 443, false, false},
		{"example.com\x00", 443, false, false}, {"127.1", 8080, false, false}, {"fe80::1%eth0", 8080, false, false},
	}
	for _, c := range cases {
		if allowed, private := list.Match(c.host, c.port); allowed != c.allowed || private != c.private {
			t.Errorf("Match(%q, %d) = %v, %v, want %v, %v", c.host, c.port, allowed, private, c.allowed, c.private)
		}
	}
	if allowed, _ := (hosts.List{hosts.Rule{}}).Match("example.com", 443); allowed {
		t.Error("the zero Rule allows example.com:443")
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		entry string
		want  bool
	}{{"*", true}, {"*:443", false}, {"*:*", false}, {"*.example.com", false}} {
		if got := parse(t, c.entry).Open(); got != c.want {
			t.Errorf("Open() of %q = %v, want %v", c.entry, got, c.want)
		}
	}
	if (hosts.List)(nil).Open() {
		t.Error("the empty list is open")
	}
}

func TestParseListSaysEverythingAtOnce(t *testing.T) {
	t.Parallel()
	_, err := hosts.ParseList([]string{"a/b", "good.example", "127.1"})
	if err == nil || !strings.Contains(err.Error(), "a/b") || !strings.Contains(err.Error(), "127.1") {
		t.Errorf("ParseList: %v, want both wrong entries named", err)
	}
	for name, c := range map[string]struct {
		entries []string
		says    string
	}{
		"a refusal that nothing enforces": {[]string{"*", "!evil.example"}, `"!evil.example" has no effect`},
		"two servers for a port":          {[]string{"tcp://a.example:5432", "tcp://b.example:5432"}, "port 5432"},
	} {
		if _, err := hosts.ParseList(c.entries); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

func TestForwards(t *testing.T) {
	t.Parallel()
	list := parse(t, "tcp://db.internal:5432", "tcp://db.internal:5432", "tcp://localhost:6379", "tcp://no.example:1", "!no.example", "example.com:5433")
	want := []hosts.Forward{{Host: "db.internal", Port: 5432}, {Host: "localhost", Port: 6379}}
	if got := list.Forwards(); !slices.Equal(got, want) {
		t.Fatalf("Forwards() = %v, want %v", got, want)
	}
	if want[0].Loopback() || !want[1].Loopback() {
		t.Error("Loopback() of db.internal, localhost: want false, true")
	}
}

func parse(t *testing.T, entries ...string) hosts.List {
	t.Helper()
	list, err := hosts.ParseList(entries)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// FuzzParse: what is read can be written and read again, and below a name is
// never the name itself nor one that only ends like it.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"example.com", "*.example.com", "*:443", "*", "!example.com:80", "tcp://db.internal:5432", "https://api.example.com/v1", "[::1]:80",
		"0x7f.1", "bücher.example", "１.2.3.4", "*.xn--bcher-kva.example", "a/b", "x:99999", "*.example.com.", "[fe80::1%25eth0]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		r, err := hosts.Parse(entry)
		if err != nil {
			return
		}
		text := r.String()
		if again, err := hosts.Parse(text); err != nil || again != r {
			t.Fatalf("Parse(%q) is %q, which reads as %#v, %v", entry, text, again, err)
		}
		for _, c := range text {
			if c <= ' ' || c >= 0x7f {
				t.Fatalf("Parse(%q) is %q: not printable ASCII", entry, text)
			}
		}
		name, found := strings.CutPrefix(text, "*.")
		if !found {
			return
		}
		name, _, _ = strings.Cut(name, ":")
		for _, host := range []string{name, "evil" + name} {
			for _, port := range []int{80, 443, 8443} {
				if allowed, _ := (hosts.List{r}).Match(host, port); allowed {
					t.Fatalf("%q allows %s", text, host)
				}
			}
		}
	})
}

// FuzzCanonical: the form is a fixed point.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{"Example.COM.", "127.0.0.1", "0177.1", "::ffff:1.2.3.4", "a..b", "①.②", "xn--a", "_x", "fe80::1%1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		once, err := hosts.Canonical(host)
		if err != nil {
			return
		}
		if twice, err := hosts.Canonical(once); err != nil || twice != once {
			t.Fatalf("Canonical(%q) = %q, again %q, %v", host, once, twice, err)
		}
	})
}
