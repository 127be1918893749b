package egress

import (
	"net"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/sandbox/hosts"
)

// target is a host in its canonical form and a port.
type target struct {
	host string
	port int
}

func (t target) String() string { return net.JoinHostPort(t.host, strconv.Itoa(t.port)) }

// parseAuthority reads host:port, IPv6 in brackets, as it stands behind CONNECT
// and between http:// and the path; fallback is the port where none stands, or 0
// where one has to. What has more than one reading is refused: users, zones,
// numbers that only some programs take for an address, ports with a sign or
// leading zeros, percent signs, bytes that are not ASCII.
func parseAuthority(text string, fallback int) (target, error) {
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`@/\?#%`, c) >= 0 {
			return target{}, &refusal{badAddress}
		}
	}
	host, port := text, fallback
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") {
		n, err := hosts.Port(text[i+1:])
		if err != nil {
			return target{}, &refusal{badAddress}
		}
		host, port = text[:i], n
	}
	inside, bracket := strings.CutPrefix(host, "[")
	if bracket {
		var closed bool
		if host, closed = strings.CutSuffix(inside, "]"); !closed || !strings.Contains(host, ":") {
			return target{}, &refusal{badAddress}
		}
	}
	if port == 0 || !bracket && strings.Contains(host, ":") {
		return target{}, &refusal{badAddress}
	}
	host, err := hosts.Canonical(host)
	if err != nil {
		return target{}, &refusal{badAddress}
	}
	return target{host, port}, nil
}
