package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/cline"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// Command lines as the CLIs of today take them. // 000-17, 000-18, 000-19, 000-20, 000-21, 000-23, 001-10, 001-11, 001-12
func TestArgv(t *testing.T) {
	t.Parallel()
	const task = "do it all"
	for _, tt := range []struct {
		name string
		o    Options
		cost ralph.MicroUSD
		text string // empty: task
		want string // arguments joined by "|"
	}{
		{name: "claude", o: Options{Name: "claude", Args: []string{"--effort", "high"}, Model: "opus"}, cost: ralph.USD / 2,
			want: "claude|-p|--output-format|stream-json|--verbose|--dangerously-skip-permissions|--setting-sources|user|--add-dir=.|--model|opus|--max-budget-usd|0.5|--effort|high"},
		{name: "claude: what we add is not doubled", o: Options{Name: "claude", Args: []string{"-p", "--output-format", "stream-json", "--verbose", "--output-format=json", "--dangerously-skip-permissions", "--setting-sources", "project", "--model=x"}, Model: "opus"},
			want: "claude|-p|--output-format|stream-json|--verbose|--dangerously-skip-permissions|--setting-sources|project|--model=x"},
		{name: "claude: text mode", o: Options{Name: "claude", Plain: true, Args: []string{"--verbose", "--include-partial-messages", "--x"}},
			want: "claude|-p|--output-format|text|--dangerously-skip-permissions|--setting-sources|user|--add-dir=.|--x"},
		{name: "claude: a command of the user's own", o: Options{Name: "claude", Command: []string{"npx", "claude", "-p"}},
			want: "npx|claude|-p|--output-format|stream-json|--verbose|--dangerously-skip-permissions|--setting-sources|user|--add-dir=."},
		{name: "claude: behind another program", o: Options{Name: "claude", Command: []string{"ssh", "-p", "22", "host", "claude", "--verbose"}},
			want: "ssh|-p|22|host|claude|-p|--output-format|stream-json|--verbose|--dangerously-skip-permissions|--setting-sources|user|--add-dir=."},
		{name: "codex", o: Options{Name: "codex", Args: []string{"--ephemeral"}, Model: "gpt-5.5"},
			want: "codex|exec|--json|--dangerously-bypass-approvals-and-sandbox|--skip-git-repo-check|-c|analytics.enabled=false|-m|gpt-5.5|--ephemeral|-"},
		{name: "codex: what we add is not doubled, which it refuses", o: Options{Name: "codex", Args: []string{"e", "--json", "--yolo", "--skip-git-repo-check", "-m", "x", "-"}, Model: "gpt-5.5"},
			want: "codex|exec|--json|--dangerously-bypass-approvals-and-sandbox|--skip-git-repo-check|-c|analytics.enabled=false|-m|x|-"},
		{name: "codex: a sandbox the user asked for", o: Options{Name: "codex", Args: []string{"-s", "workspace-write"}},
			want: "codex|exec|--json|--skip-git-repo-check|-c|analytics.enabled=false|-s|workspace-write|-"},
		{name: "codex: the command has the subcommand", o: Options{Name: "codex", Command: []string{"/opt/codex", "e"}},
			want: "/opt/codex|exec|--json|--dangerously-bypass-approvals-and-sandbox|--skip-git-repo-check|-c|analytics.enabled=false|-"},
		{name: "codex: the command has flags", o: Options{Name: "codex", Command: []string{"codex", "--yolo", "exec", "--json"}, Args: []string{"--oss"}},
			want: "codex|exec|--json|--dangerously-bypass-approvals-and-sandbox|--skip-git-repo-check|-c|analytics.enabled=false|--oss|-"},
		{name: "codex: text mode without a folder", o: Options{Name: "codex", Plain: true, Args: []string{"--json", "-o", "x"}},
			want: "codex|exec|--dangerously-bypass-approvals-and-sandbox|--skip-git-repo-check|-c|analytics.enabled=false|-"},
		{name: "codex: text mode", o: Options{Name: "codex", Plain: true, Scratch: "."},
			want: "codex|exec|--dangerously-bypass-approvals-and-sandbox|--skip-git-repo-check|-c|analytics.enabled=false|-o|<file>|-"},
		{name: "amp", o: Options{Name: "amp", Args: []string{"--mode", "high"}},
			want: "amp|--mode|high|--stream-json|--dangerously-allow-all|-x"},
		{name: "amp: what we add is not doubled, -x is last", o: Options{Name: "amp", Args: []string{"-x", "--stream-json", "--dangerously-allow-all", "--no-ide"}},
			want: "amp|--no-ide|--stream-json|--dangerously-allow-all|-x"},
		{name: "amp: text mode", o: Options{Name: "amp", Plain: true, Args: []string{"--stream-json"}},
			want: "amp|--dangerously-allow-all|-x"},
		{name: "cline", o: Options{Name: "cline", Args: []string{"-P", "anthropic"}, Model: "m"},
			want: "cline|--json|-m|m|-P|anthropic|<prompt>"},
		{name: "cline: of the seed", o: Options{Name: "cline", Args: []string{"--yolo", "--json"}}, want: "cline|--json|--yolo|<prompt>"},
		{name: "cline: text mode", o: Options{Name: "cline", Plain: true, Args: []string{"--json"}}, want: "cline|<prompt>"},
		{name: "text", o: Options{Name: "text", Command: []string{"cline", "--yolo"}, Args: []string{"--verbose"}}, want: "cline|--yolo|--verbose"},
		{name: "exact", o: Options{Name: "claude", Exact: true, ExactArgs: []string{"-p", "--x"}, Args: []string{"--y"}, Model: "m"}, want: "claude|-p|--x"},
		{name: "exact, and none", o: Options{Name: "cline", Exact: true}, want: "cline|<prompt>"},
		{name: "exact with a command", o: Options{Name: "codex", Exact: true, Command: []string{"/opt/c", "x"}, ExactArgs: []string{"--y"}}, want: "/opt/c|x|--y"},
	} {
		o := tt.o
		o.Process = noProcess{}
		c, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Argv(ralph.Prompt{Text: task, CostLeft: tt.cost}), "|"); got != tt.want {
			t.Errorf("%s: Argv =\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// A prompt is never taken for an option or a command.
func TestOperand(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"fix the build": "fix the build", "--help me": "\n--help me", "-": "\n-", "update": "\nupdate", "": "\n", "update it": "update it",
	} {
		argv := cline.Driver{}.Argv(Options{}, ralph.Prompt{Text: prompt})
		if got := argv[len(argv)-1]; got != want {
			t.Errorf("argument for %q = %q, want %q", prompt, got, want)
		}
	}
}

// 001-10
func TestInfer(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"claude": "claude", "/usr/local/bin/codex e": "codex", "amp": "amp", "./cline": "cline", `C:\tools\claude.cmd`: "claude",
		"claude-wrapper": "text", "sh -c claude": "text", "text": "text", "": "text",
	} {
		if got := Infer(strings.Fields(command)); got != want {
			t.Errorf("Infer(%q) = %q, want %q", command, got, want)
		}
	}
	if got := Infer(nil); got != "text" {
		t.Errorf("Infer(nil) = %q, want text", got)
	}
}

// Arguments of the time when the CLIs took them. // 000-19, 000-21, 001-11, 001-12, 001-13
func TestModern(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, args, want string
		warnings         []string // beginnings
	}{
		{"codex", "e --json --full-auto", "exec --json --sandbox workspace-write", []string{"codex: --sandbox workspace-write is used for --full-auto"}},
		{"codex", "--full-auto --full-auto", "--sandbox workspace-write", []string{"codex: "}},
		{"codex", "--full-auto -s workspace-write", "-s workspace-write", []string{"codex: --full-auto is left out"}},
		{"codex", "exec --json", "exec --json", nil},
		{"claude", "-p --output-format stream-json --dangerously-skip-permissions", "-p --output-format stream-json --dangerously-skip-permissions --verbose", []string{"claude: --verbose is added"}},
		{"claude", "--output-format=stream-json -- --verbose", "--output-format=stream-json --verbose -- --verbose", []string{"claude: --verbose is added"}},
		{"claude", "--no-auto-compact --output-format text", "--output-format text", []string{"claude: --no-auto-compact is left out"}},
		{"claude", "--verbose --output-format stream-json", "--verbose --output-format stream-json", nil},
		{"amp", "-x --dangerously-allow-all --stream-json", "-x --dangerously-allow-all --stream-json", nil},
		{"cline", "--yolo --json", "--yolo --json", nil},
		{"text", "--full-auto", "--full-auto", nil},
	} {
		in := strings.Fields(tt.args)
		before := slices.Clone(in)
		got, warnings := Modern(tt.name, in)
		if strings.Join(got, " ") != tt.want || !slices.Equal(in, before) {
			t.Errorf("Modern(%s, %q) = %q, want %q, and its input as it was", tt.name, tt.args, got, tt.want)
		}
		if !slices.EqualFunc(warnings, tt.warnings, func(w, start string) bool {
			return strings.HasPrefix(w, start) && !strings.Contains(w, "\n")
		}) {
			t.Errorf("Modern(%s, %q) warns %q, want %q", tt.name, tt.args, warnings, tt.warnings)
		}
	}
}

func TestExitText(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]string{
		0: "exited with code 0", 1: "exited with code 1", 126: "exited with code 126 (not executable)", 127: "exited with code 127 (not found)",
		128: "exited with code 128", 130: "exited with code 130 (interrupted)", 134: "exited with code 134 (aborted)", 137: "exited with code 137 (killed)",
		139: "exited with code 139 (segmentation fault)", 143: "exited with code 143 (terminated)", 255: "exited with code 255", -1: "was ended by a signal",
	} {
		if got := driver.ExitText(code); got != want {
			t.Errorf("ExitText(%d) = %q, want %q", code, got, want)
		}
	}
}
