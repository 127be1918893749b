package resume_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/cli/resume"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run/lastrun"
)

// The command that is shown is the one that was given, when it is pasted into a shell.
func TestCommandIsPasteable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, value, want string }{
		{"guardrails", "true\necho hi", "--guardrails=true --guardrails='echo hi'"},
		{"labels", "a,b\nc", "--labels=a,b --labels=c"},
		{"setup", "true", "--setup=true"},
		{"prompt", "it's\nmine", `--prompt=$'it\'s\nmine'`},
		{"prompt", "a\\b\x1b[31mä\n", `--prompt=$'a\\b\033[31m\303\244\n'`},
		{"prompt", "it's ä", `--prompt='it'"'"'s ä'`},
		{"prompt", strings.Repeat("x", 2000), "--prompt=" + strings.Repeat("x", 2000)},
	} {
		run := lastrun.Run{Mode: "run", End: &lastrun.End{Outcome: ralph.Completed}}
		run.Command.Flags = map[string]string{tt.name: tt.value}
		err := resume.Check(run, lastrun.Ended)
		if want := "the last run completed its task. To start anew: ralph run " + tt.want; err == nil || err.Error() != want {
			t.Errorf("Check(--%s %q) = %v, want %s", tt.name, tt.value, err, want)
		}
	}
}
