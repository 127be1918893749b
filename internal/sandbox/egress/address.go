package egress

import (
	"net/netip"
	"slices"
	"strings"
)

// reach is how far an address is away, the nearest last. What an address stands
// for that has another one inside is the nearer of the two.
type reach int

const (
	public       reach = iota
	privateReach       // another machine nearby: RFC 1918, unique local, shared (CGNAT), reserved
	thisMachine        // loopback, and the machine's own addresses
	linkReach          // the same cable
	cloudReach         // a metadata service
	nowhere            // multicast, broadcast, unspecified
)

// where says how far an address is away. own are the machine's addresses.
func where(addr netip.Addr, own []netip.Addr) reach {
	addr = addr.Unmap()
	if !addr.IsValid() || addr.Zone() != "" {
		return nowhere
	}
	// before the ranges they lie in
	if slices.Contains(metadataAddresses(), addr) {
		return cloudReach
	}
	r := public
	switch {
	case addr.IsLoopback():
		r = thisMachine
	case addr.IsUnspecified(), addr.IsMulticast():
		r = nowhere
	case addr.IsLinkLocalUnicast():
		r = linkReach
	default:
		for _, special := range specialRanges() {
			if special.prefix.Contains(addr) {
				r = special.reach
				break
			}
		}
	}
	if r == public && slices.Contains(own, addr) {
		r = thisMachine
	}
	for _, inner := range embedded(addr) {
		r = max(r, where(inner, own))
	}
	return r
}

type specialRange struct {
	prefix netip.Prefix
	reach  reach
}

// specialRanges are from IANA's registries of special-purpose addresses (RFC
// 6890), besides those that netip knows.
func specialRanges() []specialRange {
	ranges := func(r reach, prefixes ...string) (all []specialRange) {
		for _, p := range prefixes {
			all = append(all, specialRange{netip.MustParsePrefix(p), r})
		}
		return all
	}
	return slices.Concat(
		ranges(nowhere, "0.0.0.0/8", "255.255.255.255/32", "64:ff9b:1::/48"),
		ranges(privateReach, "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7", "fec0::/10",
			// nobody's on the Internet, so that networks use them among themselves
			"198.18.0.0/15", "192.0.0.0/24", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "192.88.99.0/24", "240.0.0.0/4",
			"100::/64", "2001:2::/48", "2001:10::/28", "2001:20::/28", "2001:db8::/32", "3fff::/20", "5f00::/16"),
	)
}

// metadataAddresses are the services that hand out a machine's own credentials:
// AWS, GCP, Azure, OpenStack and others at 169.254.169.254; AWS for containers;
// AWS and GCP by IPv6; Azure's WireServer; Alibaba; Oracle; Tencent is
// link-local.
func metadataAddresses() []netip.Addr {
	return []netip.Addr{
		netip.AddrFrom4([4]byte{169, 254, 169, 254}), netip.AddrFrom4([4]byte{169, 254, 170, 2}), netip.AddrFrom4([4]byte{169, 254, 170, 23}),
		netip.AddrFrom4([4]byte{168, 63, 129, 16}), netip.AddrFrom4([4]byte{100, 100, 100, 200}), netip.AddrFrom4([4]byte{192, 0, 0, 192}),
		netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd00:ec2::23"), netip.MustParseAddr("fd20:ce::254"),
	}
}

// metadataName is for where no address can be looked at, and a belt elsewhere.
func metadataName(host string) bool {
	return slices.Contains([]string{
		"metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.internal", "metadata.azure.com", "metadata.tencentyun.com",
		"metadata.packet.net", "metadata.platformequinix.com", "instance-data", "instance-data.ec2.internal",
	}, host) || strings.HasSuffix(host, ".metadata.google.internal")
}

// embedded are the IPv4 addresses inside an IPv6 one: NAT64 (RFC 6052), 6to4,
// Teredo (server and client), ISATAP, the IPv4-compatible and the translated.
func embedded(addr netip.Addr) []netip.Addr {
	if !addr.Is6() {
		return nil
	}
	b := addr.As16()
	at := func(i int, flip byte) netip.Addr {
		return netip.AddrFrom4([4]byte{b[i] ^ flip, b[i+1] ^ flip, b[i+2] ^ flip, b[i+3] ^ flip})
	}
	in := func(prefix string) bool { return netip.MustParsePrefix(prefix).Contains(addr) }
	switch {
	case addr.IsLoopback(), addr.IsUnspecified():
		return nil
	case in("64:ff9b::/96"), in("::/96"), in("::ffff:0:0:0/96"):
		return []netip.Addr{at(12, 0)}
	case in("2002::/16"):
		return []netip.Addr{at(2, 0)}
	case in("2001::/32"):
		return []netip.Addr{at(4, 0), at(12, 0xff)}
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe:
		return []netip.Addr{at(12, 0)}
	}
	return nil
}
