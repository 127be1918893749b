package resume_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/cli/resume"
	"github.com/org/ralph-action/internal/config"
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

// What remains of the iterations stands under the one name that the command knows, and no
// limit stays none.
func TestIterationsThatRemain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode         string
		flags        map[string]string
		limit        int
		given        string
		want, beside string
	}{
		{config.ModeSupervise, map[string]string{"max-restarts": "3"}, 3, "", "max-restarts=2", "2 of 3"},
		{config.ModeSupervise, map[string]string{}, 100, "", "max-restarts=99", ""},
		{config.ModeSupervise, map[string]string{"max-iterations": "7"}, 7, "", "max-restarts=6", ""},
		{config.ModeSupervise, map[string]string{"max-iterations": "0"}, 0, "", "max-iterations=0", "no limit"},
		{config.ModeSupervise, map[string]string{"max-restarts": "3"}, 3, "0", "max-iterations=0", "given --max-restarts=0"},
		{config.ModeSupervise, map[string]string{"max-iterations": "0"}, 0, "4", "max-restarts=4", ""},
		{config.ModeRun, map[string]string{"maximum-iterations": "0"}, 0, "", "maximum-iterations=0", "no limit"},
		{config.ModeRun, map[string]string{"maximum-iterations": "5"}, 5, "", "max-iterations=4", ""},
	} {
		run := lastrun.Run{Mode: tt.mode, Workspace: t.TempDir(), Done: 1}
		run.Command.Flags = tt.flags
		var cfg config.Config
		cfg.Loop.MaxIterations = tt.limit
		way, err := resume.Plan(run, lastrun.Killed, cfg, resume.More{Iterations: tt.given})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for name, value := range way.Flags {
			if strings.HasPrefix(name, "max") {
				got = append(got, name+"="+value)
			}
		}
		if strings.Join(got, " ") != tt.want || !strings.Contains(way.Opening, tt.beside) {
			t.Errorf("%s with %v: %v, %q; want %s, %q", tt.mode, tt.flags, got, way.Opening, tt.want, tt.beside)
		}
	}
}
