package main

import (
	"slices"
	"testing"

	"github.com/org/ralph-action/internal/config"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	a := &app{environ: []string{
		"MY_TOKEN=token-0123", "AWS_SECRET_ACCESS_KEY=aws-0123456", "SHORT_TOKEN=true",
		"INPUT_COMPLETION-TOKEN=COMPLETE", "TOKEN_FILE=/run/secrets/token", "HOME=/home/somebody",
		"DATABASE_URL=postgres://app:p%40ss:word1@db:5432/app?x=y@z", "HTTPS_PROXY=http://proxy:3128", "DOCS_URL=https://somebody@example.com/a:b@c",
		"ANTHROPIC_CUSTOM_HEADERS=X-Team: platform-team\nAuthorization: Bearer header-0123",
	}}
	var got []string
	for _, s := range a.secrets(config.Config{}) {
		if s.IsSet() {
			got = append(got, s.Reveal())
		}
	}
	if want := []string{"token-0123", "aws-0123456", "p%40ss:word1", "header-0123"}; !slices.Equal(got, want) {
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
