package opencode

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/org/ralph-action/internal/agent/driver"
)

// configOf is the configuration of a run; empty: none is needed. Names in
// {env:NAME} are replaced by the CLI.
func configOf(o driver.Options) (string, error) {
	all := map[string]any{}
	if provider := providerOf(o); o.BaseURL != "" {
		p := map[string]any{"options": map[string]any{"baseURL": o.BaseURL}}
		if provider == compatible {
			p["npm"], p["name"] = "@ai-sdk/openai-compatible", provider
			p["options"] = map[string]any{"baseURL": o.BaseURL, "apiKey": "{env:OPENAI_API_KEY}"} // #nosec G101 -- where the CLI finds the key
			model := map[string]any{}
			if o.Effort != "" { // of this provider's models no variant is known
				model["reasoning"] = true
				model["variants"] = map[string]any{o.Effort: map[string]any{"reasoningEffort": o.Effort}}
			}
			p["models"] = map[string]any{strings.TrimPrefix(o.Model, provider+"/"): model}
		}
		all["provider"] = map[string]any{provider: p}
	}
	if o.Settings != "" {
		settings, err := driver.DecodeJSON(o.Settings)
		if err != nil {
			return "", fmt.Errorf("agent-settings: %w; it is what opencode has in its opencode.json", err)
		}
		driver.Overlay(all, settings)
	}
	servers, err := driver.MCPServers(o)
	if err != nil {
		return "", err
	}
	for name, server := range servers {
		driver.Overlay(all, map[string]any{"mcp": map[string]any{name: serverOf(server)}})
	}
	instructions, _ := all["instructions"].([]any)
	if prose := proseOf(o); prose != "" {
		instructions = append(instructions, prose)
	}
	if o.System != "" {
		instructions = append(instructions, o.Turn.Files["system.md"])
	}
	if len(instructions) > 0 {
		all["instructions"] = instructions
	}
	if len(all) == 0 {
		return "", nil
	}
	b, err := json.Marshal(all)
	return string(b), err
}

// isAsked reports whether the run has something for the configuration.
func isAsked(o driver.Options) bool {
	return o.BaseURL != "" || o.Settings != "" || o.MCP != "" || o.System != ""
}

// proseOf is the repository's own word to agents, which [aloneVariable] keeps
// out with the rest: the first file of these that is there, as the CLI itself looks
// for them. Empty: none, or the CLI reads it.
func proseOf(o driver.Options) string {
	if off := driver.Lookup(o.Env, aloneVariable); o.Dir == "" || off != "" && !driver.IsOn(off) {
		return ""
	}
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		if driver.Holds(o.Dir, name) {
			return filepath.Join(o.Dir, name)
		}
	}
	return ""
}

// hasPlugins reports whether the user has plugins, in the settings or at home.
// The CLI itself leaves an empty configuration in a new home.
func hasPlugins(o driver.Options) bool {
	const setting = `"plugin"`
	dir := driver.InHome(o, ".config", "opencode")
	if strings.Contains(o.Settings, setting) || driver.Holds(dir, "plugin", "plugins") {
		return true
	}
	for _, name := range []string{"config.json", "opencode.json", "opencode.jsonc"} {
		if dir == "" {
			break
		}
		if b, err := driver.ReadConfig(o, filepath.Join(dir, name)); err == nil && strings.Contains(string(b), setting) {
			return true
		}
	}
	return false
}

// serverOf turns an entry of mcpServers into one of opencode's mcp.
func serverOf(server map[string]any) map[string]any {
	out := map[string]any{"enabled": true}
	url := server["url"]
	if url == nil {
		url = server["httpUrl"]
	}
	if url != nil {
		out["type"], out["url"] = "remote", url
		if headers, ok := server["headers"]; ok {
			out["headers"] = expansions(headers)
		}
		return out
	}
	args, _ := server["args"].([]any)
	out["type"], out["command"] = "local", expansions(append([]any{server["command"]}, args...))
	if env, ok := server["env"]; ok {
		out["environment"] = expansions(env)
	}
	return out
}

// expansions turns ${NAME} in strings into opencode's {env:NAME}.
func expansions(v any) any {
	switch v := v.(type) {
	case string:
		return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`).ReplaceAllString(v, "{env:$1}")
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = expansions(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key := range v {
			out[key] = expansions(v[key])
		}
		return out
	}
	return v
}
