package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/claude"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	good := player(t, "claude", "print", "")
	for _, tt := range []struct {
		name   string
		change func(o *Options)
		want   string
	}{
		{"unknown agent", func(o *Options) { o.Name = "cluade" }, `agent "cluade": unknown; known are ` + strings.Join(Known(), ", ")},
		{"no agent", func(o *Options) { o.Name = "" }, `agent "": unknown; known are ` + strings.Join(Known(), ", ")},
		{"text without a command", func(o *Options) { o.Name, o.Command = "text", nil }, `agent "text": needs agent-command, the command that reads the prompt on stdin`},
		{"text with a model", func(o *Options) { o.Name, o.Model = "text", "m" }, `agent "text": model has no effect; write it into agent-command`},
		{"empty program", func(o *Options) { o.Command = []string{"", "x"} }, `agent-command: the program's name is empty`},
		{"NUL", func(o *Options) { o.Args = []string{"a\x00b"} }, `agent-command, agent-args, model: contain a NUL character`},
		{"amp with a model", func(o *Options) { o.Name, o.Model = "amp", "m" }, `agent "amp": model has no effect: amp chooses it by a mode; give --mode in agent-args`},
		{"NUL in exact arguments", func(o *Options) { o.Exact, o.ExactArgs = true, []string{"a\x00b"} }, `agent-command, agent-args, model: contain a NUL character`},
		{"no process", func(o *Options) { o.Process = nil }, `agent: no process runner`},
	} {
		o := good
		tt.change(&o)
		if _, err := New(o); err == nil || err.Error() != tt.want {
			t.Errorf("New with %s = %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir() // holds the test binary as claude
	for _, name := range []string{"claude", "codex"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	const version = "2.1.197 (Claude Code)"
	for _, tt := range []struct {
		name, agent, role string
		command           []string
		flags             bool
		env               []string
		version           string
		want              string // in the error; empty: no error
	}{
		{name: "good", agent: "claude", role: "print", env: []string{"PATH=" + bin, "ANTHROPIC_API_KEY=sk-secret"}, version: version},
		{name: "a command of the user's own", agent: "claude", role: "broken", command: []string{self}},
		{name: "text", agent: "text", role: "broken", command: []string{self}},
		{name: "missing CLI", agent: "claude", role: "print", env: []string{"ANTHROPIC_API_KEY=sk-secret"},
			want: `agent "claude": "claude" not found: install it (npm install -g @anthropic-ai/claude-code), have it installed with agent-install: auto, use an image that holds it, or set agent-command`},
		{name: "missing CLI of a command", agent: "claude", role: "print", flags: true, want: `have it installed with --agent-install auto, use an image that holds it, or set --agent-command`},
		{name: "missing codex", agent: "codex", role: "print", want: `agent "codex": "codex" not found: install it (npm install -g @openai/codex)`},
		{name: "codex without credentials", agent: "codex", role: "print", env: []string{"PATH=" + bin}, want: `agent "codex": no credentials: set CODEX_API_KEY or OPENAI_API_KEY`},
		{name: "missing command", agent: "text", role: "print", command: []string{"no-such-agent", "-x"},
			want: `agent "text": "no-such-agent" not found: is agent-command right, and installed?`},
		{name: "no credentials", agent: "claude", role: "print", env: []string{"PATH=" + bin},
			want: `agent "claude": no credentials: set ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or CLAUDE_CODE_OAUTH_TOKEN`},
		{name: "empty credentials", agent: "claude", role: "print", env: []string{"PATH=" + bin, "ANTHROPIC_API_KEY="},
			want: `ANTHROPIC_API_KEY is set but empty: does the secret exist, and may this workflow read it?`},
		{name: "empty credentials of a command", agent: "claude", role: "print", flags: true, env: []string{"PATH=" + bin, "ANTHROPIC_API_KEY="},
			want: `to 1. Set but empty: ANTHROPIC_API_KEY`},
		{name: "broken installation", agent: "claude", role: "broken", env: []string{"PATH=" + bin, "ANTHROPIC_API_KEY=sk-secret"},
			want: `agent "claude": "claude --version" exited with code 1: Error: native binary is missing run npm again: is the installation whole?`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := player(t, tt.agent, tt.role, "")
			o.Command, o.Flags = tt.command, tt.flags
			o.Env = append(o.Env, tt.env...)
			o.LookPath = func(name string) (string, error) { return proc.LookPath(name, o.Env) }
			a, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			err = a.Check(t.Context())
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "sk-secret")) {
				t.Errorf("Check() = %v, want %q", err, tt.want)
			}
			if a.Version() != tt.version {
				t.Errorf("Version() = %q, want %q", a.Version(), tt.version)
			}
		})
	}
}

