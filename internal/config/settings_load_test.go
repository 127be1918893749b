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
	if c.Agent != "codex" || !reflect.DeepEqual(c.AgentArgs, []string{"--verbose"}) {
		t.Errorf("agent %s %q, want codex with the local flags alone", c.Agent, c.AgentArgs)
	}
	if c.MaxIterations != 4 || !reflect.DeepEqual(c.SCM.Command, []string{"git"}) || !reflect.DeepEqual(c.SCM.Tasks, [][]string{{"commit"}}) || !reflect.DeepEqual(c.Labels, []string{"a"}) {
		t.Errorf("max-iterations %d, scm %+v, labels %q; want 4, git commit, a", c.MaxIterations, c.SCM, c.Labels)
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
	if c.Agent != "claude" || !reflect.DeepEqual(c.AgentArgs, []string{"--model", "opus", "--no-auto-compact"}) {
		t.Errorf("agent %s %q", c.Agent, c.AgentArgs)
	}
	if c.MaxIterations != 10 || c.TruncateChars != 5000 || !c.Stream || c.IterationCount {
		t.Errorf("%d iterations, %d characters, stream %t, count %t", c.MaxIterations, c.TruncateChars, c.Stream, c.IterationCount)
	}
	if want := (ralph.Completion{Kind: ralph.CompletionResponse, Token: "DONE"}); c.Completion.Kind != want.Kind || c.Completion.Token != want.Token {
		t.Errorf("completion %+v, want %+v", c.Completion, want)
	}
	if len(c.Guardrails) != 2 || c.Guardrails[0].Hint != "Fix lint errors only." || c.Guardrails[1].FailAction != ralph.Append {
		t.Errorf("guardrails %+v", c.Guardrails)
	}
	if want := [][]string{{"commit"}, {"push"}}; !reflect.DeepEqual(c.SCM.Command, []string{"git"}) || !reflect.DeepEqual(c.SCM.Tasks, want) {
		t.Errorf("scm %+v", c.SCM)
	}
	without, err := loadSettings(t, "{}", "")
	if err != nil {
		t.Fatal(err)
	}
	if without.MaxIterations != c.MaxIterations || without.Completion.Token != "DONE" || without.TruncateChars != 5000 || !without.Stream || without.IterationCount {
		t.Errorf("the defaults are %+v, want those of the example", without)
	}
}

// A flag wins over a shell-style file, its variables are there for the
// template, and a multi-line value keeps its lines in problems.
func TestShellFileLoads(t *testing.T) {
	t.Parallel()
	load := func(file string, flags map[string]string) (config.Config, error) {
		return config.Load(config.LoadOptions{
			Dir:  workspace(t, map[string]string{".ralph/config": file, "specs/": "", ".ralph/implementation_plan.md": "x"}),
			Desk: true, Mode: config.ModePlan, Prompts: map[string]string{"plan": "p <promise>COMPLETE</promise>"}, Flags: flags,
		})
	}
	c, err := load("AGENT_TYPE=text\nMAX_RETRIES=7\nSPECS_DIR=specs\nGREETING=\"hello $SPECS_DIR\"\nMAX_ITERATIONS=\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Agent != "cline" || c.OutputFormat != "text" || !reflect.DeepEqual(c.AgentArgs, []string{"--yolo", "--verbose"}) {
		t.Errorf("agent %s %s %q, want the text preset", c.Agent, c.OutputFormat, c.AgentArgs)
	}
	if c.MaxRetries != 7 || c.MaxIterations != 0 || c.SpecsDir != "specs" || c.Variables["GREETING"] != "hello specs" {
		t.Errorf("retries %d, iterations %d, specs %q, variables %q", c.MaxRetries, c.MaxIterations, c.SpecsDir, c.Variables)
	}
	c, err = load("AGENT_TYPE=text\nSPECS_DIR=specs\n", map[string]string{"agent": "claude"})
	if err != nil || c.Agent != "claude" || len(c.AgentCommand) != 0 || c.AgentExact {
		t.Errorf("with flag agent: %s %q %q, %v; want plain claude", c.Agent, c.AgentCommand, c.AgentExactArgs, err)
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
