package agent

import "strings"

// googleAPI is the address of Gemini's API.
const googleAPI = "https://generativelanguage.googleapis.com"

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

// modelAPI is where the models of a provider answer, and how its key is sent.
type modelAPI struct{ address, header, scheme string }

// modelAPIs are those of providers that opencode and cline have in common.
func modelAPIs() map[string]modelAPI {
	return map[string]modelAPI{
		"anthropic":  {"https://api.anthropic.com/v1", "x-api-key", ""},
		"openai":     {openaiAPI, "Authorization", "Bearer"},
		"openrouter": {"https://openrouter.ai/api/v1", "Authorization", "Bearer"},
		"deepseek":   {"https://api.deepseek.com", "Authorization", "Bearer"},
		"groq":       {"https://api.groq.com/openai/v1", "Authorization", "Bearer"},
		"mistral":    {"https://api.mistral.ai/v1", "Authorization", "Bearer"},
		"xai":        {"https://api.x.ai/v1", "Authorization", "Bearer"},
		"opencode":   {"https://opencode.ai/zen/v1", "Authorization", "Bearer"},
		"google":     {googleAPI + "/v1beta", "x-goog-api-key", ""},
		"gemini":     {googleAPI + "/v1beta", "x-goog-api-key", ""},
	}
}

// hosts: models.dev is asked for the list of models.
func (opencode) hosts(o Options) []string {
	hosts := []string{"models.dev"}
	provider := opencodeProvider(o)
	switch api, ok := modelAPIs()[provider]; {
	case o.BaseURL != "":
	case ok:
		hosts = append(hosts, hostsOf(api.address)...)
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
		for name, api := range modelAPIs() {
			if lookup(o.Env, opencodeKeys(name+"/")) != "" {
				hosts = append(hosts, hostsOf(api.address)...)
			}
		}
		hosts = append(hosts, hostsOf(modelAPIs()["opencode"].address)...)
	}
	return hosts
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

func (amp) hosts(o Options) []string {
	return hostsOf(firstOf(o.BaseURL, lookup(o.Env, "AMP_URL"), "https://ampcode.com"))
}

func (cline) hosts(o Options) []string {
	provider := firstOf(value(o.Args, "-P", "--provider"), o.Provider, lookup(o.Env, "CLINE_PROVIDER"), "cline")
	switch api, ok := modelAPIs()[strings.TrimSuffix(provider, "-native")]; {
	case ok:
		return hostsOf(api.address)
	case provider == "cline":
		return hostsOf(firstOf(o.BaseURL, lookup(o.Env, "CLINE_API_BASE_URL"), "https://api.cline.bot"))
	}
	return nil
}

func (custom) hosts(Options) []string { return nil }

func (text) hosts(Options) []string { return nil }
