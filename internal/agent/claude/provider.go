package claude

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
)

// api is whose API claude asks: its switch, which is a variable, and the
// variable with the address.
type api struct{ name, on, url string }

// apis are those claude 2.1 knows.
func apis() []api {
	return []api{
		{"anthropic", "", "ANTHROPIC_BASE_URL"},
		{"bedrock", "CLAUDE_CODE_USE_BEDROCK", "ANTHROPIC_BEDROCK_BASE_URL"},
		{"vertex", "CLAUDE_CODE_USE_VERTEX", "ANTHROPIC_VERTEX_BASE_URL"},
		{"foundry", "CLAUDE_CODE_USE_FOUNDRY", "ANTHROPIC_FOUNDRY_BASE_URL"},
	}
}

// Provider is the one that the options choose.
func (Driver) Provider(o driver.Options) string { return apiOf(o).name }

// apiOf is the one chosen, by name or by a switch in the environment.
func apiOf(o driver.Options) api {
	known := apis()
	for _, p := range known {
		if o.Provider == p.name || o.Provider == "" && p.on != "" && driver.IsOn(driver.Lookup(o.Env, p.on)) {
			return p
		}
	}
	return known[0]
}

// withProvider is env with the provider and the address of the options. A
// provider that is named turns the others off.
func withProvider(o driver.Options, env []string) []string {
	if o.Exact {
		return env
	}
	chosen := apiOf(o)
	if o.Provider != "" {
		for _, p := range apis() {
			if p.on != "" {
				env = driver.Without(env, p.on)
			}
		}
		if chosen.on != "" {
			env = append(env, chosen.on+"=1")
		}
	}
	if o.BaseURL != "" {
		env = driver.Set(env, chosen.url, o.BaseURL)
	}
	return env
}

// keyVariable is the variable a refused key most likely came from: one that is
// set, of the provider chosen.
func keyVariable(o driver.Options) string {
	row := catalog.Of("claude")
	switch p := apiOf(o); {
	case p.name == "vertex":
		return "GOOGLE_APPLICATION_CREDENTIALS"
	case p.on != "":
		return row.Provider(p.name).Key
	}
	return driver.FirstSet(o, row.Keys())
}

// Ready wants a key, the identity of a workload, a cloud provider switched on, or
// a login that claude itself left in its configuration directory.
func (Driver) Ready(o driver.Options) error {
	if driver.HasKey(o, "claude") && o.Provider == "" {
		return nil
	}
	switch p := apiOf(o); {
	case p.name == "foundry" && o.BaseURL == "" && !driver.IsSet(o, "ANTHROPIC_FOUNDRY_RESOURCE", p.url):
		return errors.New("provider foundry: set ANTHROPIC_FOUNDRY_RESOURCE to the resource's name, or base-url to its address")
	case p.on != "": // the keys of a cloud come from many places
		return nil
	case driver.HasKey(o, "claude"), driver.Federated(o, "ANTHROPIC"):
		return nil
	}
	for _, p := range apis() {
		if o.Provider == "" && p.on != "" && driver.IsSet(o, p.on) {
			return nil
		}
	}
	// .credentials.json is a login; settings.json may name an apiKeyHelper.
	if driver.Holds(driver.ConfigDir(o, "CLAUDE_CONFIG_DIR", ".claude"), ".credentials.json", "settings.json") {
		return nil
	}
	keys := catalog.Of("claude").Keys()
	return fmt.Errorf("no credentials: set %s or %s (input api-key), or, where nothing is sandboxed, log in with claude first; for another provider set CLAUDE_CODE_USE_BEDROCK, CLAUDE_CODE_USE_VERTEX or CLAUDE_CODE_USE_FOUNDRY to 1",
		strings.Join(keys[:len(keys)-1], ", "), keys[len(keys)-1])
}

// anthropicLogin is where claude 2.1.329 renews a login.
const anthropicLogin = "https://platform.claude.com"

// KeyProxy is for Anthropic's API, or one that is compatible, and for the keys that
// are sent as they are. Of several keys the first of the catalogue is used,
// and the others are taken out.
func (Driver) KeyProxy(o driver.Options) (driver.KeyProxy, bool) {
	p := apiOf(o)
	if p.name != "anthropic" {
		return driver.KeyProxy{}, false
	}
	d := driver.KeyProxy{
		Upstream: cmp.Or(o.BaseURL, driver.Lookup(o.Env, p.url), catalog.Of("claude").Address), Header: "Authorization", Scheme: "Bearer",
		Endpoints: driver.AnthropicEndpoints("/v1"), KeyVariable: keyVariable(o),
	}
	if d.KeyVariable == catalog.Of("claude").Provider(p.name).Key {
		d.Header, d.Scheme = "x-api-key", ""
	}
	return d, true
}

// ThroughKeyProxy turns off that WebFetch asks api.anthropic.com about each host first
// (2.1.329): it does so at that very address, which is none of [Hosts] then, and
// fails without an answer. Which hosts may be asked is for the sandbox to say.
func (Driver) ThroughKeyProxy(o driver.Options) driver.Options {
	const name = "skipWebFetchPreflight"
	if o.Argument || o.Scratch == "" {
		return o
	}
	settings := map[string]any{}
	if o.Settings != "" {
		var err error
		if settings, err = driver.DecodeJSON(o.Settings); err != nil || settings[name] != nil {
			return o // New says what is wrong
		}
	}
	settings[name] = true
	if text, err := driver.EncodeJSON(settings); err == nil {
		o.Settings = string(text)
	}
	return o
}

// Hosts takes regions as claude and the libraries of the clouds do. The hosts of
// identities are those a workload's identity is exchanged at.
func (Driver) Hosts(o driver.Options) []string {
	p := apiOf(o)
	address := cmp.Or(o.BaseURL, driver.Lookup(o.Env, p.url))
	switch p.name {
	case "bedrock":
		region := cmp.Or(driver.Label(driver.Lookup(o.Env, "AWS_REGION")), driver.Label(driver.Lookup(o.Env, "AWS_DEFAULT_REGION")), "us-east-1")
		domain := "amazonaws.com"
		if strings.HasPrefix(region, "cn-") {
			domain += ".cn"
		}
		if address != "" {
			return driver.HostsOf(address, "https://sts."+region+"."+domain)
		}
		return []string{"bedrock-runtime." + region + "." + domain, "bedrock." + region + "." + domain, "sts." + region + "." + domain}
	case "vertex":
		return append(driver.VertexHosts(o, cmp.Or(driver.Label(driver.Lookup(o.Env, "CLOUD_ML_REGION")), "us-east5")), driver.HostsOf(address)...)
	case "foundry":
		var login []string
		if driver.Lookup(o.Env, catalog.Of("claude").Provider(p.name).Key) == "" {
			login = []string{"login.microsoftonline.com"}
		}
		if resource := driver.Label(driver.Lookup(o.Env, "ANTHROPIC_FOUNDRY_RESOURCE")); address == "" && resource != "" {
			return append(login, resource+".services.ai.azure.com")
		}
		return append(login, driver.HostsOf(address)...)
	}
	hosts := driver.HostsOf(cmp.Or(address, catalog.Of("claude").Address))
	if !driver.HasKey(o, "claude") && !driver.Federated(o, "ANTHROPIC") { // a login in the home is renewed
		hosts = append(hosts, driver.HostsOf(anthropicLogin)...)
	}
	return hosts
}
