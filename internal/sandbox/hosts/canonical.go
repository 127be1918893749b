package hosts

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
)

// maxName is the length of a name in DNS, in bytes, without the last dot.
const maxName = 253

// Canonical gives the one form of a host in which hosts can be compared: a name
// in lower case, in ASCII (IDNA 2008 as browsers look it up), without the dot
// at its end; an address as netip writes it, IPv4 also where it came inside of
// IPv6. The decimal, octal, hexadecimal and short forms that C libraries take
// for IPv4 (2130706433, 0x7f.1, 127.1), zones and empty labels are errors.
func Canonical(host string) (string, error) {
	if len(host) > maxEntry {
		return "", errors.New("the name is too long")
	}
	if strings.Contains(host, ":") {
		addr, err := netip.ParseAddr(host)
		if err != nil || addr.Zone() != "" {
			return "", errors.New("no IPv6 address; a zone (%eth0) cannot be given")
		}
		return addr.Unmap().String(), nil
	}
	name, err := ascii(host)
	if err != nil {
		return "", err
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if name == "" || len(name) > maxName {
		return "", fmt.Errorf("a name has 1 to %d characters", maxName)
	}
	last := ""
	for last = range strings.SplitSeq(name, ".") {
		if err := checkLabel(last); err != nil {
			return "", err
		}
	}
	if numeric(last) {
		addr, err := netip.ParseAddr(name)
		if err != nil {
			return "", errors.New("an IPv4 address has four decimal numbers, like 127.0.0.1")
		}
		return addr.String(), nil
	}
	return name, nil
}

func ascii(host string) (string, error) {
	for i := range len(host) {
		if host[i] >= 0x80 {
			name, err := idna.Lookup.ToASCII(host)
			if err != nil {
				return "", errors.New("no international name; write it in its xn-- form")
			}
			return name, nil
		}
	}
	return host, nil
}

// checkLabel lets the underscore pass, which names of services in a network of
// containers have.
func checkLabel(label string) error {
	if label == "" || len(label) > 63 {
		return errors.New("the parts between the dots of a name have 1 to 63 characters")
	}
	for i := range len(label) {
		switch c := label[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '_', c == '-' && 0 < i && i < len(label)-1:
		default:
			return errors.New("names have letters, digits, dots, and hyphens inside")
		}
	}
	return nil
}

// numeric is where the URL standard of WHATWG sees an IPv4 address: the last
// label is a number in some notation of C.
func numeric(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	set := "0123456789"
	if hex {
		set += "abcdef"
	}
	return strings.Trim(digits, set) == ""
}
