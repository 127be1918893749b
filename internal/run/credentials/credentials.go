// Package credentials finds the values that must never be shown: in the
// configuration, in the environment, and in what a checkout left.
package credentials

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/lib/secret"
)

// Known are the values that must never be shown: those left by a checkout, the forge's token, every
// variable whose name says that it holds a credential, the password in an
// address (DATABASE_URL, HTTPS_PROXY), and what stands behind such a name in the
// agent's command line.
func Known(cfg config.Config, environ []string, left []secret.String) []secret.String {
	values := append([]secret.String{cfg.Git.Token, cfg.Git.CIToken, cfg.Provider.APIKey}, left...)
	for _, text := range []string{cfg.Agent.MCP, cfg.Agent.Settings} {
		for _, value := range inObject(text) {
			values = append(values, secret.New(value))
		}
	}
	for _, words := range [][]string{cfg.Agent.Command, cfg.Agent.Args, cfg.Agent.ExactArgs} {
		for _, value := range flagged(words) {
			values = append(values, secret.New(value))
		}
	}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if holdsSecret(name) && len(value) >= minSecret {
			values = append(values, secret.New(value))
			if plain := decoded(value); plain != "" {
				values = append(values, secret.New(plain))
			}
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
		for _, password := range passwordsOf(value) {
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
	plain := slices.Contains([]string{"authorization", "key", "token", "secret", "access", "refresh", "password", "auth"}, strings.ToLower(name))
	if (plain || holdsSecret(name)) && len(value) >= minSecret && !strings.HasPrefix(value, "$") {
		return value
	}
	return ""
}

// passwords are the password of an address and what its query gives to log in
// with, where they are long enough to be hidden.
func passwords(address string) []string {
	var values []string
	values = append(values, passwordsOf(address)...)
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

// passwordsOf is the password in an address, as it is written there and as it is
// meant, where it is long enough to be hidden. A user without a password that is as
// long as a token is one: https://TOKEN@example.com.
func passwordsOf(address string) []string {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		return nil
	}
	// People write passwords with a slash in them as they are.
	end := strings.IndexByte(rest, '/')
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		if user, _, ok := strings.Cut(rest[:end], ":"); !ok || strings.ContainsAny(user, ".[") {
			return nil
		}
		if at = strings.IndexByte(rest, '@'); at < 0 {
			return nil
		}
	}
	user, password, ok := strings.Cut(rest[:at], ":")
	if !ok && len(user) >= minToken {
		password = user
	}
	if len(password) < minSecret {
		return nil
	}
	values := []string{password}
	if meant, err := url.PathUnescape(password); err == nil && meant != password {
		values = append(values, meant)
	}
	return values
}

// decoded is what a secret in Base64 stands for, where that is text of its own;
// else empty.
func decoded(value string) string {
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value))
	if err != nil || len(plain) < minToken || !utf8.Valid(plain) {
		return ""
	}
	for _, r := range string(plain) {
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == utf8.RuneError {
			return ""
		}
	}
	return string(plain)
}

// minToken is the length from which a name is taken for a token.
const minToken = 20

// minSecret keeps words such as "true" or "none" in a variable with a revealing
// name from being blotted out everywhere.
const minSecret = 8

// holdsSecret judges a variable by its name. The action's inputs are ours to
// know: those of them that are secrets are in the configuration.
func holdsSecret(name string) bool {
	name = strings.ToUpper(name)
	if strings.HasSuffix(name, "WEBHOOK_URL") {
		return true // whoever knows the address may post there
	}
	if strings.HasPrefix(name, "INPUT_") || strings.HasSuffix(name, "_URL") || strings.HasSuffix(name, "_FILE") || strings.HasSuffix(name, "_PATH") {
		return false
	}
	for _, end := range []string{"TOKEN", "_PAT", "_KEY", "_PASS", "_PWD", "_AUTH", "_DSN", "_CREDS", "_COOKIE", "_JWT", "_KEY_BASE64", "_TOKEN_BASE64"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	for _, part := range []string{
		"SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "API_KEY", "APIKEY", "PRIVATE_KEY", "ACCESS_KEY", "CREDENTIALS", "CONNECTION_STRING", "KUBECONFIG", "_TOKEN_",
	} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
