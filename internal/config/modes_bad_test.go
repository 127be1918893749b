package config_test

import (
	"maps"
	"testing"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/config"
)

// What a mode cannot do is said before anything is spent.
func TestBadModes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode  string
		flags map[string]string
		want  string
	}{
		{"run", pairs("skip-review", "true"), "flag --skip-review: it has no effect here: it belongs to mode tasks"},
		{"run", pairs("ultrawork", "true"), "flag --ultrawork: it has no effect here: it belongs to mode session"},
		{"run", pairs("completion", "tasks"), "flag --completion: tasks belongs to mode tasks"},
		{"run", pairs("isolation", "docker-sandbox", "agent", "codex"), "flag --isolation: a Docker Sandbox runs claude only, and the agent is codex"},
		{"run", pairs("isolation", "docker-sandbox", "agent-command", "claude --x"), "flag --isolation: a Docker Sandbox brings its own claude: leave flag --agent-command out"},
		{"tasks", pairs("completion", "promise"), "flag --completion: in mode tasks the task list says when the work is done: leave it out"},
		{"tasks", pairs("session", "resume"), "flag --session: in mode tasks every iteration has a fresh context, or a review would not be one: leave it out"},
		{"tasks", pairs("skip-review", "true", "review-model", "opus"), "flag --review-model: it has no effect: there are no reviews with --skip-review"},
		{"tasks", pairs("ralph-dir", "../x"), `flag --ralph-dir: "../x" is not allowed: it is outside the workspace: give a folder of the project`},
		{"tasks", pairs("ralph-dir", "."), `flag --ralph-dir: "." is not allowed: it is the workspace itself: give a folder below it`},
		{"tasks", pairs("ralph-dir", "file"), `flag --ralph-dir: "file" is not a folder`},
		{"tasks", pairs("scm-command", "git", "scm-tasks", "commit"), "flag --scm-tasks: in mode tasks the agent commits, or ralph does with --commit each-iteration: leave them out"},
		{"tasks", pairs("working-directory", "sub"), "flag --working-directory: mode tasks works at the top of the workspace, from which the task list is named: leave it out"},
		{"tasks", pairs("review-cap", "-1"), `flag --review-cap: "-1" is not allowed: give a whole number from 0 to 100 (0: no cap)`},
		{"tasks", pairs("review-agent", "claud"), `flag --review-agent: "claud" is not allowed: give ` + orOf(catalog.CLIs()) + `; did you mean claude?`},
		{"tasks", pairs("isolation", "docker-sandbox", "review-agent", "codex"), "flag --review-agent: a Docker Sandbox runs claude only"},
		{"tasks", pairs("isolation", "docker-sandbox", "fallback-agent", "codex"), "flag --fallback-agent: a Docker Sandbox runs claude only"},
		{"session", pairs("completion", "response"), "flag --completion: a session ends with a promise: leave it out"},
		{"session", pairs("session", "fresh"), "flag --session: mode session is one session that goes on: leave it out"},
	} {
		flags := maps.Clone(tt.flags)
		if tt.mode != "tasks" {
			flags["prompt"] = "go <response>DONE</response>"
		}
		_, err := config.Load(config.LoadOptions{
			Dir: workspace(t, map[string]string{"file": "", "sub/": ""}), Mode: tt.mode, Local: true, Flags: flags,
		})
		if err == nil || err.Error() != tt.want {
			t.Errorf("Load(%s, %v) = %v, want %s", tt.mode, tt.flags, err, tt.want)
		}
	}
	_, err := config.Load(config.LoadOptions{Dir: t.TempDir(), Inputs: pairs("prompt", "go", "isolation", "docker-sandbox")})
	if want := "input isolation: docker-sandbox works locally only; in the action ralph sandboxes the agent itself: give auto or strict"; err == nil || err.Error() != want {
		t.Errorf("Load(docker-sandbox in the action) = %v, want %s", err, want)
	}
}
