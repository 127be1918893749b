package codex

import (
	"cmp"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
)

// Overrides are settings and arguments of codex's that name a provider, an address or a login.
func (Driver) Overrides() []string {
	return []string{"model_provider", "base_url", "profile", "--oss", "-p\n", "forced_login_method"}
}

// KeyProxy is for endpoints of the Responses API. codex 0.169 sends every key as a
// bearer's, azure's as well. Its own provider tries a WebSocket first.
func (Driver) KeyProxy(o driver.Options) (driver.KeyProxy, bool) {
	d := driver.KeyProxy{
		Upstream: cmp.Or(o.BaseURL, driver.Lookup(o.Env, "OPENAI_BASE_URL"), catalog.Of("codex").Address), Header: "Authorization", Scheme: "Bearer",
		Endpoints: driver.OpenAIEndpoints(""), KeyVariable: driver.FirstSet(o, keyVariables(o)[:2]),
	}
	switch {
	case o.Provider == "azure":
		d.KeyVariable = azureKey
		d.Upstream = azureAddress(o.BaseURL)
	case o.Provider == "responses":
	case o.Provider == "" && driver.Holds(homeOf(o), "config.toml"):
		return driver.KeyProxy{}, false // which may name another provider
	case d.KeyVariable == "OPENAI_API_KEY" && (driver.Lookup(o.Env, "CODEX_ACCESS_TOKEN") != "" || driver.Holds(homeOf(o), "auth.json")):
		return driver.KeyProxy{}, false // codex uses its login
	default:
		d.WebSocket = true
	}
	return d, true
}

// azureAddress completes an address of azure as [providerOverrides] does.
func azureAddress(base string) string {
	rest := strings.TrimRight(base, "/")
	if _, host, ok := strings.Cut(rest, "://"); ok && !strings.ContainsAny(host, "/?#") {
		return rest + "/openai/v1"
	}
	return base
}

// Hosts are those of the API that the options choose.
func (Driver) Hosts(o driver.Options) []string {
	hosts := driver.HostsOf(cmp.Or(o.BaseURL, driver.Lookup(o.Env, "OPENAI_BASE_URL"), catalog.Of("codex").Address))
	if o.Provider == "azure" || o.Provider == "responses" {
		return hosts
	}
	switch {
	case driver.IsSet(o, "CODEX_API_KEY"), driver.IsSet(o, "OPENAI_API_KEY") && !driver.IsSet(o, "CODEX_ACCESS_TOKEN") && !driver.Holds(homeOf(o), "auth.json"):
		return hosts
	case driver.Federated(o, "OPENAI"):
		return append(hosts, "auth.openai.com")
	}
	return append(hosts, "auth.openai.com", "chatgpt.com")
}
