package config_test

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/config"
)

const ends = " <promise>COMPLETE</promise>\n"

func TestTemplates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		mode    string
		files   map[string]string
		flags   []string
		prompt  string
		file    string
		builtin bool
		wrong   string
		warns   string
	}{
		{"built in", "build", nil, nil, "built in <promise>COMPLETE</promise>", "", true, "", ""},
		{"built in for another word", "build", nil, []string{"completion-token", "END"}, "built in <promise>END</promise>", "", true, "", ""},
		{"a file of the mode", "plan", map[string]string{".ralph/prompts/plan.md": "my plan" + ends}, nil, "my plan" + ends, ".ralph/prompts/plan.md", false, "", ""},
		{"a file without an end, and no rule", "plan", map[string]string{".ralph/prompts/plan.md": "my plan"}, []string{"completion-rule", "false"}, "my plan", ".ralph/prompts/plan.md", false, "",
			`mode plan: prompt file ".ralph/prompts/plan.md" does not contain <promise>COMPLETE</promise>, so the agent does not know how to end the loop: tell the agent in it to print that when everything is done, or set --completion-rule`},
		{"a file without an end", "plan", map[string]string{".ralph/prompts/plan.md": "my plan"}, nil, "my plan", ".ralph/prompts/plan.md", false, "", ""},
		{"an empty file", "plan", map[string]string{".ralph/prompts/plan.md": "\n"}, nil, "", ".ralph/prompts/plan.md", false,
			".ralph/prompts/plan.md: it is empty: say what is to be done, or remove the file for the built-in prompt", ""},
		{"a folder", "plan", map[string]string{".ralph/prompts/plan.md/": ""}, nil, "", ".ralph/prompts/plan.md", false,
			`.ralph/prompts/plan.md: ".ralph/prompts/plan.md" is a folder: give a file`, ""},
		{"given", "build", map[string]string{".ralph/prompts/build.md": "mine"}, []string{"prompt", "given" + ends}, "given" + ends, "", false, "", ""},
		{"given as a file", "build", map[string]string{"p.md": "given" + ends}, []string{"prompt-file", "p.md"}, "given" + ends, "p.md", false, "", ""},
		{"run without an end", "run", nil, []string{"prompt", "go"}, "go", "", false, "", ""},
		{"run without an end, and no rule", "run", nil, []string{"prompt", "go", "completion-rule", "false"}, "go", "", false, "",
			"flag --prompt: the prompt does not contain <response>DONE</response> or <promise>COMPLETE</promise>, so the agent does not know how to end the loop: tell the agent in it to print that when everything is done, or set --completion-rule"},
		{"run with an end in another case", "run", nil, []string{"prompt", "say <Response>done</Response>"}, "say <Response>done</Response>", "", false, "", ""},
		{"run with the other end", "run", nil, []string{"prompt", "say" + ends, "completion-rule", "false"}, "say" + ends, "", false, "", ""},
		{"run with the end that was not chosen", "run", nil, []string{"prompt", "say" + ends, "completion-rule", "false", "completion-token", "DONE"}, "say" + ends, "", false, "",
			"flag --prompt: the prompt does not contain <response>DONE</response>, so"},
		{"run by a file", "run", nil, []string{"prompt", "go", "completion", "done-file", "task-dir", "t"}, "go", "", false, "", ""},
		{"run without a prompt", "run", nil, nil, "", "", false, "prompt: there is nothing to do: give the task as --prompt or as --prompt-file", ""}, // 001-04
		{"run with two prompts", "run", map[string]string{"p.md": "x"}, []string{"prompt", "go", "prompt-file", "p.md"}, "x", "p.md", false, // 001-04
			"flag --prompt: there are two prompts, flag --prompt-file is the other: give only one of them", ""},
		{"prompt without a prompt", "prompt", map[string]string{".ralph/prompts/prompt.md": "x"}, nil, "", "", false, "prompt: there is nothing to do: give the task as prompt or as prompt-file", ""},
		{"prompt file that is not there", "prompt", nil, []string{"prompt-file", "p.md"}, "", "p.md", false, `flag --prompt-file: "p.md" cannot be read: it does not exist`, ""},
	} {
		files := map[string]string{"specs/": ""}
		maps.Copy(files, tt.files)
		c, wrong := local(t, tt.mode, files, tt.flags...)
		if c.Prompt.Text != tt.prompt || c.Prompt.File != tt.file || c.Prompt.Builtin != tt.builtin || strings.Join(wrong, "\n") != tt.wrong {
			t.Errorf("%s: prompt %q of %q, built in %v, %q; want %q of %q, %v, %q", tt.name, c.Prompt.Text, c.Prompt.File, c.Prompt.Builtin, wrong, tt.prompt, tt.file, tt.builtin, tt.wrong)
		}
		if got := strings.Join(c.Warnings, "\n"); !strings.HasPrefix(got, tt.warns) || tt.warns == "" && got != "" || c.Prompt.Invalid != "" {
			t.Errorf("%s: warnings %q, want %q", tt.name, got, tt.warns)
		}
	}
}

