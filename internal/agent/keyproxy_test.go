package agent

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// The key stays with the owner: what the child gets is the placeholder, in the
// variable it was in, and an address of ours; of other keys it gets none.
func TestThroughKeyProxy(t *testing.T) {
	t.Parallel()
	const address, placeholder = "http://127.0.0.1:4711", "ralph-0123456789"
	for _, tt := range []struct {
		name string
		o    Options
		env  string
		want driver.KeyProxy
		told string // what argv or environ says of the address
	}{
		{"claude", Options{Name: "claude"}, "ANTHROPIC_API_KEY=secret CLAUDE_CODE_OAUTH_TOKEN=secret",
			driver.KeyProxy{Upstream: "https://api.anthropic.com", Header: "x-api-key", KeyVariable: "ANTHROPIC_API_KEY"}, "ANTHROPIC_BASE_URL=" + address},
		{"claude, a bearer's token", Options{Name: "claude", Provider: "anthropic"}, "ANTHROPIC_AUTH_TOKEN=secret",
			driver.KeyProxy{Upstream: "https://api.anthropic.com", Header: "Authorization", Scheme: "Bearer", KeyVariable: "ANTHROPIC_AUTH_TOKEN"}, "ANTHROPIC_BASE_URL=" + address},
		{"claude, a subscription", Options{Name: "claude"}, "CLAUDE_CODE_OAUTH_TOKEN=secret",
			driver.KeyProxy{Upstream: "https://api.anthropic.com", Header: "Authorization", Scheme: "Bearer", KeyVariable: "CLAUDE_CODE_OAUTH_TOKEN"}, "ANTHROPIC_BASE_URL=" + address},
		{"claude at a gateway", Options{Name: "claude", BaseURL: "https://gw.example.com/anthropic/"}, "ANTHROPIC_API_KEY=secret",
			driver.KeyProxy{Upstream: "https://gw.example.com/anthropic", Header: "x-api-key", KeyVariable: "ANTHROPIC_API_KEY"}, "ANTHROPIC_BASE_URL=" + address},
		{"claude at a gateway of the environment", Options{Name: "claude", Settings: `{"model":"opus"}`}, "ANTHROPIC_API_KEY=secret ANTHROPIC_BASE_URL=http://gw:8080",
			driver.KeyProxy{Upstream: "http://gw:8080", Header: "x-api-key", KeyVariable: "ANTHROPIC_API_KEY"}, "ANTHROPIC_BASE_URL=" + address},
		{"codex", Options{Name: "codex"}, "OPENAI_API_KEY=secret",
			driver.KeyProxy{Upstream: "https://api.openai.com/v1", Header: "Authorization", Scheme: "Bearer", KeyVariable: "OPENAI_API_KEY", WebSocket: true}, `openai_base_url="` + address + `"`},
		{"codex, its own variable", Options{Name: "codex", Provider: "openai"}, "CODEX_API_KEY=secret OPENAI_API_KEY=secret",
			driver.KeyProxy{Upstream: "https://api.openai.com/v1", Header: "Authorization", Scheme: "Bearer", KeyVariable: "CODEX_API_KEY", WebSocket: true}, `openai_base_url="` + address + `"`},
		{"codex at an endpoint", Options{Name: "codex", Provider: "responses", BaseURL: "https://gw.example.com/v1"}, "CODEX_API_KEY=secret",
			driver.KeyProxy{Upstream: "https://gw.example.com/v1", Header: "Authorization", Scheme: "Bearer", KeyVariable: "CODEX_API_KEY"}, `base_url="` + address + `"`},
		{"codex at azure", Options{Name: "codex", Provider: "azure", BaseURL: "https://n.openai.azure.com/"}, "AZURE_OPENAI_API_KEY=secret",
			driver.KeyProxy{Upstream: "https://n.openai.azure.com/openai/v1", Header: "Authorization", Scheme: "Bearer", KeyVariable: "AZURE_OPENAI_API_KEY"}, `base_url="` + address},
		{"gemini", Options{Name: "gemini"}, "GEMINI_API_KEY=secret",
			driver.KeyProxy{Upstream: "https://generativelanguage.googleapis.com", Header: "x-goog-api-key", KeyVariable: "GEMINI_API_KEY"}, "GOOGLE_GEMINI_BASE_URL=" + address},
		{"opencode", Options{Name: "opencode", Model: "anthropic/claude-sonnet-5"}, "ANTHROPIC_API_KEY=secret OPENAI_API_KEY=secret",
			driver.KeyProxy{Upstream: "https://api.anthropic.com/v1", Header: "x-api-key", KeyVariable: "ANTHROPIC_API_KEY"}, `"anthropic":{"options":{"baseURL":"` + address + `"}}`},
		{"opencode at an endpoint", Options{Name: "opencode", Model: "m", BaseURL: "https://gw.example.com/v1"}, "OPENAI_API_KEY=secret",
			driver.KeyProxy{Upstream: "https://gw.example.com/v1", Header: "Authorization", Scheme: "Bearer", KeyVariable: "OPENAI_API_KEY"}, `"baseURL":"` + address + `"`},
		{"copilot with a provider", Options{Name: "copilot", Provider: "anthropic", Model: "m"}, "COPILOT_PROVIDER_API_KEY=secret COPILOT_GITHUB_TOKEN=secret",
			driver.KeyProxy{Upstream: "https://api.anthropic.com", Header: "x-api-key", KeyVariable: "COPILOT_PROVIDER_API_KEY"}, "COPILOT_PROVIDER_BASE_URL=" + address},
		{"copilot at azure", Options{Name: "copilot", Provider: "azure", BaseURL: "https://n.openai.azure.com", Model: "m"}, "COPILOT_PROVIDER_API_KEY=secret",
			driver.KeyProxy{Upstream: "https://n.openai.azure.com", Header: "api-key", KeyVariable: "COPILOT_PROVIDER_API_KEY"}, "COPILOT_PROVIDER_BASE_URL=" + address},
	} {
		home := t.TempDir()
		tt.o.Env, tt.o.Scratch, tt.o.Process = append(strings.Fields(tt.env), "HOME="+home), t.TempDir(), noProcess{}
		d, ok := KeyProxy(tt.o)
		if !ok || d.Upstream != tt.want.Upstream || d.Header != tt.want.Header || d.Scheme != tt.want.Scheme || d.KeyVariable != tt.want.KeyVariable || d.WebSocket != tt.want.WebSocket {
			t.Errorf("%s: KeyProxy = %+v, %v, want %+v", tt.name, d, ok, tt.want)
			continue
		}
		wantModelsOnly(t, tt.name, d.Endpoints)
		o := ThroughKeyProxy(tt.o, address+"/", placeholder)
		if d, ok := KeyProxy(o); ok {
			t.Errorf("%s: a key proxy behind a key proxy: %+v", tt.name, d)
		}
		c, err := New(o)
		if err != nil {
			t.Errorf("%s: New with a key proxy: %v", tt.name, err)
			continue
		}
		f := c.driver
		o.Turn.Files = map[string]string{"settings.json": "/s/settings.json"}
		told := strings.Join(append(f.Environ(o), f.Argv(o, ralph.Prompt{Text: "p"})...), "\n")
		if strings.Contains(told, "secret") {
			t.Errorf("%s: a key is left: %s", tt.name, told)
		}
		if driver.Lookup(f.Environ(o), d.KeyVariable) != placeholder {
			t.Errorf("%s: %s = %q, want the placeholder", tt.name, d.KeyVariable, driver.Lookup(f.Environ(o), d.KeyVariable))
		}
		if !strings.Contains(told, tt.told) {
			t.Errorf("%s: nothing says %s in %s", tt.name, tt.told, told)
		}
		if err := f.Ready(o); err != nil {
			t.Errorf("%s: ready with a key proxy: %v", tt.name, err)
		}
		if hosts := Hosts(o); slices.ContainsFunc(hosts, func(h string) bool { return h != "models.opencode.ai" }) {
			t.Errorf("%s: with a key proxy it needs %q", tt.name, hosts)
		}
	}
}

