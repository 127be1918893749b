package config_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/config"
)

// local loads a local command in a workspace with files.
func local(t *testing.T, mode string, files map[string]string, flags ...string) (config.Config, []string) {
	t.Helper()
	c, err := config.Load(config.LoadOptions{Dir: workspace(t, files), Mode: mode, Local: true, Flags: pairs(flags...), Prompts: pairs("plan", "built in", "build", "built in <promise>COMPLETE</promise>")})
	return c, problems(t, err)
}

func TestOtherNames(t *testing.T) { // 001-03, 002-04
	t.Parallel()
	c, wrong := local(t, "run", nil, "prompt", "go", "maximum-iterations", "7", "completion-response", "FINISHED", "restart-delay", "5s", "wait-timeout", "0")
	if wrong != nil || c.Loop.MaxIterations != 7 || c.Loop.Completion.Token != "FINISHED" || c.Loop.Delay.String() != "5s" || c.Limits.ChildWait != 0 {
		t.Errorf("Load = %+v, %q", plain(c), wrong)
	}
	if got := c.Sources["max-iterations"]; got != "flag --maximum-iterations" {
		t.Errorf("Sources[max-iterations] = %q, want the flag as it was typed", got)
	}
	for _, tt := range []struct {
		file  string
		flags []string
		want  string
	}{
		{"", []string{"maximum-iterations", "many"}, `flag --maximum-iterations: "many" is not allowed: give a whole number from 0 to 10000 (0: no limit)`},
		{"", []string{"max-iterations", "1", "maximum-iterations", "1"}, `flag --maximum-iterations: it means the same as max-iterations, which is given, too: give only one of them`},
		{"delay: 1s\nrestart-delay: 1s\n", nil, `.github/ralph.yml:2: restart-delay is given twice: first in line 1`},
		{"wait-timeout: soon\n", nil, `.github/ralph.yml:1: wait-timeout: "soon" is not allowed: give a duration such as 90s, 15m or 1h30m (0: no limit)`},
		{"maximum-iteration: 1\n", nil, `.github/ralph.yml:1: unknown key "maximum-iteration"; did you mean maximum-iterations?`},
	} {
		_, got := local(t, "run", map[string]string{".github/ralph.yml": tt.file}, append(tt.flags, "prompt", "go")...)
		if strings.Join(got, "\n") != tt.want {
			t.Errorf("Load(%q, %q) = %q, want %q", tt.file, tt.flags, got, tt.want)
		}
	}
}

