package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

// Whose API is asked, and with which key.
func TestProviders(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		o         Options
		env       string // joined by blanks
		has, not  string
		ready     bool
		key       string
		overrides string
	}{
		{o: Options{Name: "claude", Provider: "anthropic", BaseURL: "https://u"}, env: "CLAUDE_CODE_USE_VERTEX=1 ANTHROPIC_AUTH_TOKEN=k", has: "ANTHROPIC_BASE_URL=https://u", not: "VERTEX", ready: true, key: "ANTHROPIC_AUTH_TOKEN"},
		{o: Options{Name: "claude", BaseURL: "https://u"}, env: "CLAUDE_CODE_USE_VERTEX=1", has: "ANTHROPIC_VERTEX_BASE_URL=https://u", ready: true, key: "GOOGLE_APPLICATION_CREDENTIALS"},
		{o: Options{Name: "claude", Provider: "bedrock"}, has: "CLAUDE_CODE_USE_BEDROCK=1", ready: true, key: "AWS_BEARER_TOKEN_BEDROCK"},
		{o: Options{Name: "claude", Provider: "vertex"}, has: "CLAUDE_CODE_USE_VERTEX=1", ready: true, key: "GOOGLE_APPLICATION_CREDENTIALS"},
		{o: Options{Name: "claude", Provider: "foundry"}, env: "ANTHROPIC_FOUNDRY_RESOURCE=r", has: "CLAUDE_CODE_USE_FOUNDRY=1", ready: true, key: "ANTHROPIC_FOUNDRY_API_KEY"},
		{o: Options{Name: "claude", Provider: "foundry"}, key: "ANTHROPIC_FOUNDRY_API_KEY"},
		{o: Options{Name: "claude"}, key: "ANTHROPIC_API_KEY"},
		{o: Options{Name: "codex", BaseURL: "https://u/v1"}, env: "OPENAI_API_KEY=k", has: "CODEX_API_KEY=k", ready: true, key: "OPENAI_API_KEY", overrides: `openai_base_url="https://u/v1"`},
		{o: Options{Name: "codex", Provider: "responses", BaseURL: "https://u/v1/"}, env: "CODEX_API_KEY=k", ready: true, key: "CODEX_API_KEY",
			overrides: `model_provider="ralph" model_providers.ralph={base_url="https://u/v1",env_key="CODEX_API_KEY",name="ralph",wire_api="responses"}`},
		{o: Options{Name: "codex", Provider: "responses", BaseURL: "https://u/v1"}, ready: true, key: "CODEX_API_KEY",
			overrides: `model_provider="ralph" model_providers.ralph={base_url="https://u/v1",name="ralph",wire_api="responses"}`},
		{o: Options{Name: "codex", Provider: "azure", BaseURL: "https://x.openai.azure.com"}, env: "AZURE_OPENAI_API_KEY=k", ready: true, key: "AZURE_OPENAI_API_KEY",
			overrides: `model_provider="ralph" model_providers.ralph={base_url="https://x.openai.azure.com/openai/v1",env_key="AZURE_OPENAI_API_KEY",name="Azure",wire_api="responses"}`},
		{o: Options{Name: "codex", Provider: "azure", BaseURL: "https://x"}, key: "AZURE_OPENAI_API_KEY", overrides: `model_provider="ralph" model_providers.ralph={base_url="https://x/openai/v1",name="Azure",wire_api="responses"}`},
		{o: Options{Name: "codex"}, env: "AZURE_OPENAI_API_KEY=k", key: "CODEX_API_KEY"},
	} {
		o := tt.o
		o.Env = strings.Fields(tt.env)
		f := formats()[o.Name]
		env := strings.Join(f.environ(o), " ")
		if !strings.Contains(env, tt.has) || tt.not != "" && strings.Contains(env, tt.not) {
			t.Errorf("%+v: environment = %s, want %s and no %s", tt, env, tt.has, tt.not)
		}
		if err := f.ready(o); (err == nil) != tt.ready {
			t.Errorf("%+v: ready = %v", tt, err)
		}
		key := claudeKey(o)
		if o.Name == "codex" {
			key = codexKey(o)
			overrides, err := codexProvider(o)
			if got := strings.Join(overrides, " "); err != nil || got != tt.overrides {
				t.Errorf("%+v: overrides = %s, %v", tt, got, err)
			}
		}
		if key != tt.key {
			t.Errorf("%+v: key = %s", tt, key)
		}
	}
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY"} {
		if slices.Contains(Credentials("codex"), name) == slices.Contains(Credentials("claude"), name) {
			t.Errorf("%s reaches codex and claude, or neither", name)
		}
	}
}

// What is said about a login that was refused.
func TestLoginHint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Name: "claude", Env: []string{"ANTHROPIC_AUTH_TOKEN=k"}}, "is the key right in ANTHROPIC_AUTH_TOKEN (input api-key), and"},
		{Options{Name: "claude"}, "there is no key in ANTHROPIC_API_KEY (input api-key), so what the CLI found elsewhere was refused"},
		{Options{Name: "claude", Provider: "vertex"}, "is the login right in GOOGLE_APPLICATION_CREDENTIALS, and"},
	} {
		o := tt.o
		o.Process = &printer{streams: []string{transcript(t, "v329_api_403")}}
		c, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		turn, err := c.Run(t.Context(), ralph.Prompt{Text: "p"}, func(ralph.Event) {})
		if err != nil || kind(turn.Failure) != "authentication" || !strings.Contains(turn.Failure.Message, tt.want) {
			t.Errorf("%+v: failure = %+v, %v, want it to say %q", tt.o, turn.Failure, err, tt.want)
		}
	}
}

// Whatever stands in mcp-config and agent-settings, an argument for codex is one
// line, and a script has a quote around everything foreign.
func FuzzCodexOptions(f *testing.F) {
	f.Add(servers, `{"a":{"b":[1,"x",{"c d":true}]}}`, "it's\n\"x\"\x00\x7f")
	f.Add(`{"mcpServers":{"a":{"command":"$(x)","args":["'"],"env":{"A":"${SECRET:-'; rm}"}}}}`, `{"a":null}`, "\xff")
	f.Fuzz(func(t *testing.T, mcp, settings, text string) {
		o := Options{Name: "codex", MCP: mcp, Settings: settings, System: text, Env: []string{"SECRET=s3cr3t'"}}
		overrides, err := codexOverrides(o)
		if err != nil {
			return
		}
		for _, value := range overrides {
			if strings.ContainsAny(value, "\n\r\x00") && !strings.ContainsAny(settings, "\n\r") || !strings.Contains(value, "=") {
				t.Errorf("override %q", value)
			}
		}
		m, err := codexServers(o)
		if err != nil {
			t.Fatalf("codexServers = %v, but codexOverrides has no error", err)
		}
		for _, file := range m.files {
			if strings.Count(strings.ReplaceAll(file.text, `'\''`, ""), "'")%2 != 0 {
				t.Errorf("script %q has a quote that does not end", file.text)
			}
		}
	})
}
