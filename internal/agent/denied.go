package agent

import (
	"net"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// Denied says of a failed turn that the network walls are to blame for it:
// refused are the addresses (host:port) they refused during the turn. It is f
// itself where none of them is one the agent needs, or where the failure is none
// that a refused connection can cause. The new failure ends the run: the next
// turn would be refused, too.
func Denied(f *ralph.Failure, refused []string, o Options) *ralph.Failure {
	if f == nil || !slices.Contains([]ralph.FailureKind{ralph.FailureAuth, ralph.FailureAPI, ralph.FailureModel, ralph.FailureRequest,
		ralph.FailureCrash, ralph.FailureMalformed, ralph.FailureEmpty, ralph.FailureTimeout, ralph.FailureIdle}, f.Kind) {
		return f
	}
	address := deniedHost(refused, o)
	if address == "" || f.Kind == ralph.FailureAuth && slices.Contains(catalog.Of(o.Name).SideHosts, strings.TrimSuffix(address, ":443")) {
		return f
	}
	host := strings.TrimSuffix(address, ":443")
	return &ralph.Failure{Kind: ralph.FailureDenied, Message: driver.Clip("the sandbox refused "+address+
		", which "+o.Name+" needs: add "+host+" to allowed-hosts", driver.MaxMessage)}
}

// deniedHost is the first of the refused addresses that the agent needs; empty:
// none. Foreign text that is safe to show.
func deniedHost(refused []string, o Options) string {
	if len(refused) == 0 {
		return ""
	}
	needed := Hosts(o)
	i := slices.IndexFunc(refused, func(address string) bool {
		return slices.ContainsFunc(needed, func(pattern string) bool { return matches(pattern, address) })
	})
	if i < 0 {
		return ""
	}
	return driver.Clip(driver.OneLine(refused[i]), driver.MaxName)
}

// matches says that an address (host:port) is one of a pattern of [Hosts].
func matches(pattern, address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = address, "443"
	}
	name, wanted, err := net.SplitHostPort(pattern)
	if err != nil {
		name, wanted = pattern, "443"
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if port != wanted {
		return false
	}
	if suffix, ok := strings.CutPrefix(name, "*."); ok {
		return strings.HasSuffix(host, "."+suffix)
	}
	return host == name
}
