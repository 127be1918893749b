package agent

import (
	"slices"

	"github.com/org/ralph-action/internal/agent/catalog"
)

// elsewhere: settings and arguments of opencode's that name an address, a key or a
// model of another provider.
func (opencode) elsewhere() []string {
	return []string{"baseURL", "apiKey", "--model", "-m\n", "--attach"}
}

// door is for the providers it was tried with (opencode 1.18.33): each takes an
// address in the configuration, and the key from its variable.
func (opencode) door(o Options) (Door, bool) {
	provider := opencodeProvider(o)
	if o.Model == "" || lookup(o.Env, "OPENCODE_CONFIG_CONTENT") != "" || lookup(o.Env, "OPENCODE_AUTH_CONTENT") != "" ||
		!slices.Contains([]string{"anthropic", "openai", "openrouter", "groq", opencodeCompatible}, provider) {
		return Door{}, false
	}
	d := Door{
		Upstream: firstOf(o.BaseURL, catalog.Of("opencode").Provider(provider).Address), Header: "Authorization", Scheme: "Bearer",
		Endpoints: openaiEndpoints(""), KeyVariable: catalog.Of("opencode").Provider(provider).Key,
	}
	if provider == "anthropic" {
		d.Header, d.Scheme, d.Endpoints = "x-api-key", "", anthropicEndpoints("")
	}
	return d, d.Upstream != ""
}

func (opencode) hosts(o Options) []string {
	row := catalog.Of("opencode")
	hosts, provider := row.SideHosts, opencodeProvider(o)
	switch address := row.Provider(provider).Address; {
	case o.BaseURL != "":
	case address != "":
		hosts = append(hosts, hostsOf(address)...)
	case provider == "azure":
		if resource := label(lookup(o.Env, "AZURE_RESOURCE_NAME")); resource != "" {
			hosts = append(hosts, resource+".openai.azure.com")
		}
	case provider == "amazon-bedrock":
		hosts = append(hosts, "bedrock-runtime."+firstOf(label(lookup(o.Env, "AWS_REGION")), "us-east-1")+".amazonaws.com")
	case provider == "google-vertex", provider == "google-vertex-anthropic":
		hosts = append(hosts, vertexHosts(o, label(lookup(o.Env, "GOOGLE_VERTEX_LOCATION")))...)
	case provider == "github-copilot":
		hosts = append(hosts, "api.github.com", "*.githubcopilot.com")
	case provider == "":
		for _, p := range row.Providers {
			if p.Name == "opencode" || lookup(o.Env, p.Key) != "" {
				hosts = append(hosts, hostsOf(p.Address)...)
			}
		}
	}
	return hosts
}
