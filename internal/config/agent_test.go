package config_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/config"
)

func TestBadAgentOptions(t *testing.T) {
	t.Parallel()
	dir := workspace(t, map[string]string{"list.json": "[]", "half.json": "{\n\"a\":", "empty.txt": " \n", "folder/": ""})
	custom := func(more ...string) map[string]string {
		m := with("agent", "custom", "agent-command", "x", "agent-filters", "text: .x")
		maps.Copy(m, with(more...))
		return m
	}
	for _, tc := range []struct {
		name   string
		inputs map[string]string
		want   string
	}{
		{"custom without a command", with("agent", "custom", "agent-filters", "text: .x"), "input agent: custom needs agent-command: the program that is the agent"},
		{"custom without words", with("agent", "custom", "agent-command", "x"), `input agent: custom needs agent-filters: at least what finds its words, such as text: select(.type=="text") | .text`},
		{"filters of another agent", with("agent-filters", "text: .x"), "flag --agent-filters: it has no effect: it belongs to agent custom"},
		{"delivery of another agent", with("agent-prompt", "file"), "flag --agent-prompt: it has no effect: it belongs to agent custom"},
		{"a filter without a name", custom("agent-filters", ".x"), `flag --agent-filters: ".x" is not allowed: give one NAME: JQ per line`},
		{"a filter twice", custom("agent-filters", "text: .x\ntext: .y"), `flag --agent-filters: "text" is there twice`},
		{"effort of custom", custom("effort", "high"), "flag --effort: it has no effect: write it into agent-command"},
		{"version of custom", custom("agent-version", "1"), "flag --agent-version: it has no effect: the program of agent-command is yours"},
		{"key of text", with("agent", "text", "agent-command", "x", "api-key", "some-key-or-other"), "input api-key: it has no effect: name the agent's variable in pass-env, and set it in env"},
		{"version beside a command", with("agent-command", "x", "agent-version", "1"), "flag --agent-version: it has no effect: agent-command names the program"},
		{"a range of versions", with("agent-version", "^2.1"), `flag --agent-version: "^2.1" is not allowed: give an exact version such as 2.1.329, or latest`},
		{"a package as version", with("agent-version", "2.1.3 --registry=x"), "flag --agent-version:"},
		{"latest that may not be installed", with("agent-version", "latest", "agent-install", "never"), "flag --agent-version: latest is not looked for with agent-install: never"},
		{"an effort that is an option", with("effort", "--high"), `flag --effort: "--high" is not allowed: give one word of letters, digits, dots and dashes`},
		{"a provider of two words", with("provider", "a b"), "input provider:"},
		{"an address without a scheme", with("base-url", "models.example.com"), `input base-url: "models.example.com" is not allowed: give an address such as https://models.example.com/v1`},
		{"a password in an address", with("base-url", "https://me:secret-word@models.example.com"), "input base-url: it holds a name or a password: give the key in api-key"},
		{"a key with white space", with("api-key", "sk one"), "input api-key: the token holds white space"},
		{"the forge's token as a key", with("api-key", "ghs_0123456789", "github-token", "ghs_0123456789"), "input api-key: it is the forge's token, which no agent gets: give the key of the agent's provider"},
		{"no JSON", with("mcp-config", "{servers}"), "input mcp-config: it is no JSON object: line 1: invalid character"},
		{"a list", with("mcp-config", "list.json"), `input mcp-config: "list.json" is no JSON object: line 1: no array belongs there`},
		{"half an object", with("agent-settings", "half.json"), `input agent-settings: "half.json" is no JSON object: line 2: unexpected end of JSON input`},
		{"no such file", with("mcp-config", "none.json"), `input mcp-config: "none.json" cannot be read: it does not exist`},
		{"outside", with("agent-settings", "../x.json"), `input agent-settings: "../x.json" is outside the workspace: give a path relative to it`},
		{"a folder", with("pricing", "folder"), `flag --pricing: "folder" is a folder: give a file`},
		{"an empty file", with("append-system-prompt", "@empty.txt"), `flag --append-system-prompt: "empty.txt" is empty`},
		{"a fallback that is the same", with("fallback-agent", "claude"), "flag --fallback-agent: it is the same as what it would take over from: give another agent or another model"},
		{"a fallback model that is the same", with("model", "m", "fallback-model", "m"), "flag --fallback-model: it is the same as what it would take over from"},
		{"a fallback model of text", with("agent", "text", "agent-command", "x", "fallback-model", "m"), "flag --fallback-model: it needs fallback-agent: text is no agent that takes a model"},
		{"exact arguments", with("agent-exact-args", "-p", "effort", "high"), "flag --effort: it has no effect: flag --agent-exact-args has all of the agent's arguments"},
	} {
		_, err := config.Load(asAction(dir, tc.inputs))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: Load = %v, want %q", tc.name, err, tc.want)
		}
		if err != nil && (strings.Contains(err.Error(), "secret-word") || strings.Contains(err.Error(), "some-key-or-other")) {
			t.Errorf("%s: the message shows a secret: %v", tc.name, err)
		}
	}
}

