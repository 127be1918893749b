package claude

import (
	"cmp"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
)

// anthropicLogin is where claude 2.1.329 renews a login.
const anthropicLogin = "https://platform.claude.com"

// Overrides are settings and arguments of claude's that name a key or an address.
func (Driver) Overrides() []string {
	return []string{"apiKeyHelper", "_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_"}
}

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
// fails without an answer. Which hosts may be asked is for our walls to say.
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
