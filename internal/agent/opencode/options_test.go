package opencode

import (
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

func TestOpencodeArgv(t *testing.T) {
	t.Parallel()
	const usual = "opencode|run|--format|json|--print-logs|--log-level|ERROR|--auto"
	for _, tt := range []struct {
		name   string
		o      driver.Options
		resume string
		want   string
	}{
		{"bare", driver.Options{}, "", usual},
		{"a model", driver.Options{Model: "anthropic/claude-sonnet-5"}, "", usual + "|-m|anthropic/claude-sonnet-5"},
		{"a provider", driver.Options{Provider: "openrouter", Model: "anthropic/claude-sonnet-5"}, "", usual + "|-m|openrouter/anthropic/claude-sonnet-5"},
		{"a provider named twice", driver.Options{Provider: "openai", Model: "openai/gpt-6"}, "", usual + "|-m|openai/gpt-6"},
		{"an endpoint", driver.Options{BaseURL: "http://x/v1", Model: "m"}, "", usual + "|-m|openai-compatible/m"},
		{"an endpoint of a provider's", driver.Options{BaseURL: "http://x/v1", Model: "openai/m"}, "", usual + "|-m|openai/m"},
		{"an effort", driver.Options{Effort: "high"}, "", usual + "|--variant|high"},
		{"the user's", driver.Options{Model: "a/b", Effort: "high", Args: []string{"run", "--model=c/d", "--variant", "low", "--log-level", "DEBUG"}}, "", "opencode|run|--format|json|--print-logs|--auto|--model=c/d|--variant|low|--log-level|DEBUG"},
		{"what repeats ours", driver.Options{Args: []string{"--auto", "--format", "default", "--print-logs", "--agent", "build"}}, "", usual + "|--agent|build"},
		{"without bypass", driver.Options{Args: []string{"--auto=false"}}, "", strings.TrimSuffix(usual, "|--auto") + "|--auto=false"},
		{"text mode", driver.Options{Plain: true}, "", "opencode|run|--auto"},
		{"another command", driver.Options{Command: []string{"npx", "opencode", "run"}}, "", "npx|" + usual},
		{"resumed", driver.Options{Args: []string{"--agent", "build"}}, "ses_1", usual + "|--agent|build|-s|ses_1"},
		{"before the message", driver.Options{Args: []string{"--", "also this"}}, "ses_1", usual + "|-s|ses_1|--|also this"},
		{"the user resumes", driver.Options{Args: []string{"--continue"}}, "ses_1", usual + "|--continue"},
		{"exact", driver.Options{Exact: true, ExactArgs: []string{"run", "--format", "json"}}, "ses_1", "opencode|run|--format|json|-s|ses_1"},
		{"exact, another command", driver.Options{Exact: true, ExactArgs: []string{"serve"}}, "ses_1", "opencode|serve"},
	} {
		tt.o.Name = "opencode"
		if got := strings.Join(driver.CommandLine(Driver{}, tt.o, ralph.Prompt{Text: "p", Resume: tt.resume}), "|"); got != tt.want {
			t.Errorf("%s: argv =\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// What is asked for reaches the CLI in a variable, and the system prompt in a
// file; neither the user's files nor the repository's change.
func TestOpencodeConfig(t *testing.T) {
	t.Parallel()
	const quiet = "OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_SHARE=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1 OPENCODE_DISABLE_PROJECT_CONFIG=1 OPENCODE_PURE=1"
	const mcp = `{"mcpServers":{"a":{"command":"x","args":["-k","${KEY}"],"env":{"V":"${W}x"}},"b":{"type":"http","url":"http://x","headers":{"H":"${T}"}}}}`
	for _, tt := range []struct {
		name string
		o    driver.Options
		want string // the configuration, or an error; empty: none
	}{
		{"nothing", driver.Options{}, ""},
		{"a model alone", driver.Options{Model: "openai/m", Effort: "high"}, ""},
		{"an endpoint", driver.Options{Provider: "openai-compatible", BaseURL: "http://x/v1", Model: "org/m"},
			`{"provider":{"openai-compatible":{"models":{"org/m":{}},"name":"openai-compatible","npm":"@ai-sdk/openai-compatible","options":{"apiKey":"{env:OPENAI_API_KEY}","baseURL":"http://x/v1"}}}}`},
		{"an endpoint with an effort", driver.Options{BaseURL: "http://x/v1", Model: "m", Effort: "low"},
			`"models":{"m":{"reasoning":true,"variants":{"low":{"reasoningEffort":"low"}}}}`},
		{"an endpoint of a provider's", driver.Options{Provider: "anthropic", BaseURL: "http://x/v1", Model: "m"}, `{"provider":{"anthropic":{"options":{"baseURL":"http://x/v1"}}}}`},
		{"servers", driver.Options{MCP: mcp}, `{"mcp":{"a":{"command":["x","-k","{env:KEY}"],"enabled":true,"environment":{"V":"{env:W}x"},"type":"local"},"b":{"enabled":true,"headers":{"H":"{env:T}"},"type":"remote","url":"http://x"}}}`},
		{"settings", driver.Options{Settings: `{"instructions":["a.md"],"x":1.50}`, System: "Be brief.", Turn: driver.Turn{Files: map[string]string{"system.md": "/s/f"}}}, `{"instructions":["a.md","/s/f"],"x":1.50}`},
		{"no settings", driver.Options{Settings: "x"}, "agent-settings: is no JSON object"},
		{"no servers", driver.Options{MCP: "{}"}, `mcp-config: must be a JSON object whose member "mcpServers"`},
		{"no endpoint", driver.Options{Provider: "openai-compatible", Model: "m"}, `provider "openai-compatible": needs base-url`},
		{"no model", driver.Options{Provider: "openai"}, "provider, base-url: need model"},
		{"no name", driver.Options{Provider: "open ai", Model: "m"}, `provider "open ai": is no name of one`},
		{"too long", driver.Options{Settings: `{"x":"` + strings.Repeat("y", 200<<10) + `"}`}, "are too long for opencode"},
		{"a configuration of the user's", driver.Options{Settings: "{}", MCP: mcp, Env: []string{"OPENCODE_CONFIG_CONTENT={}"}}, "OPENCODE_CONFIG_CONTENT is set"},
	} {
		extras, err := Driver{}.Extras(tt.o)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			env := strings.Join(Driver{}.Environ(tt.o), " ")
			if !strings.HasPrefix(env, quiet) {
				t.Errorf("%s: environ = %s, want %s", tt.name, env, quiet)
			}
			got = strings.TrimPrefix(strings.TrimPrefix(env, quiet), " OPENCODE_CONFIG_CONTENT=")
		}
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, driver.Clip(got, 400), tt.want)
		}
		if want := tt.o.System != ""; (len(extras) == 1 && extras[0].Text == tt.o.System) != want {
			t.Errorf("%s: extras = %v", tt.name, extras)
		}
	}
	got := strings.Join(Driver{}.Environ(driver.Options{Env: []string{"CLAUDECODE=1", "OPENCODE_DISABLE_SHARE=0", "OPENCODE_CONFIG_CONTENT={}"}}), " ")
	if want := "OPENCODE_DISABLE_SHARE=0 OPENCODE_CONFIG_CONTENT={} OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1 OPENCODE_DISABLE_PROJECT_CONFIG=1 OPENCODE_PURE=1"; got != want {
		t.Errorf("environ = %s, want %s", got, want)
	}
}

// Plugins of the repository run where the user has plugins of their own, and
// else not: the CLI cannot tell them apart.
func TestOpencodePlugins(t *testing.T) {
	t.Parallel()
	empty, own, file := t.TempDir(), t.TempDir(), t.TempDir()
	agenttest.WriteFile(t, empty+"/.config/opencode/opencode.jsonc", `{"$schema":"https://opencode.ai/config.json"}`)
	agenttest.WriteFile(t, own+"/.config/opencode/opencode.json", `{"plugin":["x"]}`)
	agenttest.WriteFile(t, file+"/.config/opencode/plugin/x.js", "")
	for _, tt := range []struct {
		name, env, settings string
		want                bool
	}{
		{"a new home", "HOME=" + t.TempDir(), "", false},
		{"a home with an empty configuration", "HOME=" + empty, "", false},
		{"a home with a configuration", "HOME=" + own, "", true},
		{"a home with a plugin", "HOME=" + file, "", true},
		{"in the settings", "", `{"plugin":["x"]}`, true},
		{"the user's word", "OPENCODE_PURE=0", "", true},
	} {
		env := Driver{}.Environ(driver.Options{Env: strings.Fields(tt.env), Settings: tt.settings})
		if got := driver.Lookup(env, "OPENCODE_PURE") != "1"; got != tt.want {
			t.Errorf("%s: plugins = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestOpencodeReady(t *testing.T) {
	t.Parallel()
	login, config := t.TempDir(), t.TempDir()
	agenttest.WriteFile(t, login+"/.local/share/opencode/auth.json", "{}")
	agenttest.WriteFile(t, config+"/.config/opencode/opencode.json", "{}")
	for _, tt := range []struct {
		name string
		env  string
		o    driver.Options
		want bool
	}{
		{"nothing", "HOME=" + t.TempDir(), driver.Options{}, false},
		{"an empty key", "OPENAI_API_KEY=", driver.Options{}, false},
		{"a key", "OPENAI_API_KEY=k", driver.Options{}, true},
		{"another's key", "CEREBRAS_API_KEY=k", driver.Options{}, true},
		{"a login", "HOME=" + login, driver.Options{}, true},
		{"a configuration", "HOME=" + config, driver.Options{}, true},
		{"an endpoint", "", driver.Options{BaseURL: "http://x", Model: "m"}, true},
		{"settings", "", driver.Options{Settings: "{}"}, true},
		{"its own models", "", driver.Options{Model: "opencode/big-pickle"}, true},
	} {
		tt.o.Env = strings.Fields(tt.env)
		if err := (Driver{}).Ready(tt.o); (err == nil) != tt.want || err != nil && !strings.Contains(err.Error(), "ANTHROPIC_API_KEY") {
			t.Errorf("%s: ready = %v, want ready = %v", tt.name, err, tt.want)
		}
	}
	keys := catalog.Of("opencode").Keys()
	for model, want := range map[string]string{"anthropic/x": "ANTHROPIC_API_KEY", "openai-compatible/y/z": "OPENAI_API_KEY", "google/x": "GEMINI_API_KEY"} {
		if got := keyVariable(model); got != want || !slices.Contains(keys, got) {
			t.Errorf("opencodeKey(%s) = %s, want %s", model, got, want)
		}
	}
}

// The repository's opencode.json is left out, its words to agents are not.
func TestOpencodeProse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := func(o driver.Options) string {
		o.Dir = dir
		return driver.Lookup(Driver{}.Environ(o), "OPENCODE_CONFIG_CONTENT")
	}
	if got := config(driver.Options{}); got != "" {
		t.Errorf("without a file: %s", got)
	}
	agenttest.WriteFile(t, dir+"/CLAUDE.md", "x")
	if want := `{"instructions":["` + dir + `/CLAUDE.md"]}`; config(driver.Options{}) != want {
		t.Errorf("CLAUDE.md alone: %s, want %s", config(driver.Options{}), want)
	}
	agenttest.WriteFile(t, dir+"/AGENTS.md", "x")
	if want := `{"instructions":["` + dir + `/AGENTS.md"]}`; config(driver.Options{}) != want {
		t.Errorf("both: %s, want %s", config(driver.Options{}), want)
	}
	if want := `{"instructions":["own.md","` + dir + `/AGENTS.md"]}`; config(driver.Options{Settings: `{"instructions":["own.md"]}`}) != want {
		t.Errorf("with the user's: %s, want %s", config(driver.Options{Settings: `{"instructions":["own.md"]}`}), want)
	}
	if got := config(driver.Options{Env: []string{"OPENCODE_CONFIG_CONTENT={}"}}); got != "{}" {
		t.Errorf("over the user's own configuration: %s", got)
	}
	if got := config(driver.Options{Env: []string{aloneVariable + "=0"}}); got != "" {
		t.Errorf("where the repository's configuration counts: %s", got)
	}
}
