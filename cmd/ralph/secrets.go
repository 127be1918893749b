package main

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/secret"
)

// secrets are the values that must never be shown: the forge's token, every
// variable whose name says that it holds a credential, the password in an
// address (DATABASE_URL, HTTPS_PROXY), and what stands behind such a name in the
// agent's command line.
func (a *app) secrets(cfg config.Config) []secret.String {
	values := []secret.String{cfg.Token, cfg.CIToken, cfg.APIKey}
	for _, text := range []string{cfg.MCP, cfg.AgentSettings} {
		for _, value := range inObject(text) {
			values = append(values, secret.New(value))
		}
	}
	for _, words := range [][]string{cfg.AgentCommand, cfg.AgentArgs, cfg.AgentExactArgs} {
		for _, value := range flagged(words) {
			values = append(values, secret.New(value))
		}
	}
	for _, kv := range a.environ {
		name, value, _ := strings.Cut(kv, "=")
		if holdsSecret(name) && len(value) >= minSecret {
			values = append(values, secret.New(value))
		}
		if strings.HasPrefix(strings.TrimSpace(value), "{") {
			for _, v := range inObject(value) {
				values = append(values, secret.New(v))
			}
		}
		if strings.HasSuffix(name, "_HEADERS") {
			for _, line := range strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == ',' }) {
				header, value, _ := strings.Cut(line, ":")
				if v := credential(strings.TrimSpace(header), strings.TrimSpace(value)); v != "" {
					values = append(values, secret.New(v))
				}
			}
		}
		if password := passwordOf(value); len(password) >= minSecret {
			values = append(values, secret.New(password))
		}
	}
	return values
}

// inObject are the strings of a JSON text that stand behind names which say that
// they hold a credential: the environment and the headers of MCP servers, for
// example.
func inObject(text string) []string {
	var root any
	if text == "" || json.Unmarshal([]byte(text), &root) != nil {
		return nil
	}
	var values []string
	var walk func(name string, v any)
	walk = func(name string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, member := range v {
				walk(key, member)
			}
		case []any:
			var words []string
			for _, member := range v {
				walk(name, member)
				if word, ok := member.(string); ok {
					words = append(words, word)
				}
			}
			values = append(values, flagged(words)...)
		case string:
			if c := credential(name, v); c != "" {
				values = append(values, c)
			}
			values = append(values, passwords(v)...)
		}
	}
	walk("", root)
	return values
}

// credential is the part of a header or a setting that has to be hidden, where its
// name says that it holds a credential; else empty.
func credential(name, value string) string {
	for _, scheme := range []string{"Bearer ", "Basic ", "token "} {
		value = strings.TrimPrefix(value, scheme)
	}
	name = strings.ReplaceAll(name, "-", "_")
	plain := slices.Contains([]string{"authorization", "key", "token", "secret", "access", "refresh", "password"}, strings.ToLower(name))
	if (plain || holdsSecret(name)) && len(value) >= minSecret && !strings.HasPrefix(value, "$") {
		return value
	}
	return ""
}

// passwords are the password of an address and what its query gives to log in
// with, where they are long enough to be hidden.
func passwords(address string) []string {
	var values []string
	if p := passwordOf(address); len(p) >= minSecret {
		values = append(values, p)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return values
	}
	for name, all := range u.Query() {
		for _, v := range all {
			if c := credential(name, v); c != "" {
				values = append(values, c)
			}
		}
	}
	return values
}

// flagged are the values of flags and assignments among the words of a command
// line whose names say that they hold a credential.
func flagged(words []string) []string {
	var values []string
	for i, word := range words {
		name, value, assigned := strings.Cut(word, "=")
		if !assigned && strings.HasPrefix(word, "-") && i+1 < len(words) {
			value = words[i+1]
		}
		if holdsSecret(strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_")) && len(value) >= minSecret {
			values = append(values, value)
		}
	}
	return values
}

// passwordOf is the password in an address, as it is written there.
func passwordOf(address string) string {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		return ""
	}
	rest, _, _ = strings.Cut(rest, "/")
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return ""
	}
	_, password, _ := strings.Cut(rest[:at], ":")
	return password
}

// minSecret keeps words such as "true" or "none" in a variable with a telling
// name from being blotted out everywhere.
const minSecret = 8

// holdsSecret judges a variable by its name. The action's inputs are ours to
// know: those of them that are secrets are in the configuration.
func holdsSecret(name string) bool {
	name = strings.ToUpper(name)
	if strings.HasPrefix(name, "INPUT_") || strings.HasSuffix(name, "_URL") || strings.HasSuffix(name, "_FILE") || strings.HasSuffix(name, "_PATH") {
		return false
	}
	if strings.HasSuffix(name, "TOKEN") || strings.HasSuffix(name, "_PAT") || strings.HasSuffix(name, "_KEY") {
		return true
	}
	for _, part := range []string{"SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY", "PRIVATE_KEY", "ACCESS_KEY", "CREDENTIALS"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
