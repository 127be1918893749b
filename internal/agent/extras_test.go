package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// asked is what an agent's child is started with.
type asked struct {
	argv, env []string
	files     map[string]string
}

func ask(t *testing.T, o Options, p ralph.Prompt) asked {
	t.Helper()
	o.Process, o.Scratch = noProcess{}, t.TempDir()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	got := asked{files: map[string]string{}}
	o, q, _, done, err := c.handOver(p)
	defer done()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range c.extras {
		path := o.Turn.Files[e.Name]
		b, err := os.ReadFile(path)
		if info, e := os.Stat(path); err != nil || e != nil || info.Mode().Perm() != 0o600 {
			t.Fatal(err, e, info)
		}
		got.files[e.Name] = string(b)
		o.Turn.Files[e.Name] = "/scratch/" + e.Name
	}
	got.argv, got.env = driver.CommandLine(c.driver, o, q), c.driver.Environ(o)
	return got
}

// Every option together, in a new session and in one that goes on. The secrets
// are in files and variables only.
func TestOptionsTogether(t *testing.T) {
	t.Parallel()
	all := func(o Options) Options {
		o.Args, o.MCP, o.System = []string{"--more"}, agenttest.Servers, "Be \"kind\".\nAlways."
		o.Env = []string{"HOME=/nonexistent", "SECRET=s3cr3t"}
		return o
	}
	for _, tt := range []struct {
		name  string
		o     Options
		argv  string // joined by "|"
		env   string // of ours, joined by "|"
		files map[string]string
	}{
		{
			name: "claude",
			o:    all(Options{Name: "claude", Model: "m", Effort: "xhigh", Provider: "bedrock", BaseURL: "https://b.example.com", Settings: `{"env":{"A":"b"}}`}),
			argv: "claude|-p|--output-format|stream-json|--verbose|--dangerously-skip-permissions|--setting-sources|user|--add-dir=.|--model|m|--effort|xhigh|--max-budget-usd|0.5" +
				"|--mcp-config=/scratch/mcp.json|--append-system-prompt-file|/scratch/system.txt|--settings|/scratch/settings.json|--more|--resume|ID",
			env:   "CLAUDE_CODE_USE_BEDROCK=1|ANTHROPIC_BEDROCK_BASE_URL=https://b.example.com",
			files: map[string]string{"mcp.json": agenttest.Servers, "system.txt": "Be \"kind\".\nAlways.", "settings.json": `{"env":{"A":"b"}}`},
		},
		{
			name: "claude in text mode",
			o:    all(Options{Name: "claude", Plain: true, Effort: "low"}),
			argv: "claude|-p|--output-format|text|--dangerously-skip-permissions|--setting-sources|user|--add-dir=.|--effort|low|--max-budget-usd|0.5" +
				"|--mcp-config=/scratch/mcp.json|--append-system-prompt-file|/scratch/system.txt|--more|--resume|ID",
			files: map[string]string{"mcp.json": agenttest.Servers, "system.txt": "Be \"kind\".\nAlways."},
		},
		{
			name: "claude whose prompt is an argument has no files",
			o:    all(Options{Name: "claude", Argument: true, Settings: `{"env":{"A":"b"}}`}),
			argv: "claude|-p|do it|--output-format|stream-json|--verbose|--dangerously-skip-permissions|--setting-sources|user|--add-dir=.|--max-budget-usd|0.5" +
				"|--mcp-config=" + agenttest.Servers + "|--append-system-prompt|Be \"kind\".\nAlways.|--settings|{\"env\":{\"A\":\"b\"}}|--more|--resume|ID",
		},
		{
			name: "codex",
			o: all(Options{Name: "codex", Model: "m", Effort: "high", Provider: "azure", BaseURL: "https://x.openai.azure.com/openai?api-version=2025-04-01-preview",
				Settings: `{"model_verbosity":"low","tools":{"update_plan":{"enabled":true}},"list":[1,2.5,"x"],"odd":{"a b":{"c":"d"}}}`}),
			argv: "codex|exec|--json|--dangerously-bypass-approvals-and-sandbox|--skip-git-repo-check|-c|analytics.enabled=false" +
				`|-c|model_reasoning_effort="high"|-c|developer_instructions="Be \"kind\".\nAlways."` +
				`|-c|model_provider="ralph"|-c|model_providers.ralph={base_url="https://x.openai.azure.com/openai",name="Azure",query_params={api-version="2025-04-01-preview"},wire_api="responses"}` +
				`|-c|mcp_servers.demo={args=["/scratch/mcp-1.sh"],command="sh"}` +
				`|-c|mcp_servers.web={env_http_headers={Authorization="RALPH_MCP_2_HEADER_1"},url="https://mcp.example.com/x"}` +
				`|-c|list=[1,2.5,"x"]|-c|model_verbosity="low"|-c|odd={"a b"={c="d"}}|-c|tools.update_plan.enabled=true` +
				"|-m|m|--more|resume|ID|-",
			env:   "RALPH_MCP_2_HEADER_1=Bearer s3cr3t",
			files: map[string]string{"mcp-1.sh": "export TOKEN='s3cr3t'\nexec 'npx' '-y' 'it'\\''s'\n"},
		},
		{
			name: "amp",
			o:    all(Options{Name: "amp", BaseURL: "https://amp.example.com", Settings: `{"amp.proxy":"http://p"}`}),
			argv: "amp|threads|continue|ID|--more|--mcp-config|/scratch/mcp.json|--settings-file|/scratch/settings.json|--stream-json|--dangerously-allow-all|-x",
			env:  "AMP_URL=https://amp.example.com",
			files: map[string]string{"settings.json": `{"amp.proxy":"http://p"}`,
				"mcp.json": agenttest.Servers[len(`{"mcpServers":`) : len(agenttest.Servers)-1]},
		},
		{
			name: "cline",
			o:    all(Options{Name: "cline", Model: "m", Effort: "none", BaseURL: "https://c.example.com", Provider: "cline"}),
			argv: "cline|--json|-P|cline|-m|m|--thinking|none|--more|Be \"kind\".\nAlways.\n\ndo it",
			env:  "CLINE_MCP_SETTINGS_PATH=/scratch/mcp.json|CLINE_API_BASE_URL=https://c.example.com", files: map[string]string{"mcp.json": agenttest.Servers},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, session := range []string{"", "ID"} {
				want := tt.argv
				if session == "" {
					want = strings.NewReplacer("|--resume|ID", "", "|resume|ID", "", "|threads|continue|ID", "").Replace(want)
				}
				got := ask(t, tt.o, ralph.Prompt{Text: "do it", CostLeft: ralph.USD / 2, Resume: session})
				if g := strings.Join(got.argv, "|"); g != want {
					t.Errorf("argv =\n%s\nwant\n%s", g, want)
				}
				if tt.name != "claude whose prompt is an argument has no files" && strings.Contains(strings.Join(got.argv, " "), "s3cr3t") {
					t.Errorf("a secret stands in %q", got.argv)
				}
				for _, kv := range strings.Split(tt.env, "|") {
					if kv != "" && !slices.Contains(got.env, kv) {
						t.Errorf("environment = %q, want %s in it", got.env, kv)
					}
				}
				if len(got.files) != len(tt.files) {
					t.Errorf("files = %q, want %q", got.files, tt.files)
				}
				for name, text := range tt.files {
					if got.files[name] != text {
						t.Errorf("%s = %s, want %s", name, got.files[name], text)
					}
				}
			}
			// With exact arguments none of it is added.
			o := tt.o
			o.Exact, o.ExactArgs, o.Argument, o.System = true, []string{"x"}, false, ""
			got := ask(t, o, ralph.Prompt{Text: "do it"})
			if g := strings.Join(got.argv, "|"); g != o.Name+"|x" && g != "cline|x|do it" || len(got.files) > 0 {
				t.Errorf("exact: argv = %s, files %q, want the exact arguments only", g, got.files)
			}
			if g := strings.Join(got.env, " "); strings.Contains(g, "example.com") || strings.Contains(g, "BEDROCK") || strings.Contains(g, "Bearer") {
				t.Errorf("exact: environment = %s, want nothing of the options", g)
			}
		})
	}
}

