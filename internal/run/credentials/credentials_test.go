package credentials

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/org/ralph-action/internal/config"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	environ := []string{
		"MY_TOKEN=token-0123", "AWS_SECRET_ACCESS_KEY=aws-0123456", "SHORT_TOKEN=true",
		"INPUT_COMPLETION-TOKEN=COMPLETE", "TOKEN_FILE=/run/secrets/token", "HOME=/home/somebody",
		"DATABASE_URL=postgres://app:p%40ss:word1@db:5432/app?x=y@z", "HTTPS_PROXY=http://proxy:3128", "DOCS_URL=https://somebody@example.com/a:b@c",
		"GIT_REMOTE=https://glpat0123456789abcdefgh@example.com/x.git", "MY_DSN=https://name:with/slash/012@sentry.example/7",
		"SLACK_WEBHOOK_URL=https://hooks.example/T0/B0", "SIGNING_KEY_BASE64=" + base64.StdEncoding.EncodeToString([]byte("a signing key of 30 letters ok")),
		"CI_REGISTRY_TOKEN_RO=registry-0123", "NORMAL_URL=https://db.example:5432/a@b",
		"ANTHROPIC_CUSTOM_HEADERS=X-Team: platform-team\nAuthorization: Bearer header-0123",
	}
	var got []string
	for _, s := range Known(config.Config{}, environ, nil) {
		if s.IsSet() {
			got = append(got, s.Reveal())
		}
	}
	if want := []string{
		"token-0123", "aws-0123456", "p%40ss:word1", "p@ss:word1",
		"glpat0123456789abcdefgh", "https://name:with/slash/012@sentry.example/7", "with/slash/012",
		"https://hooks.example/T0/B0", base64.StdEncoding.EncodeToString([]byte("a signing key of 30 letters ok")), "a signing key of 30 letters ok", "registry-0123", "header-0123",
	}; !slices.Equal(got, want) {
		t.Errorf("secrets() = %q, want %q", got, want)
	}
}

// What MCP servers are given to log in with is shown nowhere.
func TestSecretsOfServers(t *testing.T) {
	t.Parallel()
	got := inObject(`{"mcpServers": {
		"a": {"command": "npx", "args": ["-y", "postgres://app:pass-word-1@db/app"], "env": {"API_TOKEN": "token-0123", "MODE": "production", "OTHER_KEY": "${OTHER_KEY}"}},
		"b": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer bearer-0123", "X-Api-Key": "key-012345", "Accept": "application/json"}}
	}}`)
	slices.Sort(got)
	if want := []string{"bearer-0123", "key-012345", "pass-word-1", "token-0123"}; !slices.Equal(got, want) {
		t.Errorf("inObject() = %q, want %q", got, want)
	}
	if got := inObject(`{"half": `); got != nil {
		t.Errorf("inObject(half) = %q", got)
	}
}

// A checkout's own token is hidden, too, whichever of its versions left it.
func TestSecretsOfTheCheckout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	header := func(token string) string {
		return "[http \"https://github.com/\"]\n\textraheader = AUTHORIZATION: basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+token)) + "\n"
	}
	included := filepath.Join(dir, "credentials.config")
	for name, text := range map[string]string{
		included:                             header("ghp_included0123456789"),
		filepath.Join(dir, ".git", "config"): header("ghp_direct0123456789") + "[includeIf \"gitdir:/x\"]\n\tpath = " + included + "\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, s := range LeftByCheckout(dir) {
		got = append(got, s.Reveal())
	}
	for _, want := range []string{"ghp_direct0123456789", "ghp_included0123456789", base64.StdEncoding.EncodeToString([]byte("x-access-token:ghp_direct0123456789"))} {
		if !slices.Contains(got, want) {
			t.Errorf("LeftByCheckout() = %q, want %s among them", got, want)
		}
	}
	if got := LeftByCheckout(t.TempDir()); got != nil {
		t.Errorf("LeftByCheckout of a folder without git = %q", got)
	}
}
