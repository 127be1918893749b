package codex

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
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
	if key := keyVariable(o); driver.Lookup(o.Env, key) != "" {
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
	set := func(name string) bool { return driver.Lookup(o.Env, name) != "" }
	if slices.ContainsFunc(keyVariables(o), set) || o.Provider == "responses" {
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