// The user's own arguments win.
func TestOptionsGiveWay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		o    Options
		args string
		not  string
	}{
		{Options{Name: "claude", Effort: "low"}, "--effort=high", "low"},
		{Options{Name: "cline", Effort: "low"}, "--thinking high", "low"},
		{Options{Name: "cline", Provider: "groq"}, "-P anthropic", "groq"},
	} {
		o := tt.o
		o.Args = strings.Fields(tt.args)
		if got := ask(t, o, ralph.Prompt{Text: "do it"}).argv; slices.Contains(got, tt.not) {
			t.Errorf("%s with %s: argv = %q", o.Name, tt.args, got)
		}
	}
}

// What a CLI cannot take is refused before it is started, with what is used
// instead.
func TestOptionsRefused(t *testing.T) {
	t.Parallel()
	mcp := func(server string) string { return `{"mcpServers":{"demo":` + server + `}}` }
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Name: "claude", Effort: "ultra"}, `agent "claude": effort "ultra": unknown; known are low, medium, high, xhigh, max`},
		{Options{Name: "claude", Provider: "azure"}, `provider "azure": unknown; known are anthropic, bedrock, vertex, foundry`},
		{Options{Name: "claude", MCP: `{"servers":{}}`}, `mcp-config: must be a JSON object whose member "mcpServers" holds an object for each server`},
		{Options{Name: "claude", MCP: `[]`}, `mcp-config: is no JSON object`},
		{Options{Name: "claude", Settings: `null`}, `agent-settings: is no JSON object`},
		{Options{Name: "claude", Settings: `{"disableAllHooks":true}`, Hooks: map[string]string{"Stop": "x"}}, `agent-settings: disableAllHooks turns off the hooks this run needs`},
		{Options{Name: "claude", Settings: `{"hooks":[]}`, Hooks: map[string]string{"Stop": "x"}}, `agent-settings: "hooks" must be an object`},
		{Options{Name: "claude", System: "x", Args: []string{"--append-system-prompt", "y"}}, "leave one of them out"},
		{Options{Name: "claude", Argument: true, System: strings.Repeat("x", driver.MaxArgument+1)}, "append-system-prompt: its 102401 bytes are too long"},
		{Options{Name: "claude", Argument: true, Settings: "{}", Args: []string{"--settings", "x.json"}}, "leave one of them out"},
		{Options{Name: "codex", Effort: "very high"}, `effort "very high": unknown; known are none, minimal, low`},
		{Options{Name: "codex", Provider: "bedrock"}, `provider "bedrock": unknown; known are openai, azure, responses`},
		{Options{Name: "codex", Provider: "azure"}, `provider azure: needs base-url, such as https://NAME.openai.azure.com/openai/v1`},
		{Options{Name: "codex", Provider: "responses", BaseURL: "gateway"}, "base-url: must be an address such as"},
		{Options{Name: "codex", System: strings.Repeat("x", driver.MaxArgument)}, "bytes are too long for one (102400)"},
		{Options{Name: "codex", System: "x", Settings: `{"developer_instructions":"y"}`}, "leave one of them out"},
		{Options{Name: "codex", Settings: `{"a":{"b":null}}`}, "agent-settings: a.b: null is no value of codex's configuration"},
		{Options{Name: "codex", Settings: `{"a.b":1}`}, "agent-settings: a.b: letters, digits, - and _ only"},
		{Options{Name: "codex", MCP: `{"mcpServers":{"a.b":{"command":"x"}}}`}, `mcp-config: server "a.b": codex takes letters, digits, - and _ in a name`},
		{Options{Name: "codex", MCP: mcp(`{"command":"x","timeout":3}`)}, `mcp-config: server "demo": json: unknown field "timeout"; codex takes command, args, env and cwd`},
		{Options{Name: "codex", MCP: mcp(`{}`)}, "must have a command or a url"},
		{Options{Name: "codex", MCP: mcp(`{"command":"x","url":"y"}`)}, "must have a command or a url"},
		{Options{Name: "codex", MCP: mcp(`{"type":"sse","url":"y"}`)}, `type "sse": codex speaks stdio with a command and streamable HTTP`},
		{Options{Name: "codex", MCP: mcp(`{"command":"x","env":{"A":"${NONE}"}}`)}, "${NONE}: the variable is not set; hand it to the agent with pass-env"},
		{Options{Name: "codex", MCP: mcp(`{"command":"x","env":{"A;rm":"b"}}`)}, `"A;rm" is no name of a variable`},
		{Options{Name: "amp", Effort: "high"}, "effort has no effect: amp chooses model and effort by a mode; give --mode"},
		{Options{Name: "amp", Provider: "openai"}, "provider has no effect: amp asks its own server only; base-url is its address"},
		{Options{Name: "amp", Settings: "{"}, "agent-settings: is no JSON object"},
		{Options{Name: "cline", Effort: "max"}, `effort "max": unknown; known are none, low, medium, high, xhigh`},
		{Options{Name: "cline", Settings: "{}"}, "agent-settings has no effect: write a setup step"},
		{Options{Name: "cline", Provider: "anthropic", BaseURL: "https://x"}, "base-url has no effect: cline takes the address of another provider"},
		{Options{Name: "cline", Args: []string{"-P", "groq"}, BaseURL: "https://x"}, "base-url has no effect"},
	} {
		o := tt.o
		o.Process, o.Scratch = noProcess{}, t.TempDir()
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("New(%s) = %v, want %q", o.Name, err, tt.want)
		}
	}
}