// The program names the agent when nobody does. 001-10
func TestInferredAgent(t *testing.T) {
	t.Parallel()
	settings := func(agent string) map[string]string {
		return map[string]string{".ralph/settings.json": `{"agent": ` + agent + `}`}
	}
	for _, tt := range []struct {
		name    string
		mode    string
		files   map[string]string
		flags   []string
		agent   string
		command string
		args    string
	}{
		{"nothing", "run", nil, nil, "claude", "", ""},
		{"plain name", "run", settings(`{"command": "codex"}`), nil, "codex", "", ""},
		{"a path", "run", settings(`{"command": "/opt/bin/amp"}`), nil, "amp", "/opt/bin/amp", ""},
		{"with arguments", "run", settings(`{"command": "claude --debug"}`), nil, "claude", "claude|--debug", ""},
		{"another program", "run", settings(`{"command": "my-llm"}`), nil, "text", "my-llm", ""},
		{"flags are split", "run", settings(`{"command": "claude", "flags": ["--model opus", "--x 'a b'"]}`), nil, "claude", "", "--model|opus|--x|a b"},
		{"a flag", "run", nil, []string{"agent-command", "/opt/bin/cline -y"}, "cline", "/opt/bin/cline|-y", ""},
		{"agent given", "run", nil, []string{"agent-command", "my-claude", "agent", "claude"}, "claude", "my-claude", ""},
		{"agent given above settings of another", "run", settings(`{"command": "codex", "flags": ["--x"]}`), []string{"agent", "claude"}, "claude", "", ""},
		{"agent given above settings of a wrapper", "run", settings(`{"command": "my-llm"}`), []string{"agent", "claude"}, "claude", "my-llm", ""},
		{"settings above an agent of ralph.yml", "run", map[string]string{".github/ralph.yml": "agent: claude", ".ralph/settings.json": `{"agent": {"command": "codex"}}`}, nil, "codex", "", ""},
		{"local settings replace flags only", "run", map[string]string{ // 001-07
			".ralph/settings.json": `{"agent": {"command": "claude", "flags": ["--model opus"]}}`, ".ralph/settings.local.json": `{"agent": {"flags": ["--verbose"]}}`,
		}, nil, "claude", "", "--verbose"},
		{"shell", "plan", map[string]string{".ralph/config": "AGENT_CLI=amp\n"}, nil, "amp", "", ""},
		{"shell with a type", "plan", map[string]string{".ralph/config": "AGENT_TYPE=codex\nAGENT_CLI=/opt/my-codex\n"}, nil, "codex", "/opt/my-codex", ""}, // 000-17, 000-23
		{"supervise does not", "supervise", nil, []string{"task-dir", "t", "agent-command", "claude -p x"}, "text", "claude|-p|x", ""},
	} {
		files := map[string]string{"specs/": ""}
		maps.Copy(files, tt.files)
		c, wrong := local(t, tt.mode, files, append(tt.flags, "prompt", "go")...)
		if wrong != nil || c.Agent.Name != tt.agent || strings.Join(c.Agent.Command, "|") != tt.command || strings.Join(c.Agent.Args, "|") != tt.args {
			t.Errorf("%s: agent %q, command %q, args %q, %q; want %q, %q, %q", tt.name, c.Agent.Name, c.Agent.Command, c.Agent.Args, wrong, tt.agent, tt.command, tt.args)
		}
	}

	// In the action's mode run agent-command replaces the default agent's program.
	for command, want := range map[string]string{"my-claude": "claude my-claude", "codex": "codex ", "/x/codex": "codex /x/codex"} {
		c, err := load(t, with("agent-command", command))
		if got := c.Agent.Name + " " + strings.Join(c.Agent.Command, " "); err != nil || got != want {
			t.Errorf("Load(action, agent-command %s) = %q, %v, want %q", command, got, err, want)
		}
	}
	c, err := config.Load(config.LoadOptions{Dir: t.TempDir(), Mode: "run", Local: true, Flags: pairs("prompt", "go", "agent-command", "npx amp"),
		Infer: func(command []string) string { return command[1] }})
	if err != nil || c.Agent.Name != "amp" || c.Sources["agent"] != "flag --agent-command" {
		t.Errorf("Load(Infer) = agent %q from %q, %v, want amp", c.Agent.Name, c.Sources["agent"], err)
	}
}

func TestTextPreset(t *testing.T) { // 000-22
	t.Parallel()
	for _, tt := range []struct {
		mode  string
		shell string
		flags []string
		want  string
	}{
		{"plan", "", []string{"agent", "text"}, "cline --yolo --verbose"},
		{"prompt", "", []string{"agent", "text", "agent-exact-args", "-v"}, "cline -v"},
		{"plan", "", []string{"agent", "text", "agent-command", "mine"}, "text mine"},
		{"plan", "AGENT_TYPE=text\n", nil, "cline --yolo --verbose"},
		{"plan", "AGENT_TYPE=text\nAGENT_ARGS='-y -v'\n", nil, "cline -y -v"},
		{"plan", "AGENT_TYPE=text\nAGENT_CLI=mine\n", nil, "text mine"},
		{"plan", "AGENT_TYPE=text\n", []string{"agent", "claude"}, "claude "},
		{"plan", "AGENT_TYPE=text\n", []string{"agent-command", "mine"}, "text mine"},
		{"run", "AGENT_TYPE=text\n", []string{"config", ".ralph/config"}, "cline --yolo --verbose"},
	} {
		c, wrong := local(t, tt.mode, map[string]string{"specs/": "", ".ralph/config": tt.shell}, append(tt.flags, "prompt", "x <promise>COMPLETE</promise>")...)
		if got := c.Agent.Name + " " + strings.Join(slices.Concat(c.Agent.Command, c.Agent.Args, c.Agent.ExactArgs), " "); wrong != nil || got != tt.want {
			t.Errorf("Load(%s, %q, %q) starts %q, %q, want %q", tt.mode, tt.shell, tt.flags, got, wrong, tt.want)
		}
	}
}

func TestExactArguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		file  string
		flags []string
		exact bool
		args  []string
		want  string
	}{
		{"not given", "", nil, false, nil, ""},
		{"given", "", []string{"agent-exact-args", "-p 'a b'"}, true, []string{"-p", "a b"}, ""},
		{"an empty flag", "", []string{"agent-exact-args", ""}, true, nil, ""},
		{"an empty list", "agent-exact-args: []", nil, true, nil, ""},
		{"an empty key", "agent-exact-args: ''", nil, false, nil, ""},
		{"above more arguments", "agent-args: x\nmodel: y", []string{"agent-exact-args", "z"}, true, []string{"z"}, ""},
		{"below more arguments", "agent-exact-args: x", []string{"agent-args", "y"}, true, []string{"x"},
			"flag --agent-args: it has no effect: .github/ralph.yml:1: agent-exact-args has all of the agent's arguments"},
		{"beside a model", "", []string{"agent-exact-args", "x", "model", "y"}, true, []string{"x"},
			"flag --model: it has no effect: flag --agent-exact-args has all of the agent's arguments"},
	} {
		c, wrong := local(t, "run", map[string]string{".github/ralph.yml": tt.file}, append(tt.flags, "prompt", "go")...)
		if c.Agent.Exact != tt.exact || !slices.Equal(c.Agent.ExactArgs, tt.args) || strings.Join(wrong, "\n") != tt.want {
			t.Errorf("%s: exact %v, %q, %q; want %v, %q, %q", tt.name, c.Agent.Exact, c.Agent.ExactArgs, wrong, tt.exact, tt.args, tt.want)
		}
		if c.Agent.Exact && (c.Agent.Args != nil || c.Agent.Model != "") {
			t.Errorf("%s: args %q and model %q stay", tt.name, c.Agent.Args, c.Agent.Model)
		}
	}
}

// The agent's text mode reports neither cost nor tokens.
func TestTextMode(t *testing.T) {
	t.Parallel()
	const in = "it cannot be kept: in the agent's text mode (%s) nothing tells cost or tokens; use max-iterations or max-duration, or add --output-format json"
	for _, tt := range []struct {
		flags  []string
		format string
		want   string
	}{
		{nil, "", ""},
		{[]string{"stream-agent-output", "false"}, "text", ""}, // 001-12
		{[]string{"stream-agent-output", "false", "max-cost-usd", "1"}, "text", "flag --max-cost-usd: " + fmt.Sprintf(in, "flag --stream-agent-output")},
		{[]string{"stream-agent-output", "false", "max-tokens", "1"}, "text", "flag --max-tokens: " + fmt.Sprintf(in, "flag --stream-agent-output")},
		{[]string{"stream-agent-output", "false", "max-cost-usd", "1", "output-format", "json"}, "json", ""},
		{[]string{"output-format", "text", "max-cost-usd", "1"}, "text", "flag --max-cost-usd: " + fmt.Sprintf(in, "flag --output-format")},
		{[]string{"agent", "text", "agent-command", "x", "max-cost-usd", "1"}, "", ""},
	} {
		c, wrong := local(t, "run", nil, append(tt.flags, "prompt", "go")...)
		if c.Output.Format != tt.format || strings.Join(wrong, "\n") != tt.want {
			t.Errorf("Load(%q) = format %q, %q, want %q, %q", tt.flags, c.Output.Format, wrong, tt.format, tt.want)
		}
	}
}

