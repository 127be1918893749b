package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// geminiConfig is the CLI's settings.json: what the user has in the home, what
// keeps the CLI quiet, and over it what was asked for.
func geminiConfig(o Options) (string, error) {
	all := map[string]any{}
	path := filepath.Join(geminiFolder(o), geminiSettings)
	if b, err := readConfig(o, path); err == nil {
		if all, err = settingsOf(string(b)); err != nil {
			return "", fmt.Errorf("%s: %w; comments cannot be kept beside settings of a run", path, err)
		}
	}
	quiet := map[string]any{
		"general": map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
		"privacy": map[string]any{"usageStatisticsEnabled": false},
		// The repository's .env is not read, and neither are its settings, see geminiTrust.
		"advanced": map[string]any{"ignoreLocalEnv": true},
		"security": map[string]any{"folderTrust": map[string]any{"enabled": true}},
	}
	auth := map[string]any{"security": map[string]any{"auth": map[string]any{"selectedType": geminiAuth(o)}}}
	if geminiAuth(o) != "" && o.Provider == "" {
		overlay(quiet, auth)
	}
	overlay(quiet, all)
	all = quiet
	if geminiAuth(o) != "" && o.Provider != "" {
		overlay(all, auth)
	}
	if o.Settings != "" {
		settings, err := settingsOf(o.Settings)
		if err != nil {
			return "", fmt.Errorf("agent-settings: %w; it is what gemini has in its settings.json", err)
		}
		overlay(all, settings)
	}
	if err := geminiEffort(all, o); err != nil {
		return "", err
	}
	servers, err := serversOf(o)
	if err != nil {
		return "", err
	}
	for _, server := range servers {
		switch server["type"] {
		case "stdio":
			delete(server, "type")
		case "streamable-http":
			server["type"] = "http"
		}
	}
	if len(servers) > 0 {
		overlay(all, map[string]any{"mcpServers": anyMap(servers)})
	}
	b, err := json.MarshalIndent(all, "", "  ")
	return string(b) + "\n", err
}

// geminiEffort sets how much the model thinks. Gemini 3 takes a level, Gemini
// 2.5 a number of tokens; to give a model the other's makes the request fail.
func geminiEffort(all map[string]any, o Options) error {
	if o.Effort == "" {
		return nil
	}
	levels := []string{"minimal", "low", "medium", "high"}
	family, thinking := "chat-base-3", map[string]any{"thinkingLevel": strings.ToUpper(o.Effort)}
	switch tokens, err := strconv.Atoi(o.Effort); {
	case err == nil && tokens >= -1:
		family, thinking = "chat-base-2.5", map[string]any{"thinkingBudget": tokens}
		if strings.HasPrefix(o.Model, "gemini-") && !strings.HasPrefix(o.Model, "gemini-2") {
			return fmt.Errorf("effort %d: models from Gemini 3 on take one of %s", tokens, strings.Join(levels, ", "))
		}
	case !slices.Contains(levels, o.Effort):
		return fmt.Errorf("effort %q: gemini takes one of %s, or for Gemini 2.5 models a number of tokens to think with (-1: as many as the model likes)", clip(o.Effort, maxName), strings.Join(levels, ", "))
	case strings.HasPrefix(o.Model, "gemini-2"):
		return fmt.Errorf("effort %q: Gemini 2.5 models take a number of tokens to think with, such as 8192 (-1: as many as the model likes)", o.Effort)
	}
	names := []string{family}
	if strings.HasPrefix(o.Model, "gemini-") {
		names = append(names, o.Model)
	}
	var overrides []any
	for _, name := range names {
		overrides = append(overrides, map[string]any{
			"match":       map[string]any{"model": name},
			"modelConfig": map[string]any{"generateContentConfig": map[string]any{"thinkingConfig": thinking}},
		})
	}
	configs, _ := all["modelConfigs"].(map[string]any)
	theirs, _ := configs["customOverrides"].([]any)
	overlay(all, map[string]any{"modelConfigs": map[string]any{"customOverrides": append(overrides, theirs...)}})
	return nil
}

// settingsOf reads a JSON object. Numbers stay as they are written.
func settingsOf(text string) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil || m == nil {
		return nil, errors.New("is no JSON object")
	}
	if rest, _ := d.Token(); rest != nil {
		return nil, errors.New("has something behind the JSON object")
	}
	return m, nil
}

// overlay puts src over dst; objects are merged, anything else is replaced.
func overlay(dst, src map[string]any) {
	for key, value := range src {
		below, ok := dst[key].(map[string]any)
		above, also := value.(map[string]any)
		if ok && also {
			overlay(below, above)
			continue
		}
		dst[key] = value
	}
}

// serversOf are the members of an mcp-config, {command, args, env} or {type, url,
// headers} by name. Without one there are none.
func serversOf(o Options) (map[string]map[string]any, error) {
	if o.MCP == "" {
		return nil, nil
	}
	members, err := mcpMembers(o)
	if err != nil {
		return nil, err
	}
	servers := make(map[string]map[string]any, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		server, err := settingsOf(string(members[name]))
		if err != nil {
			return nil, fmt.Errorf("mcp-config: the server %q %w", clip(name, maxName), err)
		}
		command, _ := server["command"].(string)
		url, _ := server["url"].(string)
		if command == "" && url == "" && server["httpUrl"] == nil {
			return nil, fmt.Errorf(`mcp-config: the server %q has neither "command" nor "url"`, clip(name, maxName))
		}
		servers[name] = server
	}
	return servers, nil
}

func anyMap(m map[string]map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for key, value := range m {
		out[key] = value
	}
	return out
}