// A file serves the agent that it names; whoever chooses another one is told what has
// no effect.
func TestFileOfAnotherAgent(t *testing.T) {
	t.Parallel()
	dir := workspace(t, map[string]string{".github/ralph.yml": "agent: custom\nagent-command: ./mine\nagent-filters: |\n  text: .x\nagent-prompt: file\n"})
	c, err := config.Load(config.LoadOptions{Dir: dir, Flags: with("agent", "claude"), Mode: "run", Local: true})
	if err != nil {
		t.Fatal(err)
	}
	warned := strings.Join(c.Warnings, "\n")
	for _, want := range []string{"2: agent-command", "3: agent-filters", "5: agent-prompt"} {
		if want = ".github/ralph.yml:" + want + ": it has no effect: it belongs to agent custom"; !strings.Contains(warned, want) {
			t.Errorf("warnings %q, want %q among them", warned, want)
		}
	}
	if c.Agent.Name != "claude" || len(c.Agent.Command) > 0 {
		t.Errorf("agent %q with command %q, want claude without one", c.Agent.Name, c.Agent.Command)
	}
}

func TestAgentOptions(t *testing.T) {
	t.Parallel()
	dir := workspace(t, map[string]string{"mcp.json": "{\"mcpServers\": {}}\n", "rules.md": "Be brief.\n"})
	c, err := config.Load(asAction(dir, with(
		"mcp-config", "mcp.json", "agent-settings", ` {"a": 1} `, "append-system-prompt", "@rules.md", "effort", "high", "provider", "bedrock",
		"base-url", "https://models.example.com/v1", "agent-version", "v2.1.329", "fallback-model", "haiku", "api-key", "sk-some-key",
	)))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range [][3]string{
		{"MCP", c.Agent.MCP, `{"mcpServers": {}}`}, {"AgentSettings", c.Agent.Settings, `{"a": 1}`}, {"System", c.Agent.System, "Be brief.\n"}, {"Effort", c.Agent.Effort, "high"},
		{"Provider", c.Provider.Name, "bedrock"}, {"BaseURL", c.Provider.BaseURL, "https://models.example.com/v1"}, {"AgentVersion", c.Agent.Version, "2.1.329"},
		{"FallbackAgent", c.Agent.Fallback, ""}, {"FallbackModel", c.Agent.FallbackModel, "haiku"}, {"APIKey", c.Provider.APIKey.Reveal(), "sk-some-key"},
	} {
		if tc[1] != tc[2] {
			t.Errorf("%s = %q, want %q", tc[0], tc[1], tc[2])
		}
	}
	if len(c.Warnings) > 0 {
		t.Errorf("warnings %q", c.Warnings)
	}
	if _, err = config.Load(config.LoadOptions{
		Dir: dir, Inputs: with("api-key", "sk-some-key", "pass-env", "MY_KEY"), Environment: map[string]string{"MY_KEY": "sk-some-key"},
	}); err != nil {
		t.Errorf("a key that is a variable, too: %v", err)
	}
	c, err = config.Load(config.LoadOptions{Dir: dir, Inputs: with("base-url", "http://models.example.com")})
	if err != nil || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "travel in the clear") {
		t.Errorf("an address without TLS: %v, warnings %q", err, c.Warnings)
	}
	c, err = config.Load(asAction(dir, with("agent", "custom", "agent-command", "x", "agent-filters", "text: select(.a==\":\") | .b\n# no\nmodel: .m")))
	if err != nil || c.Agent.Filters["text"] != `select(.a==":") | .b` || c.Agent.Filters["model"] != ".m" || len(c.Agent.Filters) != 2 {
		t.Errorf("filters %q, %v", c.Agent.Filters, err)
	}
}