func TestSupervision(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	dir := workspace(t, map[string]string{"file": "", "task/": ""})
	for _, tt := range []struct {
		name  string
		flags []string
		max   int
		dir   string
		want  string
	}{
		{"defaults", []string{"task-dir", "task"}, 100, "task", ""}, // 002-03
		{"not there yet", []string{"task-dir", "./new/task"}, 100, "new/task", ""},
		{"anywhere locally", []string{"task-dir", outside}, 100, outside, ""},
		{"restarts", []string{"task-dir", "task", "max-restarts", "5"}, 5, "task", ""},
		{"iterations", []string{"task-dir", "task", "max-iterations", "0"}, 0, "task", ""},
		{"both", []string{"task-dir", "task", "max-iterations", "5", "max-restarts", "5"}, 5, "task", "flag --max-restarts: it means the same as flag --max-iterations here: give only one of them"},
		{"none", []string{"task-dir", "task", "max-restarts", "0"}, 0, "task", `flag --max-restarts: "0" is not allowed: 0 would never start the agent: give 1 or more`}, // 002-04
		{"negative", []string{"task-dir", "task", "max-restarts", "-3"}, 0, "task", `flag --max-restarts: "-3" is not allowed: -3 would never start the agent: give 1 or more`},
		{"too many", []string{"task-dir", "task", "max-restarts", "1e9"}, 0, "task", `flag --max-restarts: "1e9" is not allowed: give a whole number from 1 to 10000`},
		{"no polling", []string{"task-dir", "task", "poll-interval", "0"}, 100, "task", `flag --poll-interval: "0" is not allowed: give a duration from 1ms to 1h`}, // 002-04
		{"a file", []string{"task-dir", "file"}, 100, "", `flag --task-dir: "file" is not a folder`},
		{"no folder", nil, 100, "", "task-dir: it is missing: name the folder of the task, into which the agent puts the file DONE"},
		{"no command", []string{"task-dir", "task", "agent-command", ""}, 100, "task", "the command: it is missing: give it after --, as in ralph supervise --task-dir DIR -- COMMAND: it is started, and started again until the task is done"},
		{"an agent without a prompt", []string{"task-dir", "task", "agent", "claude"}, 100, "task", "prompt: there is nothing to do: give the task as --prompt or as --prompt-file"},
		{"an agent with a prompt", []string{"task-dir", "task", "agent", "claude", "prompt", "go"}, 100, "task", ""},
	} {
		flags := pairs("agent-command", "run-it")
		maps.Copy(flags, pairs(tt.flags...))
		c, err := config.Load(config.LoadOptions{Dir: dir, Mode: "supervise", Local: true, Flags: flags})
		if got := strings.Join(problems(t, err), "\n"); got != tt.want || c.Loop.MaxIterations != tt.max || c.Tasks.Dir != filepath.ToSlash(tt.dir) {
			t.Errorf("%s: max %d, dir %q, %q; want %d, %q, %q", tt.name, c.Loop.MaxIterations, c.Tasks.Dir, got, tt.max, tt.dir, tt.want)
		}
	}

	_, err := config.Load(config.LoadOptions{Dir: dir, Mode: "supervise", Local: true})
	if got := problems(t, err); len(got) != 2 {
		t.Errorf("Load(supervise) = %q, want the folder and the command at once", got)
	}
	_, err = config.Load(config.LoadOptions{Dir: dir, Inputs: pairs("mode", "supervise", "agent-command", "x", "task-dir", outside)})
	if err == nil || !strings.Contains(err.Error(), "it is outside the workspace: give a folder relative to it") {
		t.Errorf("Load(action, task-dir outside) = %v, want a problem", err)
	}
	c, err := config.Load(asAction(workspace(t, map[string]string{".github/ralph.yml": "max-iterations: 9"}),
		pairs("mode", "supervise", "agent-command", "x", "task-dir", "task", "max-restarts", "4")))
	if err != nil || c.Loop.MaxIterations != 4 || c.Sources["max-iterations"] != "flag --max-restarts" {
		t.Errorf("Load(max-restarts above max-iterations) = %d from %s, %v, want the higher", c.Loop.MaxIterations, c.Sources["max-iterations"], err)
	}

	for _, tt := range []struct{ flags, want string }{
		{"task-dir=task", "flag --task-dir: it has no effect here: it belongs to mode supervise, or to completion: done-file"},
		{"max-restarts=4", "flag --max-restarts: it has no effect here: it belongs to mode supervise, or to completion: done-file"},
		{"completion=done-file", "flag --completion: done-file needs task-dir: the folder that the agent puts the file DONE into"},
		{"completion=done-file task-dir=task max-restarts=4", ""},
	} {
		flags := pairs("prompt", "go")
		for f := range strings.FieldsSeq(tt.flags) {
			name, text, _ := strings.Cut(f, "=")
			flags[name] = text
		}
		c, err := config.Load(config.LoadOptions{Dir: dir, Mode: "run", Local: true, Flags: flags})
		if got := strings.Join(problems(t, err), "\n"); got != tt.want || tt.want == "" && c.Loop.MaxIterations != 4 {
			t.Errorf("Load(run %s) = max %d, %q, want %q", tt.flags, c.Loop.MaxIterations, got, tt.want)
		}
	}
}

