package gemini

import (
	"cmp"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
)

// Overrides are a setting that chooses another login.
func (Driver) Overrides() []string { return []string{"selectedType"} }

// KeyProxy is for a key of Gemini's API.
func (Driver) KeyProxy(o driver.Options) (driver.KeyProxy, bool) {
	if authOf(o) != authKey || driver.Lookup(o.Env, "GEMINI_CLI_HOME") != "" || driver.Lookup(o.Env, "GEMINI_API_KEY_AUTH_MECHANISM") != "" {
		return driver.KeyProxy{}, false
	}
	return driver.KeyProxy{
		Upstream: cmp.Or(o.BaseURL, driver.Lookup(o.Env, "GOOGLE_GEMINI_BASE_URL"), catalog.Of("gemini").Address), Header: "x-goog-api-key",
		Endpoints: driver.GeminiEndpoints(), KeyVariable: "GEMINI_API_KEY",
	}, o.Scratch != ""
}

// Hosts are others with a login of Google's: the models answer elsewhere then.
func (Driver) Hosts(o driver.Options) []string {
	switch authOf(o) {
	case authKey:
		return driver.HostsOf(cmp.Or(o.BaseURL, driver.Lookup(o.Env, "GOOGLE_GEMINI_BASE_URL"), catalog.Of("gemini").Address))
	case authVertex:
		if address := cmp.Or(o.BaseURL, driver.Lookup(o.Env, "GOOGLE_VERTEX_BASE_URL")); address != "" {
			return driver.HostsOf(address)
		}
		return driver.VertexHosts(o, driver.Label(driver.Lookup(o.Env, "GOOGLE_CLOUD_LOCATION")))
	}
	return []string{"cloudcode-pa.googleapis.com", "oauth2.googleapis.com"}
}
