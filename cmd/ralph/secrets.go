package main

import (
	"strings"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/secret"
)

// secrets are the values that must never be shown: the forge's token, every
// variable whose name says that it holds a credential, the password in an
// address (DATABASE_URL, HTTPS_PROXY), and what stands behind such a name in the
// agent's command line.
func (a *app) secrets(cfg config.Config) []secret.String {
	values := []secret.String{cfg.Token}
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
		if password := passwordOf(value); len(password) >= minSecret {
			values = append(values, secret.New(password))
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
// know: the token is the only secret among them.
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