func TestSCM(t *testing.T) { // 001-28, 001-30
	t.Parallel()
	want := config.SCM{Command: []string{"git"}, Tasks: [][]string{{"commit"}, {"push"}}}
	settings := map[string]string{".ralph/settings.json": `{"scm": {"command": "git", "tasks": ["commit", "push"]}}`}
	with := func(yml string) map[string]string {
		files := maps.Clone(settings)
		files[".github/ralph.yml"] = yml
		return files
	}
	for _, tt := range []struct {
		name   string
		local  bool
		files  map[string]string
		typed  []string // flags
		commit config.Commit
		scm    config.SCM
		wrong  string
		warns  string
	}{
		{"settings locally", true, settings, nil, config.CommitAgent, want, "", ""},
		{"settings in the action", false, settings, nil, config.CommitEach, config.SCM{}, "", ".ralph/settings.json:1: scm.tasks: the SCM tasks do not run: "},
		{"settings in the action that is told", false, settings, []string{"commit", "agent"}, config.CommitAgent, want, "", ""},
		{"by flag in the action", false, nil, []string{"scm-command", "git", "scm-tasks", "commit,push"}, config.CommitAgent, want, "", ""},
		{"our commits are asked for above", true, settings, []string{"commit", "at-end"}, config.CommitAtEnd, config.SCM{}, "", ".ralph/settings.json:1: scm.tasks: the SCM tasks do not run: "},
		{"our commits are asked for below", true, with("commit: each-iteration"), nil, config.CommitAgent, want, "", ".github/ralph.yml:1: commit: it has no effect: SCM tasks commit by themselves"},
		{"both by flag", true, nil, []string{"commit", "each-iteration", "scm-command", "git", "scm-tasks", "commit\npush"}, config.CommitEach, want,
			"flag --scm-tasks: SCM tasks commit by themselves: remove them, or give commit: agent instead of flag --commit", ""},
		{"no program", true, nil, []string{"scm-tasks", "commit"}, config.CommitAgent, config.SCM{Tasks: [][]string{{"commit"}}}, "flag --scm-tasks: there is no program to run them: give scm-command, such as git", ""},
		{"no tasks", true, nil, []string{"scm-command", "git"}, config.CommitAgent, config.SCM{}, "", "flag --scm-command: it has no effect without scm-tasks"},
		{"not split", true, nil, []string{"scm-command", "git", "scm-tasks", "add 'x"}, config.CommitAgent, config.SCM{},
			`flag --scm-tasks: task "add 'x" cannot be split as a shell would: give words such as commit, push or add -A`, ""},
	} {
		c, err := config.Load(config.LoadOptions{
			Dir: workspace(t, tt.files), Local: tt.local, Inputs: pairs("prompt", "<response>DONE</response>"), Flags: pairs(tt.typed...),
		})
		if got := strings.Join(problems(t, err), "\n"); got != tt.wrong || c.Git.Commit != tt.commit || !reflect.DeepEqual(c.Git.SCM, tt.scm) {
			t.Errorf("%s: commit %q, scm %q, %q; want %q, %q, %q", tt.name, c.Git.Commit, c.Git.SCM, got, tt.commit, tt.scm, tt.wrong)
		}
		if got := strings.Join(c.Warnings, "\n"); !strings.HasPrefix(got, tt.warns) || tt.warns == "" && got != "" {
			t.Errorf("%s: warnings %q, want %q", tt.name, got, tt.warns)
		}
	}
}

// What is typed for a publication that does not happen is a mistake; what a
// file says may be meant for the action.
func TestNothingPublished(t *testing.T) {
	t.Parallel()
	yml := map[string]string{".github/ralph.yml": "branch: a\nbase: b\ntitle: t\nlabels: x\ndraft: true\npush: true\n"}
	if _, wrong := local(t, "run", yml, "prompt", "go"); wrong != nil {
		t.Errorf("Load(file) = %q, want nothing wrong", wrong)
	}
	for _, name := range []string{
		"branch=a", "base=b", "commit-message=m", "committer=A <a@b>", "author=A <a@b>", "include-dirty=true", "push=true", "pull-request=create",
		"title=t", "body=b", "labels=l", "draft=auto",
	} {
		name, text, _ := strings.Cut(name, "=")
		for commit, wants := range map[string]bool{"agent": true, "off": true, "at-end": false} {
			want := ""
			if wants {
				want = "flag --" + name + ": nothing is published with commit: " + commit + "; add --commit each-iteration"
			}
			if _, got := local(t, "run", nil, "prompt", "go", "commit", commit, name, text); strings.Join(got, "\n") != want {
				t.Errorf("Load(--commit %s --%s %s) = %q, want %q", commit, name, text, got, want)
			}
		}
	}
	if _, wrong := local(t, "run", nil, "prompt", "go", "push", "false", "pull-request", "none", "include-dirty", "false", "dry-run", "true"); wrong != nil {
		t.Errorf("Load(nothing to publish) = %q, want nothing wrong", wrong)
	}
	if _, err := load(t, with("commit", "agent", "branch", "a")); err != nil {
		t.Errorf("Load(action, commit agent) = %v: the agent's commits are published there", err)
	}
}
