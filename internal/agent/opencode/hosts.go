package opencode

import (
	"cmp"
	"slices"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
)

// Overrides are settings and arguments of opencode's that name an address, a key or a
// model of another provider.
func (Driver) Overrides() []string {
	return []string{"baseURL", "apiKey", "--model", "-m\n", "--attach"}
}

// KeyProxy is for the providers it was tried with (opencode 1.18.33): each takes an
// address in the configuration, and the key from its variable.
func (Driver) KeyProxy(o driver.Options) (driver.KeyProxy, bool) {
	provider := providerOf(o)
	if o.Model == "" || driver.Lookup(o.Env, "OPENCODE_CONFIG_CONTENT") != "" || driver.Lookup(o.Env, "OPENCODE_AUTH_CONTENT") != "" ||
		!slices.Contains([]string{"anthropic", "openai", "openrouter", "groq", compatible}, provider) {
		return driver.KeyProxy{}, false
	}
	d := driver.KeyProxy{
		Upstream: cmp.Or(o.BaseURL, catalog.Of("opencode").Provider(provider).Address), Header: "Authorization", Scheme: "Bearer",
		Endpoints: driver.OpenAIEndpoints(""), KeyVariable: catalog.Of("opencode").Provider(provider).Key,
	}
	if provider == "anthropic" {
		d.Header, d.Scheme, d.Endpoints = "x-api-key", "", driver.AnthropicEndpoints("")
	}
	return d, d.Upstream != ""
}

// Hosts are those of the API that the options choose.
func (Driver) Hosts(o driver.Options) []string {
	row := catalog.Of("opencode")
	hosts, provider := row.SideHosts, providerOf(o)
	switch address := row.Provider(provider).Address; {
	case o.BaseURL != "":
	case address != "":
		hosts = append(hosts, driver.HostsOf(address)...)
	case provider == "azure":
		if resource := driver.Label(driver.Lookup(o.Env, "AZURE_RESOURCE_NAME")); resource != "" {
			hosts = append(hosts, resource+".openai.azure.com")
		}
	case provider == "amazon-bedrock":
		hosts = append(hosts, "bedrock-runtime."+cmp.Or(driver.Label(driver.Lookup(o.Env, "AWS_REGION")), "us-east-1")+".amazonaws.com")
	case provider == "google-vertex", provider == "google-vertex-anthropic":
		hosts = append(hosts, driver.VertexHosts(o, driver.Label(driver.Lookup(o.Env, "GOOGLE_VERTEX_LOCATION")))...)
	case provider == "github-copilot":
		hosts = append(hosts, "api.github.com", "*.githubcopilot.com")
	case provider == "":
		for _, p := range row.Providers {
			if p.Name == "opencode" || driver.Lookup(o.Env, p.Key) != "" {
				hosts = append(hosts, driver.HostsOf(p.Address)...)
			}
		}
	}
	return hosts
}
