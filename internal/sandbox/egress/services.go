package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/org/ralph-action/internal/sandbox/hosts"
)

// serviceTime bounds connecting to a port of loopback.
const serviceTime = 2 * time.Second

// Services returns the rules that open the job's services, and a line for each. On the
// runner itself they are ports of loopback. Inside of a container they are found by
// name, on a network that both are on.
func Services(ctx context.Context, all []hosts.Service) (rules hosts.List, said []string) {
	for _, s := range all {
		switch at := fmt.Sprintf("%s on localhost:%d", s.Name, s.Published); {
		case s.Port == 0:
			said = append(said, s.Name+" (not reachable: the job's ports: publish none of its ports)")
		case listensHere(ctx, s.Published):
			rules, said = append(rules, s.Here()), append(said, at)
		case beside(ctx, s.Name):
			rules, said = append(rules, s.Beside()), append(said, at)
		default:
			said = append(said, at+" (not reachable: nothing listens there, and no container of that name is on this network)")
		}
	}
	return rules, said
}

func listensHere(ctx context.Context, port int) bool {
	dialer := net.Dialer{Timeout: serviceTime}
	return slices.ContainsFunc([]string{"127.0.0.1", "::1"}, func(address string) bool {
		c, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(port)))
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	})
}

// beside reports whether a name is that of a neighbour: a name service may know
// others by the same name.
func beside(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return false
	}
	interfaces, _ := net.InterfaceAddrs()
	return slices.ContainsFunc(addresses, func(a netip.Addr) bool {
		return slices.ContainsFunc(interfaces, func(i net.Addr) bool {
			prefix, err := netip.ParsePrefix(i.String())
			return err == nil && prefix.Contains(a.Unmap())
		})
	})
}
