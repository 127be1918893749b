package run

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/egress"
)

// network is what sandboxed processes reach. A nil network is an open one.
type network struct {
	proxy      *egress.Proxy
	java       bool                        // programs of the JVM are told of it, too
	keyProxies map[string]*egress.KeyProxy // by what keyProxyOf says; each adds a provider's key
	ports      []uint16                    // of loopback, which the user's own addresses name

	mu     sync.Mutex
	direct map[string]ralph.Refused // refused without the proxy having been asked
	rest   int                      // further ones
}

// sandboxes reports whether the processes of this run are sandboxed by us, as far as
// the machine can.
func (p *plan) sandboxes() bool {
	return p.isolation != config.IsolationOff && p.docker != config.IsolationDocker
}

// openNetwork starts the proxies, before the sandbox is built that leaves no
// other.
func (s *sandboxed) openNetwork(ctx context.Context) error {
	if !s.sandboxes() {
		return nil
	}
	all, err := s.everyAgent()
	if err != nil {
		return invalid(err)
	}
	n := &network{keyProxies: map[string]*egress.KeyProxy{}, direct: map[string]ralph.Refused{}}
	if s.cfg.Provider.KeyProxy {
		if err := s.keyTaken(all); err != nil {
			return invalid(err)
		}
		for _, o := range all {
			if err := s.openKeyProxy(ctx, n, o); err != nil {
				return invalid(fmt.Errorf("key proxy: %w", err))
			}
		}
	}
	if !s.cfg.Sandbox.AllowedHosts.Open() {
		if err := s.openProxy(ctx, n, all); err != nil {
			return invalid(err)
		}
	} else if len(s.cfg.Sandbox.Services) > 0 {
		s.rec.out.Say("Services: where the runner put them, because the network is open")
	}
	s.network, s.rec.network = n, n
	return nil
}

// everyAgent are the agents a run may ask, as far as where they ask is concerned.
func (s *sandboxed) everyAgent() ([]agent.Options, error) {
	o, _, err := s.worker()
	if err != nil {
		return nil, err
	}
	all := []agent.Options{o}
	for _, other := range []func(agent.Options) (agent.Options, bool){s.fallback, s.reviewer} {
		if next, ok := other(o); ok {
			all = append(all, next)
		}
	}
	return all, nil
}

// openProxy starts the proxy through which sandboxed processes reach the hosts they may.
func (s *sandboxed) openProxy(ctx context.Context, n *network, all []agent.Options) error {
	services, said := egress.Services(ctx, s.cfg.Sandbox.Services)
	if len(said) > 0 {
		s.rec.out.Say("Services: " + strings.Join(said, ", "))
	}
	list := append(s.reachable(all), services...)
	for _, o := range all {
		n.ports = append(n.ports, loopbackPorts(s.withoutFile(o))...)
	}
	for _, f := range list.Forwards() {
		if f.Loopback() {
			n.ports = append(n.ports, uint16(f.Port)) // #nosec G115 -- a port
		}
	}
	n.java = s.buildsJava()
	o := egress.Options{Hosts: list, Upstream: egress.Environment(s.getenv), Password: s.Credentials.Password.Reveal()}
	if n.java { // most of its tools cannot be told one
		o.Password = ""
	}
	p, err := egress.Start(context.WithoutCancel(ctx), o)
	if err != nil {
		return err
	}
	s.undo.atEnd(p.Close)
	n.proxy = p
	s.rec.out.Say("Hosts that may be reached: " + cmp.Or(briefly(list), "none"))
	if p.ByName() {
		s.rec.note("This machine uses a proxy of its own: hosts are checked by name only, because that proxy resolves them.")
	}
	return nil
}

// policy is the addresses that sandboxed processes reach; nil when the network is open.
func (n *network) policy(sockets []string) *confine.Network {
	if n == nil || n.proxy == nil {
		return nil
	}
	w := &confine.Network{Ports: n.ports, Sockets: sockets}
	add := func(address netip.Addr, port int) {
		w.Proxies = append(w.Proxies, netip.AddrPortFrom(address, uint16(port))) // #nosec G115 -- a port
	}
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	for i, port := range n.proxy.Ports() {
		add(loopback, port)
		if i > 0 {
			add(netip.IPv6Loopback(), port)
		}
	}
	for _, d := range n.keyProxies {
		add(loopback, d.Port())
	}
	return w
}

// variables are those by which programs find the proxy.
func (n *network) variables() map[string]string {
	if n == nil || n.proxy == nil {
		return nil
	}
	set := map[string]string{}
	for _, kv := range n.proxy.Env() {
		name, value, _ := strings.Cut(kv, "=")
		set[name] = value
	}
	if host, port, err := net.SplitHostPort(n.proxy.Address()); n.java && err == nil {
		// The JVM knows no variables for proxies, and says on stderr that it was told.
		set["JAVA_TOOL_OPTIONS"] = fmt.Sprintf("-Dhttp.proxyHost=%[1]s -Dhttp.proxyPort=%[2]s -Dhttps.proxyHost=%[1]s -Dhttps.proxyPort=%[2]s -Dhttp.nonProxyHosts=localhost|127.*|[::1]|0.0.0.0", host, port)
	}
	return set
}

// maxDirect bounds the addresses that are told apart.
const maxDirect = 256

// refuse notes a connection that the sandbox refused.
func (n *network) refuse(address, reason string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, known := n.direct[address]
	if !known && len(n.direct) >= maxDirect {
		n.rest++
		return
	}
	n.direct[address] = ralph.Refused{Address: address, Count: r.Count + 1, Reason: reason}
}

// refused is all that was refused, the most frequent first.
func (n *network) refused() []ralph.Refused {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	var all []ralph.Refused
	for _, r := range n.direct {
		all = append(all, r)
	}
	if n.rest > 0 {
		all = append(all, ralph.Refused{Address: "others", Count: n.rest, Reason: "a direct connection"})
	}
	n.mu.Unlock()
	if n.proxy != nil {
		for _, r := range n.proxy.Refusals() {
			all = append(all, ralph.Refused{Address: r.Address, Count: r.Count, Reason: r.Reason})
		}
	}
	slices.SortFunc(all, func(a, b ralph.Refused) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Address, b.Address))
	})
	return all
}

// counts are how often each address was refused so far.
func (n *network) counts() map[string]int {
	counts := map[string]int{}
	for _, r := range n.refused() {
		counts[r.Address] = r.Count
	}
	return counts
}

// watchEngines begins to watch for container engines that are refused; what it returns
// says which, and what to do.
func (n *network) watchEngines() func() string {
	before := n.counts()
	return func() string {
		for _, r := range n.refused() {
			if r.Reason == confine.EngineRefused && r.Count > before[r.Address] {
				return r.Address + " was refused: " + r.Reason
			}
		}
		return ""
	}
}

// since are the addresses that were refused after counts were taken.
func (n *network) since(counts map[string]int) []string {
	var addresses []string
	for _, r := range n.refused() {
		if r.Count > counts[r.Address] {
			addresses = append(addresses, r.Address)
		}
	}
	return addresses
}