// agent-settings, the user's own --settings and the hooks become one file. The
// user's arguments win, lists are joined.
func TestSettingsMerged(t *testing.T) {
	t.Parallel()
	o := Options{
		Name: "claude", Dir: t.TempDir(), Hooks: map[string]string{"Stop": "ours"},
		Settings: `{"model":"a","permissions":{"deny":["X"],"x":1},"hooks":{"Stop":[{"hooks":[{"type":"command","command":"given"}]}]}}`,
		Args:     []string{"--settings", `{"model":"b","permissions":{"deny":["Y"]},"big":12345678901234567890}`},
	}
	const want = `{"big":12345678901234567890,"hooks":{"Stop":[{"hooks":[{"command":"given","type":"command"}]},{"hooks":[{"type":"command","command":"ours"}]}]},"model":"b","permissions":{"deny":["X","Y"],"x":1}}`
	got := ask(t, o, ralph.Prompt{Text: "p"})
	if g := settings(got.argv); !slices.Equal(g, []string{"/scratch/settings.json"}) || got.files["settings.json"] != want {
		t.Errorf("--settings = %q: %s\nwant one file: %s", g, got.files["settings.json"], want)
	}
}

// amp's --settings-file takes the place of the user's, so what is there comes
// along.
func TestAmpSettings(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "amp")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "settings.json")
	for _, tt := range []struct{ own, want string }{
		{`{"amp.proxy":"a","amp.tools.disable":["x"]}`, `{"amp.proxy":"b","amp.tools.disable":["x"]}`},
		{"// mine\n{}", ""},
	} {
		if err := os.WriteFile(file, []byte(tt.own), 0o600); err != nil {
			t.Fatal(err)
		}
		o := Options{Name: "amp", Env: []string{"HOME=" + home}, Settings: `{"amp.proxy":"b"}`, Process: noProcess{}, Scratch: t.TempDir()}
		c, err := New(o)
		if tt.want == "" {
			if err == nil || !strings.Contains(err.Error(), "take out the comments") {
				t.Errorf("New with comments in the user's file = %v", err)
			}
			continue
		}
		if err != nil || c.extras[0].Text != tt.want {
			t.Errorf("settings = %+v, %v, want %s", c.extras, err, tt.want)
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "// mine\n{}" {
		t.Errorf("the user's file = %s, %v", b, err)
	}
}