// A prompt that cannot end the loop is no problem of the configuration, which
// would have another exit code. 000-42
func TestPromptThatCannotEnd(t *testing.T) {
	t.Parallel()
	files := map[string]string{"p.md": "go", "ok.md": "go" + ends}
	const file = `prompt file "p.md" does not contain <promise>COMPLETE</promise>, so the loop could never end: tell the agent in it to print that when everything is done, or set --completion-rule`
	for _, tt := range []struct {
		flags []string
		want  string
	}{
		{[]string{"prompt-file", "p.md"}, file},
		{[]string{"prompt-file", "p.md", "max-iterations", "3"}, file},
		{[]string{"prompt-file", "p.md", "completion-rule", "true"}, ""},
		{[]string{"prompt-file", "ok.md"}, ""},
		{[]string{"prompt-file", "ok.md", "completion-token", "X"}, strings.NewReplacer("p.md", "ok.md", "COMPLETE", "X").Replace(file)},
		{[]string{"prompt", "go"}, strings.Replace(file, `prompt file "p.md"`, "the prompt", 1)},
	} {
		c, wrong := local(t, "prompt", files, tt.flags...)
		if wrong != nil || c.Prompt.Invalid != tt.want || c.Warnings != nil {
			t.Errorf("Load(%q) = invalid %q, warnings %q, %q; want %q", tt.flags, c.Prompt.Invalid, c.Warnings, wrong, tt.want)
		}
	}
	c, err := config.Load(config.LoadOptions{Dir: workspace(t, files), Inputs: pairs("mode", "prompt", "prompt-file", "p.md")})
	if want := strings.Replace(file, "--completion-rule", "completion-rule: true", 1); err != nil || c.Prompt.Invalid != want {
		t.Errorf("Load(action) = %q, %v, want %q", c.Prompt.Invalid, err, want)
	}
}

func TestVariables(t *testing.T) { // 000-12
	t.Parallel()
	shell := "SPECS_DIR=docs/specs\nTEAM='the blue one'\nAGENT_TYPE=codex\nMODE=mine\nEMPTY=\n"
	for _, tt := range []struct {
		mode, shell string
		want        map[string]string
		plan, specs string
		warns       int
	}{
		{"plan", "", map[string]string{"MODE": "plan", "SPECS_DIR": "specs", "PLAN_FILE": ".ralph/implementation_plan.md"}, ".ralph/implementation_plan.md", "specs", 0},
		{"build", shell, map[string]string{
			"MODE": "build", "SPECS_DIR": "docs/specs", "PLAN_FILE": ".ralph/implementation_plan.md", "TEAM": "the blue one", "AGENT_TYPE": "codex", "EMPTY": "",
		}, ".ralph/implementation_plan.md", "docs/specs", 1},
		{"prompt", "SPECS_DIR=nowhere\n", map[string]string{"MODE": "prompt", "SPECS_DIR": "nowhere", "PLAN_FILE": ".ralph/implementation_plan.md"}, ".ralph/implementation_plan.md", "nowhere", 0},
		{"run", "", nil, "", "", 0},
	} {
		c, wrong := local(t, tt.mode, map[string]string{"specs/": "", "docs/specs/": "", ".ralph/config": tt.shell}, "prompt", "x"+ends+"<response>DONE</response>")
		if wrong != nil || (c.Prompt.Variables == nil) != (tt.want == nil) || !maps.Equal(c.Prompt.Variables, tt.want) || c.Prompt.PlanFile != tt.plan || c.Prompt.SpecsDir != tt.specs || len(c.Warnings) != tt.warns {
			t.Errorf("Load(%s, %q) = %q, plan %q, specs %q, warnings %q, %q; want %q", tt.mode, tt.shell, c.Prompt.Variables, c.Prompt.PlanFile, c.Prompt.SpecsDir, c.Warnings, wrong, tt.want)
		}
	}
}

