package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/egress"
	"github.com/org/ralph-action/internal/hosts"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox"
	"github.com/org/ralph-action/internal/secret"
)

// network is what guests reach of the world. A nil network is an open one.
type network struct {
	proxy *egress.Proxy
	java  bool                    // programs of the JVM are told of it, too
	doors map[string]*egress.Door // by what doorKey says; each adds a provider's key
	ports []uint16                // of loopback, which the user's own addresses name

	mu     sync.Mutex
	direct map[string]ralph.Refused // refused without the proxy having been asked
	rest   int                      // further ones
}

// walled says that guests of this run have walls of ours around them, as far as
// the machine can.
func (j *job) walled() bool {
	return j.cfg.Isolation != config.IsolationOff && j.wantBox != config.IsolationDocker
}

// openNetwork starts the ways out, before the walls are built that leave no
// other.
func (j *job) openNetwork(ctx context.Context) error {
	if !j.walled() {
		return nil
	}
	all, err := j.everyAgent()
	if err != nil {
		return invalid(err)
	}
	n := &network{doors: map[string]*egress.Door{}, direct: map[string]ralph.Refused{}}
	if j.cfg.KeyProxy {
		if err := j.keyTaken(all); err != nil {
			return invalid(err)
		}
		for _, o := range all {
			if err := j.openDoor(ctx, n, o); err != nil {
				return invalid(fmt.Errorf("key proxy: %w", err))
			}
		}
	}
	if !j.cfg.AllowedHosts.Open() {
		if err := j.openProxy(ctx, n, all); err != nil {
			return invalid(err)
		}
	}
	j.network = n
	return nil
}

// keyTaken refuses a file of the repository by which the key would have to be the
// agent's: somebody else may have written it.
func (j *job) keyTaken(all []agent.Options) error {
	if len(j.cfg.FromFile) == 0 {
		return nil
	}
	for _, o := range all {
		if _, ok := agent.KeyDoor(o); ok {
			continue
		}
		if _, ok := agent.KeyDoor(j.withoutFile(o)); ok {
			return fmt.Errorf("%s in a file of the repository would take the key out of ralph's hands and give it to the agent: give it as an input of the workflow or as a flag, or set key-proxy: off", strings.Join(j.cfg.FromFile, ", "))
		}
	}
	return nil
}

// withoutFile are the options of an agent without what a file of the repository
// said of it.
func (j *job) withoutFile(o agent.Options) agent.Options {
	for _, name := range j.cfg.FromFile {
		switch name {
		case "agent-args":
			o.Args = nil
		case "agent-exact-args":
			o.Exact, o.ExactArgs = false, nil
		case "agent-settings":
			o.Settings = ""
		case "mcp-config":
			o.MCP = ""
		case "provider":
			o.Provider = ""
		}
	}
	return o
}

// everyAgent are the agents a run may ask, as far as where they ask is concerned.
func (j *job) everyAgent() ([]agent.Options, error) {
	o, _, err := j.worker()
	if err != nil {
		return nil, err
	}
	all := []agent.Options{o}
	for _, other := range []func(agent.Options) (agent.Options, bool){j.fallback, j.reviewer} {
		if next, ok := other(o); ok {
			all = append(all, next)
		}
	}
	return all, nil
}

// reachable are the hosts that guests may reach. An agent with a key door asks
// there, and only at what else it was told to ask.
func (j *job) reachable(all []agent.Options) hosts.List {
	list := slices.Clone(j.cfg.AllowedHosts)
	for _, o := range all {
		named := agent.Hosts(o)
		o = j.withoutFile(o)
		if trusted := agent.Hosts(o); slices.ContainsFunc(named, func(host string) bool { return !slices.Contains(trusted, host) }) {
			j.note("Hosts that a file of the repository names (" + strings.Join(j.cfg.FromFile, ", ") + ") are reached only where allowed-hosts names them, too.")
		}
		_, door := agent.KeyDoor(o)
		if door = door && j.cfg.KeyProxy; door {
			o = o.ThroughDoor("http://127.0.0.1:1", "ralph-placeholder")
		}
		ours := o
		ours.MCP, ours.Settings = "", ""
		if !door {
			ours.BaseURL, ours.Env = "", nil
		}
		builtin := agent.Hosts(ours)
		for _, host := range agent.Hosts(o) {
			if slices.Contains(builtin, host) {
				list = append(list, hosts.Builtin(host)...)
			} else if rule, err := hosts.Parse(host); err == nil { // written by a person, who may mean a private address
				list = append(list, rule)
			}
		}
	}
	if j.cfg.DefaultHosts {
		list = append(list, j.forgeHosts()...)
		if root, err := os.OpenRoot(j.workspace); err == nil {
			list = append(list, hosts.Builtin(egress.Registries(root)...)...)
			_ = root.Close()
		}
	}
	return list
}

