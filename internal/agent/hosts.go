package agent

import (
	"encoding/json"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Hosts are the patterns of hosts that an agent has to reach for its models, its
// login and the MCP servers it is given, as allowed-hosts has them: host,
// host:port where the port is not 443, or *.suffix; sorted, each once. Loopback
// is none of them. What a CLI asks besides (updates, telemetry, market places) is
// left out, and so is what the programs it starts ask. Sources: the strings of
// the CLIs in the versions their files name, and what they asked for in a turn.
func Hosts(o Options) []string {
	var all []string
	if f, ok := formats()[o.Name]; ok {
		all = f.hosts(o)
	}
	if o.BaseURL != "" {
		all = append(all, hostOf(o.BaseURL))
	}
	if !o.Exact {
		all = append(all, hostsIn(o.MCP, o.Env)...)
		all = append(all, hostsIn(o.Settings, o.Env)...)
	}
	all = slices.DeleteFunc(all, func(host string) bool { return host == "" })
	slices.Sort(all)
	return slices.Compact(all)
}

// hostOf is the pattern for an address; empty for one on loopback or that is none.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	name, port := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), u.Port()
	switch u.Scheme {
	case "https", "wss":
	case "http", "ws":
		if port == "" {
			port = "80"
		}
	default:
		return ""
	}
	ip, err := netip.ParseAddr(name)
	switch {
	case name == "", name == "localhost", strings.HasSuffix(name, ".localhost"), err == nil && ip.Unmap().IsLoopback():
		return ""
	case strings.ContainsAny(name, "*, \t\r\n/"):
		return ""
	case port == "" || port == "443":
		return name
	}
	return net.JoinHostPort(name, port)
}

// hostsOf are the patterns for addresses.
func hostsOf(addresses ...string) []string {
	var all []string
	for _, address := range addresses {
		if host := hostOf(address); host != "" {
			all = append(all, host)
		}
	}
	return all
}

// hostsIn are those of the addresses in JSON of the user's: the strings behind
// names that end with url, whatever their case. Variables are put in for ${NAME}.
func hostsIn(text string, env []string) []string {
	var v any
	if text == "" || json.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	var all []string
	var walk func(name string, v any)
	walk = func(name string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				walk(name, member)
			}
		case []any:
			for _, member := range v {
				walk(name, member)
			}
		case string:
			if strings.HasSuffix(strings.ToLower(name), "url") && expand(&v, env) == nil {
				all = append(all, hostOf(v))
			}
		}
	}
	walk("", v)
	return all
}
