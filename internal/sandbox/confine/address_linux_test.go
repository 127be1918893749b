package confine

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func rawAddress(family uint16, rest ...byte) []byte {
	return append(binary.NativeEndian.AppendUint16(nil, family), rest...)
}

func rawIPv6(addr string, port uint16) []byte {
	ip := netip.MustParseAddr(addr).As16()
	b := binary.BigEndian.AppendUint16(rawAddress(unix.AF_INET6), port)
	return append(append(append(b, 0, 0, 0, 0), ip[:]...), 0, 0, 0, 0)
}

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		b     []byte
		ip    string // as it is meant; "" for others
		path  string
		errno unix.Errno
	}{
		{"IPv4", rawAddress(unix.AF_INET, 1, 187, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0), "192.0.2.1:443", "", 0},
		{"IPv4, any", rawAddress(unix.AF_INET, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), "127.0.0.1:80", "", 0},
		{"IPv4, short", rawAddress(unix.AF_INET, 0, 80, 127, 0, 0, 1), "", "", unix.EINVAL},
		{"IPv6", rawIPv6("2001:db8::1", 443), "[2001:db8::1]:443", "", 0},
		{"IPv6, any", rawIPv6("::", 80), "[::1]:80", "", 0},
		{"IPv6, IPv4 within", rawIPv6("::ffff:10.0.0.1", 80), "10.0.0.1:80", "", 0},
		{"IPv6, any IPv4 within", rawIPv6("::ffff:0.0.0.0", 80), "127.0.0.1:80", "", 0},
		{"IPv6, without scope", rawIPv6("::1", 80)[:24], "[::1]:80", "", 0},
		{"IPv6, short", rawIPv6("::1", 80)[:23], "", "", unix.EINVAL},
		{"unix", rawAddress(unix.AF_UNIX, []byte("/a\x00junk")...), "", "/a", 0},
		{"unix, to its end", rawAddress(unix.AF_UNIX, []byte("/ab")...), "", "/ab", 0},
		{"unix, abstract", rawAddress(unix.AF_UNIX, 0, 'a', 0, 'b'), "", "a\x00b", 0},
		{"unix, without name", rawAddress(unix.AF_UNIX), "", "", unix.EINVAL},
		{"unix, long", rawAddress(unix.AF_UNIX, make([]byte, 109)...), "", "", unix.EINVAL},
		{"vsock", rawAddress(unix.AF_VSOCK, make([]byte, 14)...), "", "", 0},
		{"nothing", nil, "", "", unix.EINVAL},
		{"one byte", []byte{2}, "", "", unix.EINVAL},
		{"too long", make([]byte, 129), "", "", unix.EINVAL},
	} {
		a, errno := parseAddress(tc.b)
		ip := ""
		if a.ip.IsValid() {
			ip = a.direct().String()
		}
		if errno != tc.errno || ip != tc.ip || a.path != tc.path || a.abstract != strings.Contains(tc.name, "abstract") {
			t.Errorf("parseAddress(%s) = %+v (%s), %v, want %s %q, %v", tc.name, a, ip, errno, tc.ip, tc.path, tc.errno)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add(rawIPv6("::ffff:127.0.0.1", 53))
	f.Add(rawAddress(unix.AF_INET, 0, 80, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0))
	f.Add(rawAddress(unix.AF_UNIX, []byte("/run/docker.sock")...))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, errno := parseAddress(b)
		if errno != 0 {
			return
		}
		if strings.Contains(a.path, "\x00") && !a.abstract {
			t.Errorf("parseAddress(%q) = a path with a NUL: %q", b, a.path)
		}
		if !a.ip.IsValid() {
			return
		}
		// What is judged is what is connected to.
		to := a.direct()
		if to.Addr().IsUnspecified() || to.Addr().Is4In6() {
			t.Errorf("parseAddress(%q).direct() = %s", b, to)
		}
		switch sa := a.sockaddr(unix.AF_INET6).(type) {
		case *unix.SockaddrInet6:
			if got := netip.AddrPortFrom(netip.AddrFrom16(sa.Addr).Unmap(), uint16(sa.Port)); got != to {
				t.Errorf("sockaddr of %s = %s", to, got)
			}
		default:
			t.Errorf("sockaddr = %T", sa)
		}
	})
}

func TestAllowed(t *testing.T) {
	t.Parallel()
	d := &allowed{
		proxies: map[netip.AddrPort]bool{netip.MustParseAddrPort("127.0.0.1:3128"): true},
		ports:   map[uint16]bool{5432: true, 53: true},
	}
	const open, closed, own = "open", "closed", "to own servers"
	for to, want := range map[string]string{
		"127.0.0.1:3128": open, "127.0.0.2:3128": own, "[::1]:3128": own, "10.0.0.1:3128": closed,
		"127.0.0.1:5432": open, "[::1]:5432": open, "10.0.0.1:5432": closed,
		"127.0.0.1:22": own, "127.3.2.1:22": own, "[::1]:22": own,
		"127.0.0.1:53": closed, "127.0.0.53:53": closed,
		"192.0.2.1:8080": closed, "169.254.169.254:80": closed, "[fe80::1]:8080": closed, "[::7f00:1]:8080": closed, "224.0.0.1:8080": closed,
	} {
		reason, named := d.closed(netip.MustParseAddrPort(to))
		got := closed
		if reason == "" && named {
			got = open
		} else if reason == "" {
			got = own
		}
		if got != want {
			t.Errorf("closed(%s) = %q, %v: %s, want %s", to, reason, named, got, want)
		}
	}
}
