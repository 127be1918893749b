// Package network is what the sandboxed processes of a run reach: the hosts of its agents, its
// languages and its forge, by a proxy that checks names, and by key proxies that add a key.
package network

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
	"github.com/org/ralph-action/internal/run/credentials"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/egress"
)

// Network is what sandboxed processes reach. A nil network is an open one.
type Network struct {
	proxy      *egress.Proxy
	java       bool                        // programs of the JVM are told of it, too
	keyProxies map[string]*egress.KeyProxy // by what keyProxyOf says; each adds a provider's key
	ports      []uint16                    // of loopback, which the user's own addresses name

	mu     sync.Mutex
	direct map[string]ralph.Refused // refused without the proxy having been asked
	rest   int                      // further ones
}

// Options are what a network is made for.
type Options struct {
	Config      config.Config
	Agents      []agent.Options // that the run may ask
	Workspace   string          // absolute
	Dir         string          // where the agent works, absolute
	Server      string          // of the forge; empty: GitHub's
	Getenv      func(string) string
	Credentials *credentials.OfRun
	Say, Note   func(string)
}

// Open starts the proxies, before the sandbox is built that leaves no other way out. They
// serve until Close, also after ctx has ended.
func Open(ctx context.Context, o Options) (*Network, error) {
	n := &Network{keyProxies: map[string]*egress.KeyProxy{}, direct: map[string]ralph.Refused{}}
	err := n.open(ctx, o)
	if err != nil {
		n.Close()
	}
	return n, err
}

func (n *Network) open(ctx context.Context, o Options) error {
	if o.Config.Provider.KeyProxy {
		if err := o.keyTaken(); err != nil {
			return err
		}
		for _, a := range o.Agents {
			if err := n.openKeyProxy(context.WithoutCancel(ctx), o, a); err != nil {
				return fmt.Errorf("key proxy: %w", err)
			}
		}
	}
	if !o.Config.Sandbox.AllowedHosts.Open() {
		return n.openProxy(ctx, o)
	}
	if len(o.Config.Sandbox.Services) > 0 {
		o.Say("Services: where the runner put them, because the network is open")
	}
	return nil
}

// openProxy starts the proxy through which sandboxed processes reach the hosts they may.
func (n *Network) openProxy(ctx context.Context, o Options) (err error) {
	services, said := egress.Services(ctx, o.Config.Sandbox.Services)
	if len(said) > 0 {
		o.Say("Services: " + strings.Join(said, ", "))
	}
	list := append(o.reachable(), services...)
	for _, a := range o.Agents {
		n.ports = append(n.ports, loopbackPorts(o.withoutFile(a))...)
	}
	for _, f := range list.Forwards() {
		if f.Loopback() {
			n.ports = append(n.ports, uint16(f.Port)) // #nosec G115 -- a port
		}
	}
	n.java = buildsJava(o.Dir)
	opts := egress.Options{Hosts: list, Upstream: egress.Environment(o.Getenv), Password: o.Credentials.Password.Reveal()}
	if n.java { // most of its tools cannot be told one
		opts.Password = ""
	}
	if n.proxy, err = egress.Start(context.WithoutCancel(ctx), opts); err != nil {
		return err
	}
	o.Say("Hosts that may be reached: " + cmp.Or(o.described(list), "none"))
	if n.proxy.ByName() {
		o.Note("This machine uses a proxy of its own: hosts are checked by name only, because that proxy resolves them.")
	}
	return nil
}

// Close ends the proxies.
func (n *Network) Close() {
	for _, k := range n.keyProxies {
		k.Close()
	}
	if n.proxy != nil {
		n.proxy.Close()
	}
}

// Restricted reports whether processes reach some hosts only.
func (n *Network) Restricted() bool { return n != nil && n.proxy != nil }

// HidesKey reports whether an agent has a placeholder in place of its key.
func (n *Network) HidesKey() bool { return n != nil && len(n.keyProxies) > 0 }

// Policy is the addresses that sandboxed processes reach; nil when the network is open.
func (n *Network) Policy(sockets []string) *confine.Network {
	if !n.Restricted() {
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

// Variables are those by which programs find the proxy.
func (n *Network) Variables() map[string]string {
	if !n.Restricted() {
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

// Refuse notes a connection that the sandbox refused.
func (n *Network) Refuse(address, reason string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, known := n.direct[address]
	if !known && len(n.direct) >= maxDirect {
		n.rest++
		return
	}
	n.direct[address] = ralph.Refused{Address: address, Count: r.Count + 1, Reason: reason}
}

// Refused is all that was refused, the most frequent first.
func (n *Network) Refused() []ralph.Refused {
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
func (n *Network) counts() map[string]int {
	counts := map[string]int{}
	for _, r := range n.Refused() {
		counts[r.Address] = r.Count
	}
	return counts
}

// WatchEngines begins to watch for container engines that are refused; what it returns
// says which, and what to do.
func (n *Network) WatchEngines() func() string {
	before := n.counts()
	return func() string {
		for _, r := range n.Refused() {
			if r.Reason == confine.EngineRefused && r.Count > before[r.Address] {
				return r.Address + " was refused: " + r.Reason
			}
		}
		return ""
	}
}

// Watch begins to watch for what is refused; what it returns are the addresses since then.
func (n *Network) Watch() func() []string {
	before := n.counts()
	return func() (addresses []string) {
		for _, r := range n.Refused() {
			if r.Count > before[r.Address] {
				addresses = append(addresses, r.Address)
			}
		}
		return addresses
	}
}
