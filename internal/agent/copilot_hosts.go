package agent

import (
	"strings"
)

// door is for a provider other than GitHub, whose token is exchanged for others.
func (copilot) door(o Options) (Door, bool) {
	env := (copilot{}).environ(o)
	kind := firstOf(lookup(env, "COPILOT_PROVIDER_TYPE"), "openai")
	d := Door{
		Upstream: lookup(env, "COPILOT_PROVIDER_BASE_URL"), Header: "Authorization", Scheme: "Bearer",
		Endpoints: openaiEndpoints(""), KeyVariable: "COPILOT_PROVIDER_API_KEY",
	}
	if lookup(env, "COPILOT_PROVIDER_BEARER_TOKEN") != "" {
		d.KeyVariable = "COPILOT_PROVIDER_BEARER_TOKEN"
	}
	switch kind {
	case "openai":
	case "anthropic":
		d.Endpoints = anthropicEndpoints("/v1")
		if d.KeyVariable == "COPILOT_PROVIDER_API_KEY" {
			d.Header, d.Scheme = "x-api-key", ""
		}
	case "azure":
		d.Endpoints = azureEndpoints()
		if d.KeyVariable == "COPILOT_PROVIDER_API_KEY" {
			d.Header, d.Scheme = "api-key", ""
		}
	default:
		return Door{}, false
	}
	return d, d.Upstream != "" && lookup(env, "COPILOT_PROVIDER_API_KEY_COMMAND") == "" && lookup(env, "COPILOT_PROVIDER_TRANSPORT") == ""
}

// hosts: a provider of the user's own is all that is asked then.
func (copilot) hosts(o Options) []string {
	if address := lookup((copilot{}).environ(o), "COPILOT_PROVIDER_BASE_URL"); address != "" {
		return hostsOf(address)
	}
	host := "github.com"
	if other := hostOf("https://" + lookup(o.Env, "COPILOT_GH_HOST")); other != "" {
		host = strings.ToLower(other)
	}
	if host != "github.com" {
		return []string{host, "api." + host, "copilot-api." + host}
	}
	return []string{"api.github.com", "*.githubcopilot.com"}
}
