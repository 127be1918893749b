package agent

import (
	"net/url"
	"slices"
	"strings"
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
	_, known := formats()
	f, found := known[o.Name].(doored)
	if !found || o.doored || o.Exact || o.Argument || leadsElsewhere(o) {
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

// doored is a format whose CLI takes an address and a key.
type doored interface {
	format
	// door is the door of the options. Whether the key is set is for the caller to
	// look at.
	door(o Options) (Door, bool)
	// through adds to options that lead through the door already what else the CLI
	// has to be told.
	through(o Options) Options
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
	_, known := formats()
	f, _ := known[o.Name].(doored)
	keys, _ := f.credentials()
	o.Env = append(without(o.Env, append(keys, d.KeyVariable)...), d.KeyVariable+"="+placeholder)
	o.BaseURL, o.doored = strings.TrimRight(address, "/"), true
	return f.through(o)
}

// leadsElsewhere says that the user's own arguments or settings may name another
// address, key or provider than the options do, which the CLI would prefer.
func leadsElsewhere(o Options) bool {
	given := strings.Join(slices.Concat(behind(o, o.Name), o.Args, []string{o.Settings}), "\n")
	for _, word := range map[string][]string{
		"claude":   {"apiKeyHelper", "_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_"},
		"codex":    {"model_provider", "base_url", "profile", "--oss", "-p\n", "forced_login_method"},
		"gemini":   {"selectedType"},
		"opencode": {"baseURL", "apiKey", "--model", "-m\n", "--attach"},
	}[o.Name] {
		if strings.Contains(given, word) {
			return true
		}
	}
	return false
}
