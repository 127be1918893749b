package confine

import (
	"bytes"
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// address is where a connect wants to go.
type address struct {
	family   uint16
	ip       netip.AddrPort // AF_INET and AF_INET6; as written, IPv4 in IPv6 included
	scope    uint32         // AF_INET6
	path     string         // AF_UNIX; may hold any byte but NUL
	abstract bool           // AF_UNIX: path is no path
}

// maxAddress is the kernel's, sizeof(struct sockaddr_storage).
const maxAddress = 128

// parseAddress reads a struct sockaddr as connect(2) does; the length of b is
// what the caller said it is. Families with an own error keep it.
func parseAddress(b []byte) (a address, errno unix.Errno) {
	if len(b) < 2 || len(b) > maxAddress {
		return address{}, unix.EINVAL
	}
	a.family = binary.NativeEndian.Uint16(b)
	rest := b[2:]
	switch a.family {
	case unix.AF_INET:
		if len(b) < unix.SizeofSockaddrInet4 {
			return address{}, unix.EINVAL
		}
		a.ip = netip.AddrPortFrom(netip.AddrFrom4([4]byte(rest[2:6])), binary.BigEndian.Uint16(rest))
	case unix.AF_INET6:
		const withoutScope = 24 // SIN6_LEN_RFC2133
		if len(b) < withoutScope {
			return address{}, unix.EINVAL
		}
		a.ip = netip.AddrPortFrom(netip.AddrFrom16([16]byte(rest[6:22])), binary.BigEndian.Uint16(rest))
		if len(b) >= unix.SizeofSockaddrInet6 {
			a.scope = binary.NativeEndian.Uint32(b[withoutScope:])
		}
	case unix.AF_UNIX:
		if len(rest) == 0 || len(b) > unix.SizeofSockaddrUnix {
			return address{}, unix.EINVAL
		}
		if rest[0] == 0 {
			a.abstract, a.path = true, string(rest[1:])
			break
		}
		path, _, _ := bytes.Cut(rest, []byte{0})
		a.path = string(path)
	}
	return a, 0
}

// direct is the address with what means loopback written as loopback: nothing
// of it is left for the kernel to interpret.
func (a address) direct() netip.AddrPort {
	ip := a.ip.Addr().Unmap()
	switch {
	case ip.Is4() && ip.IsUnspecified():
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case ip.IsUnspecified():
		ip = netip.IPv6Loopback()
	}
	return netip.AddrPortFrom(ip, a.ip.Port())
}

// sockaddr is direct's address for a socket of the family.
func (a address) sockaddr(family int) unix.Sockaddr {
	to := a.direct()
	if family == unix.AF_INET {
		return &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16(), ZoneId: a.scope}
}
