package codex

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
)

// providerOverrides are the overrides for the provider and its address.
//
// openai is codex's own provider, which tries WebSockets first; a gateway that
// has none is faster as responses: any endpoint of the Responses API. That and
// azure become a provider of ours in the configuration, named ralph. A query in
// the address (azure: ?api-version=…) goes with every request; an address of
// azure without a path is completed with that of its API of today, which needs
// none.
func providerOverrides(o driver.Options) ([]string, error) {
	if err := driver.OneOf("provider", o.Provider, catalog.Of("codex").ProviderNames()...); err != nil {
		return nil, err
	}
	if o.Provider != "azure" && o.Provider != "responses" {
		url := cmp.Or(o.BaseURL, driver.Lookup(o.Env, "OPENAI_BASE_URL")) // 0.169 does not read the variable
		if url == "" {
			return nil, nil
		}
		return []string{"openai_base_url=" + tomlString(url)}, nil
	}
	if o.BaseURL == "" {
		return nil, fmt.Errorf("provider %s: needs base-url, such as %s", o.Provider, map[string]string{
			"azure": "https://NAME.openai.azure.com/openai/v1", "responses": "https://gateway.example.com/v1"}[o.Provider])
	}
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Host == "" {
		return nil, errors.New("base-url: must be an address such as https://gateway.example.com/v1")
	}
	query := map[string]string{}
	for name, values := range u.Query() {
		query[name] = tomlString(values[0])
	}
	u.RawQuery, u.Fragment = "", ""
	if o.Provider == "azure" && strings.Trim(u.Path, "/") == "" {
		u.Path = "/openai/v1"
	}
	table := map[string]string{
		"name": tomlString("ralph"), "base_url": tomlString(strings.TrimSuffix(u.String(), "/")), "wire_api": tomlString("responses"),
	}
	if o.Provider == "azure" {
		table["name"] = tomlString("Azure") // codex knows it by this name, too
	}
	if key := keyVariable(o); driver.IsSet(o, key) {
		table["env_key"] = tomlString(key)
	}
	if len(query) > 0 {
		table["query_params"] = tomlTable(query)
	}
	return []string{`model_provider="ralph"`, "model_providers.ralph=" + tomlTable(table)}, nil
}

const azureKey = "AZURE_OPENAI_API_KEY"

// keyVariables are the variables with a key of the provider, the first one best.
func keyVariables(o driver.Options) []string {
	keys := catalog.Of("codex").Keys()
	if o.Provider == "azure" {
		return append([]string{azureKey}, keys[:2]...)
	}
	return keys[:3]
}

// keyVariable is the variable with the key, or where it would be.
func keyVariable(o driver.Options) string { return driver.FirstSet(o, keyVariables(o)) }

// Ready wants a key, the identity of a workload, a login, or a configuration: it may name a provider that
// needs no key of ours. An endpoint of the user's own may need none.
func (Driver) Ready(o driver.Options) error {
	if driver.IsSet(o, keyVariables(o)...) || o.Provider == "responses" {
		return nil
	}
	if o.Provider == "azure" {
		return fmt.Errorf("no credentials: set %s", azureKey)
	}
	if driver.Federated(o, "OPENAI") || driver.Holds(homeOf(o), "auth.json", "config.toml") {
		return nil
	}
	return errors.New("no credentials: set CODEX_API_KEY or OPENAI_API_KEY (input api-key), or, where nothing is sandboxed, log in with codex first")
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