// wantModelsOnly: what a key is good for asks a model, counts its tokens or lists
// models, and nothing else.
func wantModelsOnly(t *testing.T, name string, endpoints []string) {
	t.Helper()
	asks := regexp.MustCompile(`^(POST \S*/(messages|messages/count_tokens|responses|responses/compact|responses/input_tokens|chat/completions|models/\{name\}:(generateContent|streamGenerateContent|countTokens))|GET \S*/models(/\{name\})?)$`)
	if len(endpoints) == 0 {
		t.Errorf("%s: the key is good for everything", name)
	}
	for _, e := range endpoints {
		if !asks.MatchString(e) {
			t.Errorf("%s: the key is good for %q", name, e)
		}
	}
}

func TestNoKeyProxy(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".codex"), 0o700); err != nil {
		t.Fatal(err)
	}
	agenttest.WriteFile(t, filepath.Join(home, ".codex", "config.toml"), `model_provider = "x"`)
	for _, tt := range []struct {
		name string
		o    Options
		env  string
	}{
		{"no key", Options{Name: "claude"}, ""},
		{"bedrock signs", Options{Name: "claude", Provider: "bedrock"}, "ANTHROPIC_API_KEY=k AWS_BEARER_TOKEN_BEDROCK=k"},
		{"a cloud by its switch", Options{Name: "claude"}, "ANTHROPIC_API_KEY=k CLAUDE_CODE_USE_VERTEX=1"},
		{"exact arguments", Options{Name: "claude", Exact: true}, "ANTHROPIC_API_KEY=k"},
		{"in a machine of docker's", Options{Name: "claude", Argument: true}, "ANTHROPIC_API_KEY=k"},
		{"settings with an address", Options{Name: "claude", Settings: `{"env":{"ANTHROPIC_BASE_URL":"http://x"}}`}, "ANTHROPIC_API_KEY=k"},
		{"a program that fetches keys", Options{Name: "claude", Args: []string{"--settings", `{"apiKeyHelper":"x"}`}}, "ANTHROPIC_API_KEY=k"},
		{"a password in the address", Options{Name: "claude", BaseURL: "https://u:p@gw.example.com"}, "ANTHROPIC_API_KEY=k"},
		{"a query in the address", Options{Name: "codex", Provider: "responses", BaseURL: "https://gw.example.com/v1?api-version=1"}, "CODEX_API_KEY=k"},
		{"no address", Options{Name: "claude", BaseURL: "gw.example.com"}, "ANTHROPIC_API_KEY=k"},
		{"a provider of the user's arguments", Options{Name: "codex", Args: []string{"-c", "model_provider=x"}}, "CODEX_API_KEY=k"},
		{"a provider of the user's file", Options{Name: "codex"}, "CODEX_API_KEY=k HOME=" + home},
		{"a workspace's token", Options{Name: "codex"}, "OPENAI_API_KEY=k CODEX_ACCESS_TOKEN=t"},
		{"vertex", Options{Name: "gemini", Provider: "vertex"}, "GOOGLE_API_KEY=k"},
		{"a provider it was not tried with", Options{Name: "opencode", Model: "xai/grok"}, "XAI_API_KEY=k"},
		{"no model", Options{Name: "opencode"}, "ANTHROPIC_API_KEY=k"},
		{"GitHub's own", Options{Name: "copilot"}, "COPILOT_GITHUB_TOKEN=k"},
		{"amp", Options{Name: "amp"}, "AMP_API_KEY=k"},
		{"cline", Options{Name: "cline"}, "CLINE_API_KEY=k"},
		{"text", Options{Name: "text", Command: []string{"x"}}, "ANTHROPIC_API_KEY=k"},
		{"custom", Options{Name: "custom", Command: []string{"x"}}, "ANTHROPIC_API_KEY=k"},
		{"nobody", Options{Name: "x"}, "ANTHROPIC_API_KEY=k"},
	} {
		tt.o.Env, tt.o.Scratch = strings.Fields(tt.env), "/s"
		if d, ok := KeyProxy(tt.o); ok {
			t.Errorf("%s: KeyProxy = %+v, want none", tt.name, d)
		}
		if o := ThroughKeyProxy(tt.o, "http://127.0.0.1:1", "p"); o.BaseURL != tt.o.BaseURL || !slices.Equal(o.Env, tt.o.Env) {
			t.Errorf("%s: ThroughKeyProxy changed the options", tt.name)
		}
	}
}

