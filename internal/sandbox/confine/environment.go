package confine

import (
	"maps"
	"slices"
	"strings"
)

// Environment is what a child sees: from, reduced to the names that are
// harmless everywhere (paths, language, terminal, proxies, trust stores) and
// those in allow, then overlaid with set. Of a name that occurs twice the last
// counts. CLAUDECODE never passes: a nested claude refuses to start under it.
// The result is sorted and never nil.
func Environment(from, allow []string, set map[string]string) []string {
	env := map[string]string{}
	for _, kv := range from {
		if name, value, ok := strings.Cut(kv, "="); ok && (isHarmless(name) || slices.Contains(allow, name)) {
			env[name] = value
		}
	}
	maps.Copy(env, set)
	delete(env, "CLAUDECODE")
	delete(env, "")
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

func isHarmless(name string) bool {
	switch name {
	case "PATH", "HOME", "LANG", "LANGUAGE", "TERM", "COLORTERM", "NO_COLOR", "TZ", "CI":
		return true
	}
	return strings.HasPrefix(name, "LC_") || isNetwork(name)
}

// isNetwork reports whether programs find the way out of this machine by the name:
// proxies and trust stores.
func isNetwork(name string) bool {
	switch name {
	case "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
		"http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"NODE_USE_ENV_PROXY",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS",
		"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
		"CARGO_HTTP_CAINFO", "PIP_CERT", "AWS_CA_BUNDLE", "DENO_CERT":
		return true
	}
	return false
}
