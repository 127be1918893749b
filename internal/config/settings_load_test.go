package config_test

import (
	"reflect"
	"testing"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
)

// 001-07, 001-06: what is nearer wins; lists replace, objects merge.
func TestSettingsMerge(t *testing.T) {
	t.Parallel()
	c, err := loadSettings(t, `{"agent": {"command": "codex", "flags": ["--model opus"]}, "maximumIterations": 3, "scm": {"command": "git", "tasks": ["push"]}, "labels": ["a"]}`,
		`{"agent": {"flags": ["--verbose"]}, "maximumIterations": 4, "scm": {"tasks": ["commit"]}, "labels": null}`)
	if err != nil {
		t.Fatal(err)
	}
	if c.Agent.Name != "codex" || !reflect.DeepEqual(c.Agent.Args, []string{"--verbose"}) {
		t.Errorf("agent %s %q, want codex with the local flags alone", c.Agent.Name, c.Agent.Args)
	}
	if c.Loop.MaxIterations != 4 || !reflect.DeepEqual(c.Git.SCM.Command, []string{"git"}) || !reflect.DeepEqual(c.Git.SCM.Tasks, [][]string{{"commit"}}) || !reflect.DeepEqual(c.PullRequest.Labels, []string{"a"}) {
		t.Errorf("max-iterations %d, scm %+v, labels %q; want 4, git commit, a", c.Loop.MaxIterations, c.Git.SCM, c.PullRequest.Labels)
	}
	if want := ".ralph/settings.local.json:1: maximumIterations"; c.Sources["max-iterations"] != want {
		t.Errorf("source %q, want %q", c.Sources["max-iterations"], want)
	}
}

// 001-05, 001-08, 001-09
func TestSettingsExample(t *testing.T) {
	t.Parallel()
	c, err := loadSettings(t, settingsExample, "")
	if err != nil {
		t.Fatal(err)
	}
	if c.Agent.Name != "claude" || !reflect.DeepEqual(c.Agent.Args, []string{"--model", "opus", "--no-auto-compact"}) {
		t.Errorf("agent %s %q", c.Agent.Name, c.Agent.Args)
	}
	if c.Loop.MaxIterations != 10 || c.Checks.TruncateChars != 5000 || !c.Output.Stream || c.Loop.IterationCount {
		t.Errorf("%d iterations, %d characters, stream %t, count %t", c.Loop.MaxIterations, c.Checks.TruncateChars, c.Output.Stream, c.Loop.IterationCount)
	}
	if want := (ralph.Completion{Kind: ralph.CompletionResponse, Token: "DONE"}); c.Loop.Completion.Kind != want.Kind || c.Loop.Completion.Token != want.Token {
		t.Errorf("completion %+v, want %+v", c.Loop.Completion, want)
	}
	if len(c.Checks.Guardrails) != 2 || c.Checks.Guardrails[0].Hint != "Fix lint errors only." || c.Checks.Guardrails[1].FailAction != ralph.Append {
		t.Errorf("guardrails %+v", c.Checks.Guardrails)
	}
	if want := [][]string{{"commit"}, {"push"}}; !reflect.DeepEqual(c.Git.SCM.Command, []string{"git"}) || !reflect.DeepEqual(c.Git.SCM.Tasks, want) {
		t.Errorf("scm %+v", c.Git.SCM)
	}
	without, err := loadSettings(t, "{}", "")
	if err != nil {
		t.Fatal(err)
	}
	if without.Loop.MaxIterations != c.Loop.MaxIterations || without.Loop.Completion.Token != "DONE" || without.Checks.TruncateChars != 5000 || !without.Output.Stream || without.Loop.IterationCount {
		t.Errorf("the defaults are %+v, want those of the example", without)
	}
}

// A flag wins over a shell-style file, its variables are there for the
// template, and a multi-line value keeps its lines in problems.
func TestShellFileLoads(t *testing.T) {
	t.Parallel()
	load := func(file string, flags map[string]string) (config.Config, error) {
		return config.Load(config.LoadOptions{
			Dir:   workspace(t, map[string]string{".ralph/config": file, "specs/": "", ".ralph/implementation_plan.md": "x"}),
			Local: true, Mode: config.ModePlan, Prompts: map[string]string{"plan": "p <promise>COMPLETE</promise>"}, Flags: flags,
		})
	}
	c, err := load("AGENT_TYPE=text\nMAX_RETRIES=7\nSPECS_DIR=specs\nGREETING=\"hello $SPECS_DIR\"\nMAX_ITERATIONS=\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Agent.Name != "cline" || c.Output.Format != "text" || !reflect.DeepEqual(c.Agent.Args, []string{"--yolo", "--verbose"}) {
		t.Errorf("agent %s %s %q, want the text preset", c.Agent.Name, c.Output.Format, c.Agent.Args)
	}
	if c.Loop.MaxRetries != 7 || c.Loop.MaxIterations != 0 || c.Prompt.SpecsDir != "specs" || c.Prompt.Variables["GREETING"] != "hello specs" {
		t.Errorf("retries %d, iterations %d, specs %q, variables %q", c.Loop.MaxRetries, c.Loop.MaxIterations, c.Prompt.SpecsDir, c.Prompt.Variables)
	}
	c, err = load("AGENT_TYPE=text\nSPECS_DIR=specs\n", map[string]string{"agent": "claude"})
	if err != nil || c.Agent.Name != "claude" || len(c.Agent.Command) != 0 || c.Agent.Exact {
		t.Errorf("with flag agent: %s %q %q, %v; want plain claude", c.Agent.Name, c.Agent.Command, c.Agent.ExactArgs, err)
	}
	_, err = load("SPECS_DIR=specs\nAGENT_TYPE=gpt\nRALPH_GUARDRAILS='make lint\ncommand: x\n'\n", nil)
	want := []string{
		`.ralph/config:2: AGENT_TYPE: "gpt" is not allowed: give ` + orOf(catalog.Names()) + ``, // 000-17
		".ralph/config:4: RALPH_GUARDRAILS: \"command: x\" looks like YAML without a list: begin each guardrail with `- command: …`",
	}
	if got := problems(t, err); !reflect.DeepEqual(got, want) {
		t.Errorf("problems\n%q, want\n%q", got, want)
	}
}