// What the user gave beside the key stays.
func TestThroughKeyProxyKeeps(t *testing.T) {
	t.Parallel()
	o := Options{
		Name: "claude", Env: []string{"A=b", "ANTHROPIC_API_KEY=k", "ANTHROPIC_CUSTOM_HEADERS=x: y"}, Scratch: "/s",
		Settings: `{"model":"opus"}`, Args: []string{"--max-turns", "3"}, Command: []string{"npx", "claude"},
	}
	before := slices.Clone(o.Env)
	got := ThroughKeyProxy(o, "http://127.0.0.1:1", "p")
	if driver.Lookup(got.Env, "A") != "b" || driver.Lookup(got.Env, "ANTHROPIC_CUSTOM_HEADERS") != "x: y" || !slices.Equal(got.Args, o.Args) || !slices.Equal(got.Command, o.Command) {
		t.Errorf("ThroughKeyProxy = %+v", got)
	}
	// WebFetch would ask api.anthropic.com first, past the key proxy.
	if got.Settings != `{"model":"opus","skipWebFetchPreflight":true}` {
		t.Errorf("settings = %s", got.Settings)
	}
	if o.Settings = `{"skipWebFetchPreflight":false}`; ThroughKeyProxy(o, "http://127.0.0.1:1", "p").Settings != o.Settings {
		t.Error("the user's own setting did not stay")
	}
	if !slices.Equal(o.Env, before) {
		t.Error("ThroughKeyProxy changed the options it was given")
	}
}