// Without a look before, the start itself says that the CLI is missing.
func TestCheckWithoutLook(t *testing.T) {
	t.Parallel()
	o := player(t, "claude", "print", "")
	o.Command, o.Env = nil, append(o.Env, "PATH=/nonexistent", "ANTHROPIC_API_KEY=k")
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Check(t.Context()); err == nil || !strings.Contains(err.Error(), `"claude --version" cannot be started`) {
		t.Errorf("Check() = %v, want that it cannot be started", err)
	}
}

func TestClaudeReady(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	loggedIn := t.TempDir()
	if err := os.Mkdir(filepath.Join(loggedIn, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(loggedIn, ".claude", ".credentials.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		env  []string
		want bool
	}{
		{nil, false},
		{[]string{"HOME=" + home}, false},
		{[]string{"HOME=" + home, "OPENAI_API_KEY=x"}, false},
		{[]string{"HOME=" + home, "ANTHROPIC_API_KEY=x", "ANTHROPIC_API_KEY="}, false},
		{[]string{"ANTHROPIC_API_KEY=x"}, true},
		{[]string{"ANTHROPIC_AUTH_TOKEN=x"}, true},
		{[]string{"CLAUDE_CODE_OAUTH_TOKEN=x"}, true},
		{[]string{"CLAUDE_CODE_USE_BEDROCK=1"}, true},
		{[]string{"HOME=" + loggedIn}, true},
		{[]string{"CLAUDE_CONFIG_DIR=" + filepath.Join(loggedIn, ".claude"), "HOME=" + home}, true},
	} {
		if err := (claude.Driver{}).Ready(Options{Env: tt.env}); (err == nil) != tt.want {
			t.Errorf("ready(%q) = %v, want ready = %v", tt.env, err, tt.want)
		}
	}
}

func TestClaudeArgv(t *testing.T) {
	t.Parallel()
	fixed := "-p --output-format stream-json --verbose --dangerously-skip-permissions --setting-sources user --add-dir=."
	for _, tt := range []struct {
		o    Options
		p    ralph.Prompt
		want string
	}{
		{Options{}, ralph.Prompt{Text: "ignored: it goes to stdin"}, "claude " + fixed},
		{Options{Model: "opus", Args: []string{"--max-turns", "3"}}, ralph.Prompt{}, "claude " + fixed + " --model opus --max-turns 3"},
		{Options{Command: []string{"npx", "claude"}}, ralph.Prompt{CostLeft: 1_250_000}, "npx claude " + fixed + " --max-budget-usd 1.25"},
		{Options{}, ralph.Prompt{CostLeft: 1}, "claude " + fixed + " --max-budget-usd 0.000001"},
	} {
		if got := strings.Join(claude.Driver{}.Argv(tt.o, tt.p), " "); got != tt.want {
			t.Errorf("argv(%+v, %+v) = %s, want %s", tt.o, tt.p, got, tt.want)
		}
	}
}

func TestClaudeEnviron(t *testing.T) {
	t.Parallel()
	given := []string{"PATH=/bin", "CLAUDECODE=1", "DISABLE_TELEMETRY=0", "IS_SANDBOX=0"}
	want := "PATH=/bin DISABLE_TELEMETRY=0 IS_SANDBOX=0 DISABLE_ERROR_REPORTING=1 DISABLE_AUTOUPDATER=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD=1"
	if got := strings.Join(claude.Driver{}.Environ(Options{Env: given}), " "); got != want {
		t.Errorf("environ() = %s, want %s", got, want)
	}
	if got := (claude.Driver{}).Environ(Options{Env: given, Root: true}); driver.Lookup(got, "IS_SANDBOX") != "1" || len(got) != 7 {
		t.Errorf("environ(root) = %q, want IS_SANDBOX=1 once", got)
	}
	if strings.Join(given, " ") != "PATH=/bin CLAUDECODE=1 DISABLE_TELEMETRY=0 IS_SANDBOX=0" {
		t.Errorf("environ() changed its input to %q", given)
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	got := Credentials("claude")
	for _, name := range []string{"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL"} {
		if !slices.Contains(got, name) {
			t.Errorf("Credentials(claude) = %q, want it to hold %s", got, name)
		}
	}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "GOOGLE_APPLICATION_CREDENTIALS"} {
		if slices.Contains(got, name) {
			t.Errorf("Credentials(claude) holds %s, which opens more than a model", name)
		}
	}
	if got := Credentials("text"); got != nil {
		t.Errorf("Credentials(text) = %q, want none", got)
	}
}
