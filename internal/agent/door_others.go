package agent

import (
	"slices"
	"strings"
)

// googleAPI is the address of Gemini's API.
const googleAPI = "https://generativelanguage.googleapis.com"

// door is for a key of Gemini's API.
func (gemini) door(o Options) (Door, bool) {
	if geminiAuth(o) != authKey || lookup(o.Env, "GEMINI_CLI_HOME") != "" || lookup(o.Env, "GEMINI_API_KEY_AUTH_MECHANISM") != "" {
		return Door{}, false
	}
	return Door{
		Upstream: firstOf(o.BaseURL, lookup(o.Env, "GOOGLE_GEMINI_BASE_URL"), googleAPI), Header: "x-goog-api-key",
		Endpoints: geminiEndpoints(), KeyVariable: "GEMINI_API_KEY",
	}, o.Scratch != ""
}

func (gemini) through(o Options) Options { return o }

// hosts: with a login of Google's the models answer elsewhere.
func (gemini) hosts(o Options) []string {
	switch geminiAuth(o) {
	case authKey:
		return hostsOf(firstOf(o.BaseURL, lookup(o.Env, "GOOGLE_GEMINI_BASE_URL"), googleAPI))
	case authVertex:
		if address := firstOf(o.BaseURL, lookup(o.Env, "GOOGLE_VERTEX_BASE_URL")); address != "" {
			return hostsOf(address)
		}
		return vertexHosts(o, label(lookup(o.Env, "GOOGLE_CLOUD_LOCATION")))
	}
	return []string{"cloudcode-pa.googleapis.com", "oauth2.googleapis.com"}
}

// modelAPIs are where the models of providers answer that opencode and cline have
// in common.
func modelAPIs() map[string]string {
	return map[string]string{
		"anthropic": anthropicAPI + "/v1", "openai": openaiAPI, "openrouter": "https://openrouter.ai/api/v1",
		"deepseek": "https://api.deepseek.com", "groq": "https://api.groq.com/openai/v1", "mistral": "https://api.mistral.ai/v1",
		"xai": "https://api.x.ai/v1", "opencode": "https://opencode.ai/zen/v1", "google": googleAPI, "gemini": googleAPI,
	}
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
		Upstream: firstOf(o.BaseURL, modelAPIs()[provider]), Header: "Authorization", Scheme: "Bearer",
		Endpoints: openaiEndpoints(""), KeyVariable: opencodeKeys(provider + "/"),
	}
	if provider == "anthropic" {
		d.Header, d.Scheme, d.Endpoints = "x-api-key", "", anthropicEndpoints("")
	}
	return d, d.Upstream != ""
}

func (opencode) through(o Options) Options { return o }

// opencodeList is the host opencode asks for the list of models; without it, it
// knows those of the day it was built.
const opencodeList = "models.opencode.ai"

func (opencode) hosts(o Options) []string {
	hosts := []string{opencodeList}
	provider := opencodeProvider(o)
	switch address, ok := modelAPIs()[provider]; {
	case o.BaseURL != "":
	case ok:
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
		for name, address := range modelAPIs() {
			if name == "opencode" || lookup(o.Env, opencodeKeys(name+"/")) != "" {
				hosts = append(hosts, hostsOf(address)...)
			}
		}
	}
	return hosts
}

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

func (copilot) through(o Options) Options { return o }

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

func (amp) hosts(o Options) []string {
	return hostsOf(firstOf(o.BaseURL, lookup(o.Env, "AMP_URL"), "https://ampcode.com"))
}

func (cline) hosts(o Options) []string {
	provider := firstOf(value(o.Args, "-P", "--provider"), o.Provider, lookup(o.Env, "CLINE_PROVIDER"), "cline")
	switch address, ok := modelAPIs()[strings.TrimSuffix(provider, "-native")]; {
	case ok:
		return hostsOf(address)
	case provider == "cline":
		return hostsOf(firstOf(o.BaseURL, lookup(o.Env, "CLINE_API_BASE_URL"), "https://api.cline.bot"))
	}
	return nil
}

func (custom) hosts(Options) []string { return nil }

func (text) hosts(Options) []string { return nil }
