package agent

import (
	"net/url"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
)

// KeyDoor is how the agent's key can stay with the owner. ok is false where the
// key has to be in the agent's environment: the CLI signs its requests or takes
// no address, its command line or its program is the user's, no key is set, or
// what the CLI does with an address of ours was never seen. Options that lead
// through a door already have no other.
func KeyDoor(o Options) (d driver.KeyProxy, ok bool) {
	f, found := drivers()[o.Name]
	if !found || o.KeyProxied || o.Exact || o.Argument || leadsElsewhere(o, f.Overrides()) {
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

// ThroughDoor are the options of an agent whose key stays with the owner: it asks
// at address, which is http://127.0.0.1:PORT with or without a path, and has
// placeholder for a key. All other keys of the agent are taken out of its
// environment. Without a [KeyDoor] the options stay as they are.
func ThroughDoor(o Options, address, placeholder string) Options {
	d, ok := KeyDoor(o)
	if !ok {
		return o
	}
	o.Env = append(driver.Without(o.Env, append(catalog.Of(o.Name).Keys(), d.KeyVariable)...), d.KeyVariable+"="+placeholder)
	o.BaseURL, o.KeyProxied = strings.TrimRight(address, "/"), true
	return drivers()[o.Name].ThroughKeyProxy(o)
}

// leadsElsewhere says that the user's own arguments or settings hold one of the words
// by which they may name another address, key or provider than the options do,
// which the CLI would prefer.
func leadsElsewhere(o Options, words []string) bool {
	given := strings.Join(slices.Concat(driver.Behind(o, o.Name), o.Args, []string{o.Settings}), "\n")
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(given, word) })
}