func TestSpecsDir(t *testing.T) { // 000-08
	t.Parallel()
	outside := t.TempDir()
	for _, tt := range []struct {
		name, shell string
		action      bool
		want        string
	}{
		{"not there", "", false, `SPECS_DIR: the folder "specs" does not exist: make it, set SPECS_DIR, or begin with ralph init --preset ralph-loop`},
		{"empty is the default", "SPECS_DIR=\n", false, `SPECS_DIR: the folder "specs" does not exist: make it, set SPECS_DIR, or begin with ralph init --preset ralph-loop`},
		{"another", "SPECS_DIR=docs\n", false, ""},
		{"a file", "SPECS_DIR=file\n", false, `SPECS_DIR: "file" is not a folder`},
		{"outside locally", "SPECS_DIR=" + outside + "\n", false, ""},
		{"outside in the action", "SPECS_DIR=" + outside + "\n", true, `SPECS_DIR: "` + outside + `" is outside the workspace: give a folder relative to it`},
		{"up and away", "SPECS_DIR=../gone\n", false, `SPECS_DIR: the folder "../gone" does not exist: make it, set SPECS_DIR, or begin with ralph init --preset ralph-loop`},
	} {
		dir := workspace(t, map[string]string{"docs/": "", "file": "", ".ralph/config": tt.shell})
		for _, mode := range []string{"plan", "build"} {
			o := config.LoadOptions{Dir: filepath.Join(dir, "."), Mode: mode, Local: !tt.action, Prompts: pairs(mode, "x"+ends)}
			_, err := config.Load(o)
			if got := strings.Join(problems(t, err), "\n"); got != tt.want {
				t.Errorf("%s, %s: %q, want %q", tt.name, mode, got, tt.want)
			}
		}
	}
}

// Everything that is wrong in a mode's files is told at once.
func TestEverythingWrongInAMode(t *testing.T) {
	t.Parallel()
	_, got := local(t, "build", map[string]string{".ralph/config": "MAX_RETRIES=many\nRALPH_STAL_LIMIT=1\nAGENT_TYPE=robot\n", ".ralph/prompts/build.md": " "},
		"idle-timeout", "5", "branch", "x", "poll-interval", "0", "task-dir", "x", "max-restarts", "-1", "scm-tasks", "commit")
	for _, want := range []string{
		`.ralph/config:1: MAX_RETRIES: "many"`,
		`.ralph/config:2: RALPH_STAL_LIMIT: there is no such setting; did you mean RALPH_STALL_LIMIT?`,
		`.ralph/config:3: AGENT_TYPE: "robot" is not allowed`, // 000-17
		`flag --idle-timeout: "5" is not allowed: say the unit`,
		`flag --poll-interval: "0"`,
		`flag --max-restarts: "-1"`,
		`flag --task-dir: it has no effect here`,
		`flag --scm-tasks: there is no program`,
		`flag --branch: nothing is published with commit: agent`,
		`SPECS_DIR: the folder "specs" does not exist`,
		`.ralph/prompts/build.md: it is empty`,
	} {
		found := false
		for _, line := range got {
			found = found || strings.HasPrefix(line, want)
		}
		if !found {
			t.Errorf("Load = %q, want %q among them", got, want)
		}
	}
}
