package agent

import (
	"strings"
	"testing"
)

// What a provider does not need, its agent does not get.
func TestOneKey(t *testing.T) {
	t.Parallel()
	env := []string{"ANTHROPIC_API_KEY=a", "AWS_BEARER_TOKEN_BEDROCK=b", "CLAUDE_CODE_OAUTH_TOKEN=c", "AWS_REGION=d"}
	o := OneKey(Options{Name: "claude", Provider: "bedrock", Env: env})
	if got := strings.Join(o.Env, " "); got != "AWS_BEARER_TOKEN_BEDROCK=b AWS_REGION=d" {
		t.Errorf("OneKey(bedrock) leaves %s", got)
	}
	if o := OneKey(Options{Name: "claude", Env: env[2:]}); len(o.Env) != 2 {
		t.Errorf("OneKey without the usual key leaves %q, want all", o.Env)
	}
}

func TestKeyVariable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		o    Options
		want string // empty: an error
	}{
		{Options{Name: "claude"}, "ANTHROPIC_API_KEY"},
		{Options{Name: "claude", Provider: "bedrock"}, "AWS_BEARER_TOKEN_BEDROCK"},
		{Options{Name: "claude", Provider: "foundry"}, "ANTHROPIC_FOUNDRY_API_KEY"},
		{Options{Name: "claude", Env: []string{"CLAUDE_CODE_USE_BEDROCK=1"}}, "AWS_BEARER_TOKEN_BEDROCK"},
		{Options{Name: "claude", Provider: "vertex"}, ""},
		{Options{Name: "codex"}, "CODEX_API_KEY"},
		{Options{Name: "codex", Provider: "azure"}, "AZURE_OPENAI_API_KEY"},
		{Options{Name: "gemini"}, "GEMINI_API_KEY"},
		{Options{Name: "gemini", Provider: "vertex"}, "GOOGLE_API_KEY"},
		{Options{Name: "copilot"}, "COPILOT_GITHUB_TOKEN"},
		{Options{Name: "copilot", BaseURL: "https://models.example.com"}, "COPILOT_PROVIDER_API_KEY"},
		{Options{Name: "opencode", Model: "anthropic/claude"}, "ANTHROPIC_API_KEY"},
		{Options{Name: "opencode", Provider: "openai", Model: "gpt"}, "OPENAI_API_KEY"},
		{Options{Name: "opencode", Model: "some-provider/model"}, ""},
		{Options{Name: "cline", Provider: "openrouter"}, "OPENROUTER_API_KEY"},
		{Options{Name: "cline", Provider: "vertex"}, ""},
		{Options{Name: "amp"}, "AMP_API_KEY"},
	} {
		got, err := KeyVariable(tt.o)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("KeyVariable(%s, %s, %s) = %q, %v; want %q", tt.o.Name, tt.o.Provider, tt.o.Model, got, err, tt.want)
		}
	}
}
