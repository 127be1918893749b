package copilot

import (
	"cmp"
	"strings"

	"github.com/org/ralph-action/internal/agent/driver"
)

// KeyProxy is for a provider other than GitHub, whose token is exchanged for others.
func (Driver) KeyProxy(o driver.Options) (driver.KeyProxy, bool) {
	env := (Driver{}).Environ(o)
	kind := cmp.Or(driver.Lookup(env, "COPILOT_PROVIDER_TYPE"), "openai")
	d := driver.KeyProxy{
		Upstream: driver.Lookup(env, "COPILOT_PROVIDER_BASE_URL"), Header: "Authorization", Scheme: "Bearer",
		Endpoints: driver.OpenAIEndpoints(""), KeyVariable: "COPILOT_PROVIDER_API_KEY",
	}
	if driver.Lookup(env, "COPILOT_PROVIDER_BEARER_TOKEN") != "" {
		d.KeyVariable = "COPILOT_PROVIDER_BEARER_TOKEN"
	}
	switch kind {
	case "openai":
	case "anthropic":
		d.Endpoints = driver.AnthropicEndpoints("/v1")
		if d.KeyVariable == "COPILOT_PROVIDER_API_KEY" {
			d.Header, d.Scheme = "x-api-key", ""
		}
	case "azure":
		d.Endpoints = driver.AzureEndpoints()
		if d.KeyVariable == "COPILOT_PROVIDER_API_KEY" {
			d.Header, d.Scheme = "api-key", ""
		}
	default:
		return driver.KeyProxy{}, false
	}
	return d, d.Upstream != "" && driver.Lookup(env, "COPILOT_PROVIDER_API_KEY_COMMAND") == "" && driver.Lookup(env, "COPILOT_PROVIDER_TRANSPORT") == ""
}

// Hosts are those of the user's own provider alone, where there is one.
func (Driver) Hosts(o driver.Options) []string {
	if address := driver.Lookup((Driver{}).Environ(o), "COPILOT_PROVIDER_BASE_URL"); address != "" {
		return driver.HostsOf(address)
	}
	host := "github.com"
	if other := driver.HostOf("https://" + driver.Lookup(o.Env, "COPILOT_GH_HOST")); other != "" {
		host = strings.ToLower(other)
	}
	if host != "github.com" {
		return []string{host, "api." + host, "copilot-api." + host}
	}
	return []string{"api.github.com", "*.githubcopilot.com"}
}