// forgeHosts are where the forge is read. A server of somebody's own may have a
// private address.
func (j *job) forgeHosts() hosts.List {
	const github = "https://github.com"
	server := cmp.Or(j.site.ServerURL, github)
	if server == github {
		return hosts.Builtin(egress.Forge(server)...)
	}
	var list hosts.List
	for _, host := range egress.Forge(server) {
		if rule, err := hosts.Parse(host); err == nil {
			list = append(list, rule)
		}
	}
	return list
}

// npmNetwork is what npm reaches when it installs an agent: its registry, where
// native programs lie that packages fetch, and what the user allows.
func (j *job) npmNetwork(ctx context.Context) (*network, error) {
	if !j.walled() || j.cfg.AllowedHosts.Open() {
		return nil, nil
	}
	list := append(slices.Clone(j.cfg.AllowedHosts), hosts.Builtin(egress.Forge("https://github.com")...)...)
	list = append(list, hosts.Builtin("registry.npmjs.org")...)
	for _, kv := range j.app.environ {
		name, value, _ := strings.Cut(kv, "=")
		if lower := strings.ToLower(name); !strings.HasPrefix(lower, "npm_config_") || !strings.HasSuffix(lower, "registry") {
			continue
		}
		if rule, err := hosts.Parse(value); err == nil {
			list = append(list, rule)
		}
	}
	p, err := egress.Start(context.WithoutCancel(ctx), egress.Options{Hosts: list, Upstream: egress.Environment(j.app.getenv)})
	if err != nil {
		return nil, fmt.Errorf("allowed-hosts: %w", err)
	}
	return &network{proxy: p, direct: map[string]ralph.Refused{}, ports: registryPorts(j.app.environ)}, nil
}

// registryPorts are the ports of this machine at which a registry is.
func registryPorts(environ []string) []uint16 {
	var o agent.Options
	for _, kv := range environ {
		if strings.HasPrefix(strings.ToLower(kv), "npm_config_") {
			o.Env = append(o.Env, kv)
		}
	}
	return loopbackPorts(o)
}

// openProxy starts the proxy through which guests reach the hosts they may.
func (j *job) openProxy(ctx context.Context, n *network, all []agent.Options) error {
	list := j.reachable(all)
	for _, o := range all {
		n.ports = append(n.ports, loopbackPorts(j.withoutFile(o))...)
	}
	for _, f := range j.cfg.AllowedHosts.Forwards() {
		if f.Loopback() {
			n.ports = append(n.ports, uint16(f.Port)) // #nosec G115 -- a port
		}
	}
	p, err := egress.Start(context.WithoutCancel(ctx), egress.Options{Hosts: list, Upstream: egress.Environment(j.app.getenv)})
	if err != nil {
		return fmt.Errorf("allowed-hosts: %w", err)
	}
	j.atEnd(p.Close)
	n.proxy = p
	n.java = j.buildsJava()
	j.out.say("Hosts that may be reached: " + cmp.Or(briefly(list), "none"))
	if p.ByName() {
		j.note("This machine reaches the world through a proxy of its own: hosts are judged by their names, and where these lead is that proxy's to decide.")
	}
	return nil
}

