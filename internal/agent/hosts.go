package agent

import (
	"encoding/json"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/hosts"
)

// Hosts are the patterns of hosts that an agent has to reach for its models, its
// login and the MCP servers it is given, as allowed-hosts has them: host,
// host:port where the port is not 443, or *.suffix; sorted, each once. Loopback
// is none of them. What a CLI asks besides (updates, telemetry, market places) is
// left out, and so is what the programs it starts ask. Sources: the strings of
// the CLIs in the versions their files name, and what they asked for in a turn.
func Hosts(o Options) []string {
	var all []string
	if f, ok := drivers()[o.Name]; ok {
		all = f.Hosts(o)
	}
	if o.BaseURL != "" {
		all = append(all, driver.HostOf(o.BaseURL))
	}
	if !o.Exact {
		all = append(all, hostsIn(o.MCP, o.Env)...)
		all = append(all, hostsIn(o.Settings, o.Env)...)
	}
	all = slices.DeleteFunc(all, func(host string) bool { return host == "" })
	slices.Sort(all)
	return slices.Compact(all)
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
			if strings.HasSuffix(strings.ToLower(name), "url") && driver.Expand(&v, env) == nil {
				all = append(all, driver.HostOf(v))
			}
		}
	}
	walk("", v)
	return all
}

// Denied says of a failed turn that the sandbox is to blame for it:
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
	for i, pattern := range needed {
		if !strings.Contains(pattern, ":") {
			needed[i] += ":443"
		}
	}
	list := hosts.Builtin(needed...)
	i := slices.IndexFunc(refused, func(address string) bool {
		host, text, _ := net.SplitHostPort(address)
		port, _ := hosts.Port(text)
		is, _ := list.Match(host, port)
		return is
	})
	if i < 0 {
		return ""
	}
	return driver.Clip(driver.OneLine(refused[i]), driver.MaxName)
}

// KeyProxy is how the agent's key can stay with ralph. ok is false if the key has to be
// in the agent's environment: the CLI signs its requests or takes no address, its
// command line or its program is the user's, no key is set, or the CLI was never seen
// with an address of ours. Options that lead through the proxy already have no other.
func KeyProxy(o Options) (d driver.KeyProxy, ok bool) {
	f, found := drivers()[o.Name]
	if !found || o.KeyProxied || o.Exact || o.Argument || leadsElsewhere(o, catalog.Of(o.Name).Overrides) {
		return driver.KeyProxy{}, false
	}
	if d, ok = f.KeyProxy(o); !ok || driver.Lookup(o.Env, d.KeyVariable) == "" {
		return driver.KeyProxy{}, false
	}
	u, err := url.Parse(d.Upstream)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
		return driver.KeyProxy{}, false
	}
	d.Upstream = strings.TrimRight(d.Upstream, "/")
	return d, true
}

// ThroughKeyProxy are the options of an agent whose key stays with ralph: it asks
// address, which is http://127.0.0.1:PORT with or without a path, and has
// placeholder for a key. All other keys of the agent are taken out of its
// environment. Without a [KeyProxy] the options stay as they are.
func ThroughKeyProxy(o Options, address, placeholder string) Options {
	d, ok := KeyProxy(o)
	if !ok {
		return o
	}
	o.Env = append(driver.Without(o.Env, append(catalog.Of(o.Name).Keys(), d.KeyVariable)...), d.KeyVariable+"="+placeholder)
	o.BaseURL, o.KeyProxied = strings.TrimRight(address, "/"), true
	return drivers()[o.Name].ThroughKeyProxy(o)
}

// leadsElsewhere reports whether the user's own arguments or settings hold one of the words
// by which they may name another address, key or provider than the options do,
// which the CLI would prefer.
func leadsElsewhere(o Options, words []string) bool {
	given := strings.Join(append(driver.Given(o, o.Name), o.Settings), "\n")
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(given, word) })
}
