package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
)

// unusedRules are the rules of gitleaks that the scanner does without. The numbers are
// findings in 700 MB of published Go and npm packages.
var unusedRules = []string{
	"generic-api-key", // 810, next to all of them test data, hashes and public keys
	"private-key",     // 46, a third of them headers alone, in code that reads keys; the scanner has its own
}

// unusedKeys are what the scanner does not read of a rule, and of the list of what no
// rule reports. The paths of that list keep vendored code and lock files out, and would
// tell where to put a token.
var (
	unusedKeys       = []string{"description", "tags"}
	unusedGlobalKeys = []string{"description", "paths"}
	readKeys         = []string{"id", "regex", "path", "secretGroup", "entropy", "keywords", "allowlists"}
)

// gitleaksRules returns the default rules of gitleaks as JSON, one in a line, so that the
// binary needs neither that module nor a reader of TOML.
func gitleaksRules() (string, error) {
	var file struct {
		Allowlist map[string]any   `toml:"allowlist"`
		Rules     []map[string]any `toml:"rules"`
	}
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &file); err != nil {
		return "", fmt.Errorf("rules of gitleaks: %w", err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	line := func(values map[string]any, without []string) error {
		maps.DeleteFunc(values, func(key string, _ any) bool { return slices.Contains(without, key) })
		return enc.Encode(values)
	}
	b.WriteString("{\"allowlist\": ")
	if err := line(file.Allowlist, unusedGlobalKeys); err != nil {
		return "", err
	}
	b.WriteString(",\"rules\": [\n")
	separator := ""
	for _, rule := range file.Rules {
		if slices.Contains(unusedRules, fmt.Sprint(rule["id"])) {
			continue
		}
		b.WriteString(separator)
		separator = ","
		if err := line(rule, unusedKeys); err != nil {
			return "", err
		}
		for key := range rule {
			if !slices.Contains(readKeys, key) {
				return "", fmt.Errorf("rule %s of gitleaks has %q, which secretscan does not read: teach it, or add the key to unusedKeys", rule["id"], key)
			}
		}
	}
	b.WriteString("]}\n")
	return strings.TrimSpace(b.String()) + "\n", nil
}
