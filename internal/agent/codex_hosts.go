package agent

import (
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
)

// elsewhere: settings and arguments of codex's that name a provider, an address or a login.
func (codex) elsewhere() []string {
	return []string{"model_provider", "base_url", "profile", "--oss", "-p\n", "forced_login_method"}
}

// door is for endpoints of the Responses API. codex 0.169 sends every key as a
// bearer's, azure's as well. Its own provider tries a WebSocket first.
func (codex) door(o Options) (Door, bool) {
	d := Door{
		Upstream: firstOf(o.BaseURL, lookup(o.Env, "OPENAI_BASE_URL"), catalog.Of("codex").Address), Header: "Authorization", Scheme: "Bearer",
		Endpoints: openaiEndpoints(""), KeyVariable: firstSet(o, codexKeys(o)[:2]),
	}
	switch {
	case o.Provider == "azure":
		d.KeyVariable = azureKey
		d.Upstream = azureAddress(o.BaseURL)
	case o.Provider == "responses":
	case o.Provider == "" && holds(codexHome(o), "config.toml"):
		return Door{}, false // which may name another provider
	case d.KeyVariable == "OPENAI_API_KEY" && (lookup(o.Env, "CODEX_ACCESS_TOKEN") != "" || holds(codexHome(o), "auth.json")):
		return Door{}, false // codex uses its login
	default:
		d.WebSocket = true
	}
	return d, true
}

// azureAddress completes an address of azure as [codexProvider] does.
func azureAddress(base string) string {
	rest := strings.TrimRight(base, "/")
	if _, host, ok := strings.Cut(rest, "://"); ok && !strings.ContainsAny(host, "/?#") {
		return rest + "/openai/v1"
	}
	return base
}

func (codex) hosts(o Options) []string {
	hosts := hostsOf(firstOf(o.BaseURL, lookup(o.Env, "OPENAI_BASE_URL"), catalog.Of("codex").Address))
	if o.Provider == "azure" || o.Provider == "responses" {
		return hosts
	}
	set := func(name string) bool { return lookup(o.Env, name) != "" }
	switch {
	case set("CODEX_API_KEY"), set("OPENAI_API_KEY") && !set("CODEX_ACCESS_TOKEN") && !holds(codexHome(o), "auth.json"):
		return hosts
	case federated(o, "OPENAI"):
		return append(hosts, "auth.openai.com")
	}
	return append(hosts, "auth.openai.com", "chatgpt.com")
}
