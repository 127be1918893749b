package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/org/ralph-action/internal/config"
)

// settingsExample is a file of the kind people have. 001-08
const settingsExample = `{
  "$schema": "settings.schema.json",
  "maximumIterations": 10,
  "completionResponse": "DONE",
  "outputTruncateChars": 5000,
  "streamAgentOutput": true,
  "includeIterationCountInPrompt": false,
  "agent": {
    "command": "claude",
    "flags": ["--model opus", "--no-auto-compact"]
  },
  "guardrails": [
    {"command": "make lint", "failAction": "APPEND", "hint": "Fix lint errors only."},
    {"command": "make test", "failAction": "APPEND"}
  ],
  "scm": {"command": "git", "tasks": ["commit", "push"]}
}
`

// The schema and the reader judge the same files the same way.
func TestSettingsSchemaAgrees(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(repository, "docs/settings.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("settings.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("settings.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{
		settingsExample, "{}", `{"agent": null, "model": null}`, `{"agent": {"type": "text", "command": "cat"}}`, `{"idleTimeout": "5m"}`, `{"idleTimeout": 0}`,
		`{"guardrails": []}`, `{"guardrails": [{"command": "a", "timeout": 0, "when": "changes", "parallel": true, "hint": null}]}`, `{"maxCostUsd": 0.5}`, `{"push": true, "draft": "auto"}`,
		`{"labels": ["a"], "agentExactArgs": [], "setup": ["make"]}`, `{"squash": false}`, `{"maximumIterations": 0}`,
	} {
		instance, err := jsonschema.UnmarshalJSON(strings.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); err != nil {
			t.Errorf("schema(%s) = %v, want accepted", file, err)
		}
		if _, err := loadSettings(t, file, ""); err != nil {
			t.Errorf("Load(%s) = %v, want accepted", file, err)
		}
	}
	for _, file := range []string{
		"[]", `{"x": 1}`, `{"mode": "run"}`, `{"agent": "claude"}`, `{"agent": {"x": 1}}`, `{"agent": {"flags": "-a"}}`, `{"agent": {"flags": [1]}}`, `{"agent": {"command": ["a"]}}`,
		`{"maximumIterations": "10"}`, `{"maximumIterations": -1}`, `{"maximumIterations": 1.5}`, `{"idleTimeout": 30}`, `{"idleTimeout": "soon"}`, `{"maxCostUsd": 0}`,
		`{"maxCostUsd": "1"}`, `{"guardrails": "a"}`, `{"guardrails": ["a"]}`, `{"guardrails": [{"hint": "a"}]}`, `{"guardrails": [{"command": 5}]}`, `{"guardrails": [{"command": "a", "x": 1}]}`,
		`{"guardrails": [{"command": "a", "failAction": "EXPLODE"}]}`, `{"guardrails": [{"command": "a", "timeout": 5}]}`, `{"squash": "true"}`, `{"push": "maybe"}`,
		`{"labels": "a"}`, `{"githubToken": "abcdef"}`, `{"config": "x"}`, `{"model": 5}`, `{"scm": {"tasks": [["a"]]}}`,
	} {
		instance, err := jsonschema.UnmarshalJSON(strings.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if schema.Validate(instance) == nil {
			t.Errorf("schema(%s) = accepted, want refused", file)
		}
		if _, err := loadSettings(t, file, ""); err == nil {
			t.Errorf("Load(%s) = accepted, want refused", file)
		}
	}
}

// loadSettings loads what the local command run would, from its two files.
func loadSettings(t *testing.T, base, local string) (config.Config, error) {
	t.Helper()
	files := map[string]string{".ralph/settings.json": base}
	if local != "" {
		files[".ralph/settings.local.json"] = local
	}
	return config.Load(config.LoadOptions{Dir: workspace(t, files), Local: true, Mode: config.ModeRun, Flags: map[string]string{"prompt": "x"}})
}
