package claude

import (
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
		env = append(driver.Without(env, chosen.url), chosen.url+"="+o.BaseURL)
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
// a login that claude itself left in its configuration folder.
func (Driver) Ready(o driver.Options) error {
	if driver.HasKey(o, "claude") && o.Provider == "" {
		return nil
	}
	switch p := apiOf(o); {
	case p.name == "foundry" && o.BaseURL == "" && driver.Lookup(o.Env, "ANTHROPIC_FOUNDRY_RESOURCE") == "" && driver.Lookup(o.Env, p.url) == "":
		return errors.New("provider foundry: set ANTHROPIC_FOUNDRY_RESOURCE to the resource's name, or base-url to its address")
	case p.on != "": // the keys of a cloud come from many places
		return nil
	case driver.HasKey(o, "claude"), driver.Federated(o, "ANTHROPIC"):
		return nil
	}
	for _, p := range apis() {
		if o.Provider == "" && p.on != "" && driver.Lookup(o.Env, p.on) != "" {
			return nil
		}
	}
	dir := driver.Lookup(o.Env, "CLAUDE_CONFIG_DIR")
	if dir == "" {
		dir = driver.InHome(o, ".claude")
	}
	// .credentials.json is a login; settings.json may name an apiKeyHelper.
	if driver.Holds(dir, ".credentials.json", "settings.json") {
		return nil
	}
	keys := catalog.Of("claude").Keys()
	return fmt.Errorf("no credentials: set %s or %s (input api-key), or, where nothing is sandboxed, log in with claude first; for another provider set CLAUDE_CODE_USE_BEDROCK, CLAUDE_CODE_USE_VERTEX or CLAUDE_CODE_USE_FOUNDRY to 1",
		strings.Join(keys[:len(keys)-1], ", "), keys[len(keys)-1])
}
