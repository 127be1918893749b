package gemini

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/agent/driver"
)

// configOf is the CLI's settings.json: what the user has in the home, what
// keeps the CLI quiet, and over it what was asked for.
func configOf(o driver.Options) (string, error) {
	all := map[string]any{}
	path := filepath.Join(folderOf(o), settingsFile)
	if b, err := driver.ReadConfig(o, path); err == nil {
		if all, err = driver.DecodeJSON(string(b)); err != nil {
			return "", fmt.Errorf("%s: %w; comments cannot be kept beside settings of a run", path, err)
		}
	}
	quiet := map[string]any{
		"general": map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
		"privacy": map[string]any{"usageStatisticsEnabled": false},
		// The repository's .env is not read, and neither are its settings, see trustVariable.
		"advanced": map[string]any{"ignoreLocalEnv": true},
		"security": map[string]any{"folderTrust": map[string]any{"enabled": true}},
	}
	auth := map[string]any{"security": map[string]any{"auth": map[string]any{"selectedType": authOf(o)}}}
	if authOf(o) != "" && o.Provider == "" {
		driver.Overlay(quiet, auth)
	}
	driver.Overlay(quiet, all)
	all = quiet
	if authOf(o) != "" && o.Provider != "" {
		driver.Overlay(all, auth)
	}
	if o.Settings != "" {
		settings, err := driver.DecodeJSON(o.Settings)
		if err != nil {
			return "", fmt.Errorf("agent-settings: %w; it is what gemini has in its settings.json", err)
		}
		driver.Overlay(all, settings)
	}
	if err := setEffort(all, o); err != nil {
		return "", err
	}
	servers, err := driver.MCPServers(o)
	if err != nil {
		return "", err
	}
	for name, server := range servers {
		switch server["type"] {
		case "stdio":
			delete(server, "type")
		case "streamable-http":
			server["type"] = "http"
		}
		driver.Overlay(all, map[string]any{"mcpServers": map[string]any{name: server}})
	}
	b, err := json.MarshalIndent(all, "", "  ")
	return string(b) + "\n", err
}

// setEffort sets how much the model thinks. Gemini 3 takes a level, Gemini
// 2.5 a number of tokens; to give a model the other's makes the request fail.
func setEffort(all map[string]any, o driver.Options) error {
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
		return fmt.Errorf("effort %q: gemini takes one of %s, or for Gemini 2.5 models a number of tokens to think with (-1: as many as the model likes)", driver.Clip(o.Effort, driver.MaxName), strings.Join(levels, ", "))
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
	driver.Overlay(all, map[string]any{"modelConfigs": map[string]any{"customOverrides": append(overrides, theirs...)}})
	return nil
}
