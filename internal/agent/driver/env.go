package driver

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
)

// Lookup is the value of a variable in an environment; the last one wins.
func Lookup(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// Without is a copy of env that lacks the named variables.
func Without(env []string, names ...string) []string {
	kept := make([]string, 0, len(env)+8)
	for _, kv := range env {
		if k, _, _ := strings.Cut(kv, "="); !slices.Contains(names, k) {
			kept = append(kept, kv)
		}
	}
	return kept
}

// Set is a copy of env with a variable.
func Set(env []string, name, value string) []string {
	return append(Without(env, name), name+"="+value)
}

// SetUnset is a copy of env in which the named variables that had no value have this one.
func SetUnset(env []string, value string, names ...string) []string {
	for _, name := range names {
		if Lookup(env, name) == "" {
			env = Set(env, name, value)
		}
	}
	return env
}

// IsSet reports whether one of the variables has a value.
func IsSet(o Options, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return Lookup(o.Env, name) != "" })
}

// IsOn reports whether a switch of claude's is on.
func IsOn(value string) bool {
	return slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(value))
}

// FirstSet is the first of the variables that has a value; else the first.
func FirstSet(o Options, names []string) string {
	if i := slices.IndexFunc(names, func(name string) bool { return Lookup(o.Env, name) != "" }); i >= 0 {
		return names[i]
	}
	return names[0]
}

// Federated reports whether a workload's identity is to be exchanged for a key, by
// the variables that the CLIs of Anthropic and of OpenAI read.
func Federated(o Options, vendor string) bool {
	return IsSet(o, vendor+"_FEDERATION_RULE_ID") && IsSet(o, vendor+"_IDENTITY_TOKEN", vendor+"_IDENTITY_TOKEN_FILE")
}

// HasKey reports whether one of the agent's keys is set.
func HasKey(o Options, name string) bool { return IsSet(o, catalog.Of(name).Keys()...) }

// VertexHosts are those of Google's models in a region, and of the identity of a
// workload.
func VertexHosts(o Options, region string) []string {
	hosts := []string{"aiplatform.googleapis.com", "oauth2.googleapis.com"}
	switch region {
	case "", "global":
	case "us", "eu":
		hosts = append(hosts, "aiplatform."+region+".rep.googleapis.com")
	default:
		hosts = append(hosts, region+"-aiplatform.googleapis.com")
	}
	if Lookup(o.Env, "GOOGLE_APPLICATION_CREDENTIALS") != "" {
		hosts = append(hosts, "sts.googleapis.com", "iamcredentials.googleapis.com", "*.actions.githubusercontent.com")
	}
	return hosts
}

// Label is a text that can stand between the dots of a host's name; empty for any
// other.
func Label(s string) string {
	if len(s) > 63 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" {
		return ""
	}
	return strings.ToLower(s)
}

// HostOf is the pattern for an address; empty for one on loopback or that is none.
func HostOf(address string) string {
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

// HostsOf are the patterns for addresses.
func HostsOf(addresses ...string) []string {
	var all []string
	for _, address := range addresses {
		if host := HostOf(address); host != "" {
			all = append(all, host)
		}
	}
	return all
}
