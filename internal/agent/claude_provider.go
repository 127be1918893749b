package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
)

// claudeProvider is whose API claude asks: its switch, which is a variable, and the
// variable with the address.
type claudeProvider struct{ name, on, url string }

// claudeProviders are those claude 2.1 knows.
func claudeProviders() []claudeProvider {
	return []claudeProvider{
		{"anthropic", "", "ANTHROPIC_BASE_URL"},
		{"bedrock", "CLAUDE_CODE_USE_BEDROCK", "ANTHROPIC_BEDROCK_BASE_URL"},
		{"vertex", "CLAUDE_CODE_USE_VERTEX", "ANTHROPIC_VERTEX_BASE_URL"},
		{"foundry", "CLAUDE_CODE_USE_FOUNDRY", "ANTHROPIC_FOUNDRY_BASE_URL"},
	}
}

func (claude) provider(o Options) string { return providerOf(o).name }

// providerOf is the one chosen, by name or by a switch in the environment.
func providerOf(o Options) claudeProvider {
	known := claudeProviders()
	for _, p := range known {
		if o.Provider == p.name || o.Provider == "" && p.on != "" && isOn(lookup(o.Env, p.on)) {
			return p
		}
	}
	return known[0]
}

// isOn says that a switch of claude's is on.
func isOn(value string) bool {
	return slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(value))
}

// claudeProvided is env with the provider and the address of the options. A
// provider that is named turns the others off.
func claudeProvided(o Options, env []string) []string {
	if o.Exact {
		return env
	}
	chosen := providerOf(o)
	if o.Provider != "" {
		for _, p := range claudeProviders() {
			if p.on != "" {
				env = without(env, p.on)
			}
		}
		if chosen.on != "" {
			env = append(env, chosen.on+"=1")
		}
	}
	if o.BaseURL != "" {
		env = append(without(env, chosen.url), chosen.url+"="+o.BaseURL)
	}
	return env
}

// claudeKey is the variable a refused key most likely came from: one that is
// set, of the provider chosen.
func claudeKey(o Options) string {
	row := catalog.Of("claude")
	switch p := providerOf(o); {
	case p.name == "vertex":
		return "GOOGLE_APPLICATION_CREDENTIALS"
	case p.on != "":
		return row.Provider(p.name).Key
	}
	return firstSet(o, row.Keys())
}

// firstSet is the first of the variables that has a value; else the first.
func firstSet(o Options, names []string) string {
	if i := slices.IndexFunc(names, func(name string) bool { return lookup(o.Env, name) != "" }); i >= 0 {
		return names[i]
	}
	return names[0]
}

// federated says that a workload's identity is to be exchanged for a key, by
// the variables that the CLIs of Anthropic and of OpenAI read.
func federated(o Options, vendor string) bool {
	return lookup(o.Env, vendor+"_FEDERATION_RULE_ID") != "" &&
		(lookup(o.Env, vendor+"_IDENTITY_TOKEN") != "" || lookup(o.Env, vendor+"_IDENTITY_TOKEN_FILE") != "")
}

// ready wants a key, the identity of a workload, a cloud provider switched on, or
// a login that claude itself left in its configuration folder.
func (claude) ready(o Options) error {
	if hasKey(o, "claude") && o.Provider == "" {
		return nil
	}
	switch p := providerOf(o); {
	case p.name == "foundry" && o.BaseURL == "" && lookup(o.Env, "ANTHROPIC_FOUNDRY_RESOURCE") == "" && lookup(o.Env, p.url) == "":
		return errors.New("provider foundry: set ANTHROPIC_FOUNDRY_RESOURCE to the resource's name, or base-url to its address")
	case p.on != "": // the keys of a cloud come from many places
		return nil
	case hasKey(o, "claude"), federated(o, "ANTHROPIC"):
		return nil
	}
	for _, p := range claudeProviders() {
		if o.Provider == "" && p.on != "" && lookup(o.Env, p.on) != "" {
			return nil
		}
	}
	dir := lookup(o.Env, "CLAUDE_CONFIG_DIR")
	if dir == "" {
		dir = inHome(o, ".claude")
	}
	// .credentials.json is a login; settings.json may name an apiKeyHelper.
	if holds(dir, ".credentials.json", "settings.json") {
		return nil
	}
	keys := catalog.Of("claude").Keys()
	return fmt.Errorf("no credentials: set %s or %s (input api-key), or, where there are no walls, log in with claude first; for another provider set CLAUDE_CODE_USE_BEDROCK, CLAUDE_CODE_USE_VERTEX or CLAUDE_CODE_USE_FOUNDRY to 1",
		strings.Join(keys[:len(keys)-1], ", "), keys[len(keys)-1])
}
