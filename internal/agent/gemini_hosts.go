package agent

import (
	"github.com/org/ralph-action/internal/agent/catalog"
)

// elsewhere: a setting that chooses another login.
func (gemini) elsewhere() []string { return []string{"selectedType"} }

// door is for a key of Gemini's API.
func (gemini) door(o Options) (Door, bool) {
	if geminiAuth(o) != authKey || lookup(o.Env, "GEMINI_CLI_HOME") != "" || lookup(o.Env, "GEMINI_API_KEY_AUTH_MECHANISM") != "" {
		return Door{}, false
	}
	return Door{
		Upstream: firstOf(o.BaseURL, lookup(o.Env, "GOOGLE_GEMINI_BASE_URL"), catalog.Of("gemini").Address), Header: "x-goog-api-key",
		Endpoints: geminiEndpoints(), KeyVariable: "GEMINI_API_KEY",
	}, o.Scratch != ""
}

// hosts: with a login of Google's the models answer elsewhere.
func (gemini) hosts(o Options) []string {
	switch geminiAuth(o) {
	case authKey:
		return hostsOf(firstOf(o.BaseURL, lookup(o.Env, "GOOGLE_GEMINI_BASE_URL"), catalog.Of("gemini").Address))
	case authVertex:
		if address := firstOf(o.BaseURL, lookup(o.Env, "GOOGLE_VERTEX_BASE_URL")); address != "" {
			return hostsOf(address)
		}
		return vertexHosts(o, label(lookup(o.Env, "GOOGLE_CLOUD_LOCATION")))
	}
	return []string{"cloudcode-pa.googleapis.com", "oauth2.googleapis.com"}
}
