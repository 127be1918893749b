package hosts

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// maxList bounds the number of entries.
const maxList = 1000

// List decides by all its rules; their order plays no part.
type List []Rule

// ParseList reads entries, and reports every wrong one at once: those Parse
// refuses, a refusal beside "*", which nothing would enforce, and two tcp://
// entries for the same port.
func ParseList(entries []string) (List, error) {
	if len(entries) > maxList {
		return nil, fmt.Errorf("%d entries; %d are allowed", len(entries), maxList)
	}
	var list List
	var wrong []error
	for _, entry := range entries {
		r, err := Parse(entry)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		list = append(list, r)
	}
	return list, errors.Join(append(wrong, list.check())...)
}

func (l List) check() error {
	if i := slices.IndexFunc(l, func(r Rule) bool { return r.deny }); i >= 0 && l.Open() {
		return fmt.Errorf("%q has no effect beside \"*\", which opens the network; write \"*:443\" and \"*:80\" instead of \"*\"", l[i].String())
	}
	ports := map[int]Forward{}
	for _, f := range l.Forwards() {
		if other, taken := ports[f.Local()]; taken {
			return fmt.Errorf("tcp://%s and tcp://%s: only one of them can have port %d of loopback", other.Address(), f.Address(), f.Local())
		}
		ports[f.Local()] = f
	}
	return nil
}

// Builtin are entries of ours, as rules that no person wrote. An entry that
// Parse refuses is left out.
func Builtin(entries ...string) List {
	var list List
	for _, entry := range entries {
		if r, err := Parse(entry); err == nil {
			list = append(list, r.Builtin())
		}
	}
	return list
}

// Open reports whether the list holds "*": the network restriction is off.
func (l List) Open() bool {
	return slices.ContainsFunc(l, func(r Rule) bool { return r.kind == everything })
}

// Match reports whether a connection to this host and port is allowed. private:
// a rule that a person wrote out for this very host allows it, so that it may
// resolve to a private or loopback address. A host without a canonical form is
// not allowed.
func (l List) Match(host string, port int) (allowed, private bool) {
	host, err := Canonical(host)
	if err != nil || port < 1 || port > 65535 {
		return false, false
	}
	for _, r := range l {
		if !r.covers(host, port) {
			continue
		}
		if r.deny {
			return false, false
		}
		allowed = true
		private = private || r.kind == oneHost && !r.builtin
	}
	return allowed, private
}

func (r Rule) covers(host string, port int) bool {
	switch {
	case r.port == anyPort, r.port == port, r.port == webPorts && (port == 443 || port == 80):
	default:
		return false
	}
	switch r.kind {
	case oneHost:
		return host == r.host
	case belowHost:
		return len(host) > len(r.host)+1 && strings.HasSuffix(host, "."+r.host)
	default:
		return r.kind == everyHost || r.kind == everything
	}
}

// Forward is what a tcp:// entry means: a port of loopback behind which a port of
// the host is.
type Forward struct {
	Host string // canonical
	Port int
	At   int // the port of loopback; 0: the same
}

// Local is the port of loopback.
func (f Forward) Local() int { return cmp.Or(f.At, f.Port) }

// Address is HOST:PORT, IPv6 in brackets.
func (f Forward) Address() string {
	return Rule{kind: oneHost, host: f.Host, port: f.Port}.String()
}

// Loopback reports whether the host is this machine: the port may be reached as it
// is, and nothing has to be forwarded.
func (f Forward) Loopback() bool {
	addr, err := netip.ParseAddr(f.Host)
	return f.Host == "localhost" || err == nil && addr.IsLoopback()
}

// Forwards are the tcp:// entries that no other refuses, each once.
func (l List) Forwards() []Forward {
	var all []Forward
	for _, r := range l {
		f := Forward{r.host, r.port, r.at}
		if allowed, _ := l.Match(r.host, r.port); r.tcp && allowed && !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all
}

// String is the entries, separated by spaces.
func (l List) String() string {
	words := make([]string, 0, len(l))
	for _, r := range l {
		words = append(words, r.String())
	}
	return strings.Join(words, " ")
}
