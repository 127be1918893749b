package agent

import (
	"net/url"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
)

// Door says how an agent's key can stay with the owner: the CLI asks a server of
// ours on loopback, over plain HTTP, with a placeholder for a key, and that
// server asks Upstream with the key.
type Door struct {
	// Upstream is the address of the API, without a slash at its end. A request for
	// /path at the door is one for Upstream + /path; its query stays.
	Upstream string
	// Header holds the key, behind Scheme and a space where Scheme is not empty:
	// "x-api-key", or "Authorization" with "Bearer". The placeholder comes in the same
	// form. Nothing else in a request is the key.
	Header, Scheme string
	// Endpoints are the requests below Upstream that the key is good for, each a method
	// and a path; see [anthropicEndpoints]. They leave out what a model needs not:
	// files, batches, keys, an organization.
	Endpoints []string
	// KeyVariable holds the key in [Options.Env].
	KeyVariable string
	// WebSocket says that the CLI tries one first, with the key in the headers of its
	// handshake. One that is answered with 426 makes it go on without at once (seen:
	// codex 0.169.0); any other refusal takes it seven seconds.
	WebSocket bool
}

// KeyDoor is how the agent's key can stay with the owner. ok is false where the
// key has to be in the agent's environment: the CLI signs its requests or takes
// no address, its command line or its program is the user's, no key is set, or
// what the CLI does with an address of ours was never seen. Options that lead
// through a door already have no other.
func KeyDoor(o Options) (d Door, ok bool) {
	f, found := formats()[o.Name]
	if !found || o.doored || o.Exact || o.Argument || leadsElsewhere(o, f.elsewhere()) {
		return Door{}, false
	}
	if d, ok = f.door(o); !ok || lookup(o.Env, d.KeyVariable) == "" {
		return Door{}, false
	}
	u, err := url.Parse(d.Upstream)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
		return Door{}, false
	}
	d.Upstream = strings.TrimRight(d.Upstream, "/")
	return d, true
}

// ThroughDoor are the options of an agent whose key stays with the owner: it asks
// at address, which is http://127.0.0.1:PORT with or without a path, and has
// placeholder for a key. All other keys of the agent are taken out of its
// environment. Without a [KeyDoor] the options stay as they are.
func (o Options) ThroughDoor(address, placeholder string) Options {
	d, ok := KeyDoor(o)
	if !ok {
		return o
	}
	o.Env = append(without(o.Env, append(catalog.Of(o.Name).Keys(), d.KeyVariable)...), d.KeyVariable+"="+placeholder)
	o.BaseURL, o.doored = strings.TrimRight(address, "/"), true
	return formats()[o.Name].through(o)
}

// leadsElsewhere says that the user's own arguments or settings hold one of the words
// by which they may name another address, key or provider than the options do,
// which the CLI would prefer.
func leadsElsewhere(o Options, words []string) bool {
	given := strings.Join(slices.Concat(behind(o, o.Name), o.Args, []string{o.Settings}), "\n")
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(given, word) })
}
