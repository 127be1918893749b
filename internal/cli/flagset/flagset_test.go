package flagset_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/org/ralph-action/internal/cli/flagset"
	"github.com/org/ralph-action/internal/config"
)

// parse reads arguments as a command would.
func parse(t *testing.T, args ...string) (values map[string]string, flags *pflag.FlagSet, err error) {
	t.Helper()
	flags = pflag.NewFlagSet("run", pflag.ContinueOnError)
	flagset.Register(flags, "run", map[string]string{"isolation": "off"}, false)
	err = flags.Parse(args)
	return flagset.Given(flags), flags, err
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
	}
}

func TestFlagsFollowTable(t *testing.T) {
	t.Parallel()
	_, flags, _ := parse(t)
	for _, in := range config.Inputs() {
		if in.Name == "isolation" {
			in.Default = "off" // the command's own
		}
		hidden := !flagset.Listed(config.ModeRun, in)
		f := flags.Lookup(in.Name)
		if f == nil || f.Hidden {
			if !hidden {
				t.Errorf("--help does not have %s", in.Name)
			}
			continue
		}
		if hidden {
			t.Errorf("--help has %s", in.Name)
		}
		if no := flags.Lookup("no-" + in.Name); (no != nil && no.Hidden) != (in.Kind == config.Bool) {
			t.Errorf("--no-%s is %v", in.Name, no)
		}
		if !strings.Contains(f.Usage, strings.ReplaceAll(in.Help, "`", "")) {
			t.Errorf("--help does not say about %s: %s", in.Name, in.Help)
		}
		if in.Default != "" && !strings.Contains(f.Usage, "Default: "+strings.TrimSuffix(in.Default, ".")) {
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
