package flagset_test

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/org/ralph-action/internal/cli/flagset"
	"github.com/org/ralph-action/internal/config"
)

// parse runs arguments through kong as a command would, with every flag declared.
func parse(t *testing.T, args ...string) (values map[string]string, help string, err error) {
	t.Helper()
	return parseWith(t, nil, args...)
}

// parseWith declares the flags that given may name.
func parseWith(t *testing.T, given []string, args ...string) (values map[string]string, help string, err error) {
	t.Helper()
	var cli struct {
		Run struct {
			kong.Plugins
		} `cmd:"" help:"Run a loop."`
	}
	flags := flagset.New("run", map[string]string{"isolation": "off"}, false, given)
	cli.Run.Plugins = kong.Plugins{flags.Target()}
	var out bytes.Buffer
	parser, err := kong.New(&cli, kong.Name("ralph"), kong.Writers(&out, &out), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(append([]string{"run"}, args...))
	return flags.Values(), out.String(), err
}

// Whatever can be given is declared when it is given, alone or with another flag's letter.
func TestFlagsOfArguments(t *testing.T) {
	t.Parallel()
	for _, in := range config.Inputs() {
		if in.NoFlag {
			continue
		}
		argument := []string{"--" + in.Name + "=x"}
		if in.Kind == config.Bool {
			argument = []string{"--no-" + in.Name}
		}
		want, _, err := parse(t, argument...)
		if err != nil || len(want) != 1 {
			t.Fatalf("%q: %q, %v", argument, want, err)
		}
		if got, _, err := parseWith(t, argument, argument...); err != nil || !maps.Equal(got, want) {
			t.Errorf("with the flags of %q alone: %q, %v, want %q", argument, got, err, want)
		}
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args string
		want map[string]string
	}{
		{"", map[string]string{}},
		{"-p|do it|-m|3|-c|DONE", map[string]string{"prompt": "do it", "max-iterations": "3", "completion-token": "DONE"}},
		{"-f|task.md|--max-cost-usd=2.50", map[string]string{"prompt-file": "task.md", "max-cost-usd": "2.50"}},
		{"--dry-run|--no-squash", map[string]string{"dry-run": "true", "squash": "false"}},
		{"--guardrail|go vet", map[string]string{"guardrails": "go vet"}},
		{"--guardrails|go test ./... -run 'A,B'|--guardrails|go vet", map[string]string{"guardrails": "go test ./... -run 'A,B'\ngo vet"}},
		{"--labels|a,b|--labels|c", map[string]string{"labels": "a,b\nc"}},
		{"--push|true|--draft=false", map[string]string{"push": "true", "draft": "false"}},
		{"--agent-args=--model x", map[string]string{"agent-args": "--model x"}},
		{"--maximum-iterations|3|--completion-response=OK", map[string]string{"maximum-iterations": "3", "completion-response": "OK"}},
		{"--agent-exact-args=", map[string]string{"agent-exact-args": ""}},
		{"--no-stream-agent-output", map[string]string{"stream-agent-output": "false"}},
		{"--branch=", map[string]string{"branch": ""}},
	} {
		var args []string
		if tt.args != "" {
			args = strings.Split(tt.args, "|")
		}
		got, _, err := parse(t, args...)
		if err != nil || !maps.Equal(got, tt.want) {
			t.Errorf("parse(%q) = %q, %v, want %q", args, got, err, tt.want)
		}
		if got, _, err := parseWith(t, args, args...); err != nil || !maps.Equal(got, tt.want) {
			t.Errorf("with the flags of %q alone: %q, %v, want %q", args, got, err, tt.want)
		}
	}
}

func TestFlagsFollowTable(t *testing.T) {
	t.Parallel()
	_, help, _ := parse(t, "--help")
	help = strings.Join(strings.Fields(help), " ")
	for _, in := range config.Inputs() {
		if in.Name == "isolation" {
			in.Default = "off" // the command's own
		}
		hidden := !flagset.Listed(config.ModeRun, in)
		name := "--" + in.Name
		if in.Kind == config.Bool {
			name = "--[no-]" + in.Name
		}
		if got := strings.Contains(help, name+" ") || strings.Contains(help, name+"="); got == hidden {
			t.Errorf("--help has %s: %v, want %v", name, got, !hidden)
		}
		if !hidden && !strings.Contains(help, strings.ReplaceAll(in.Help, "`", "")) {
			t.Errorf("--help does not say about %s: %s", in.Name, in.Help)
		}
		if in.Default != "" && !hidden && !strings.Contains(help, "Default: "+strings.TrimSuffix(in.Default, ".")) {
			t.Errorf("--help does not name the default of %s", in.Name)
		}
	}
	for _, listed := range []struct {
		mode, name string
		want       bool
	}{
		{config.ModeRun, "guardrails", true}, {config.ModeRun, "use-event", false}, {config.ModeSupervise, "poll-interval", false},
		{config.ModeRun, "stories", false}, {config.ModeTasks, "stories", true}, {config.ModePrompt, "prompt", false},
	} {
		for _, in := range config.Inputs() {
			if got := flagset.Listed(listed.mode, in); in.Name == listed.name && got != listed.want {
				t.Errorf("Listed(%q, %q) = %v, want %v", listed.mode, in.Name, got, listed.want)
			}
		}
	}
	if _, _, err := parse(t, "--github-token=x"); err == nil {
		t.Error("--github-token was accepted; argv is readable by everybody")
	}
}