// briefly is a list of hosts for people, each once.
func briefly(list hosts.List) string {
	words := strings.Fields(list.String())
	slices.Sort(words)
	words = slices.Compact(words)
	const most = 30
	if len(words) > most {
		words = append(words[:most], fmt.Sprintf("and %d more", len(words)-most))
	}
	return strings.Join(words, ", ")
}

// openDoor starts a server that adds an agent's key, where the agent can do with
// one.
func (j *job) openDoor(ctx context.Context, n *network, o agent.Options) error {
	d, ok := agent.KeyDoor(o)
	key := doorKey(o)
	if _, open := n.doors[key]; open || !ok {
		return nil
	}
	upstream, err := url.Parse(d.Upstream)
	if err != nil {
		return err
	}
	opened, err := egress.StartDoor(context.WithoutCancel(ctx), egress.DoorOptions{
		Upstream: upstream, Key: secret.New(variable(o.Env, d.KeyVariable)), Header: d.Header, Scheme: d.Scheme,
		Paths: d.Paths, Proxy: egress.Environment(j.app.getenv),
	})
	if err != nil {
		return err
	}
	j.atEnd(opened.Close)
	n.doors[key] = opened
	return nil
}

// doorKey tells the doors of a run apart; empty for an agent that needs none.
func doorKey(o agent.Options) string {
	d, ok := agent.KeyDoor(o)
	if !ok {
		return ""
	}
	return strings.Join([]string{d.Upstream, d.Header, d.KeyVariable}, " ")
}

// throughDoor are the options of an agent that has no key of its own, where
// there is a door for it.
func (j *job) throughDoor(o agent.Options) agent.Options {
	if j.network == nil {
		return o
	}
	d, ok := j.network.doors[doorKey(o)]
	if !ok {
		return agent.OneKey(o)
	}
	return o.ThroughDoor(d.URL(), d.Placeholder())
}

// walls are the addresses that guests reach; nil when the network is open.
func (n *network) walls(sockets []string) *sandbox.Network {
	if n == nil || n.proxy == nil {
		return nil
	}
	w := &sandbox.Network{Ports: n.ports, Sockets: sockets}
	ports := n.proxy.Ports()
	for _, d := range n.doors {
		ports = append(ports, d.Port())
	}
	for _, port := range ports {
		w.Proxies = append(w.Proxies, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(port))) // #nosec G115 -- a port
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

// buildsJava says that the workspace is built by a program of the JVM.
func (j *job) buildsJava() bool {
	for _, name := range []string{"pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "build.sbt", "deps.edn", "project.clj"} {
		if _, err := os.Lstat(filepath.Join(j.dir(), name)); err == nil {
			return true
		}
	}
	return false
}

// maxDirect bounds the addresses that are told apart.
const maxDirect = 256

// refuse notes a connection that the walls refused.
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

// loopbackPorts are the ports of this machine that the user's own words name: a
// model server at localhost, for example.
func loopbackPorts(o agent.Options) []uint16 {
	var ports []uint16
	add := func(address string) {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" {
			return
		}
		ip := net.ParseIP(u.Hostname())
		if u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return
		}
		port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
		if p, err := strconv.ParseUint(port, 10, 16); err == nil && !slices.Contains(ports, uint16(p)) {
			ports = append(ports, uint16(p))
		}
	}
	add(o.BaseURL)
	for _, kv := range o.Env {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasSuffix(strings.ToUpper(name), "_PROXY") {
			add(value)
		}
	}
	for _, text := range []string{o.MCP, o.Settings} {
		var v any
		if json.Unmarshal([]byte(text), &v) == nil {
			eachString(v, add)
		}
	}
	return ports
}

// eachString visits the strings of a JSON value.
func eachString(v any, visit func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			eachString(member, visit)
		}
	case []any:
		for _, member := range v {
			eachString(member, visit)
		}
	case string:
		visit(v)
	}
}

// variable is the value of a variable in an environment; the last one counts.
func variable(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if n, value, _ := strings.Cut(kv, "="); n == name {
			return value
		}
	}
	return ""
}

// tellNetwork puts what was refused into the record.
func (j *job) tellNetwork() { j.report.Network = j.network.refused() }
