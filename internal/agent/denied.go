package agent

import (
	"net"
	"slices"
	"strings"

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
	needed := Hosts(o)
	for _, address := range refused {
		if !slices.ContainsFunc(needed, func(pattern string) bool { return matches(pattern, address) }) {
			continue
		}
		host := strings.TrimSuffix(address, ":443")
		return &ralph.Failure{Kind: ralph.FailureAuth, Message: clip("the network wall refused "+clip(oneLine(address), maxName)+
			", which "+o.Name+" needs: add "+clip(oneLine(host), maxName)+" to allowed-hosts", maxMessage)}
	}
	return f
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
