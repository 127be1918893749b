package config_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/org/ralph-action/internal/config"
)

// schemaAccepts checks a configuration file against docs/ralph.schema.json.
func schemaAccepts(t *testing.T, file string) error {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repository, "docs/ralph.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("ralph.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("ralph.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := yaml.Unmarshal([]byte(file), &value); err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Validate(instance)
}

// The schema and the loader judge the same files the same way.
func TestSchemaAgreesWithLoad(t *testing.T) {
	t.Parallel()
	good := []string{
		"", "# nothing\n", "branch:\n",
		"max-iterations: 0", "max-iterations: 10000", "max-cost-usd: 0.5", "max-tokens: 1",
		"iteration-timeout: 90s", "iteration-timeout: 1h30m", "iteration-timeout: 0",
		"push: true", "push: auto", "draft: always-true", "squash: false",
		"agent-args: --foo 'a b'", "agent-args: [--max-turns, 5]", "labels: a, b", "labels: [a, 1]",
		"guardrails: |\n  a\n  b", "guardrails: [a, {command: b, failAction: prepend, when: changes, timeout: 0}]",
		"guardrails:\n  - command: a\n    hint:\n    timeout: 1m",
		"agent: text\nagent-command: [cat]", "maximum-iterations: 3", "restart-delay: 1ms", "mode: prompt\nprompt: x",
		"commit: off", "scm-command: git\nscm-tasks: [commit, push]", "agent-exact-args: []", "color: never", "author: A <a@b>", "prompt: x", "working-directory: .",
	}
	bad := []string{
		"max-iterations: 3\nmaximum-iterations: 3", "maximum-iterations: x", "poll-interval: 0", "max-restarts: 0", "output-truncate-chars: 0",
		"commit: never", "delay: 3", "emoji: 1", "completion: both", "color: blue",
		"- a", "max-iteration: 5", "max-iterations: -1", "max-iterations: 10001", "max-iterations: 1.5", "max-iterations: ten",
		"max-iterations: [1]", "max-cost-usd: 0", "max-cost-usd: -1", "max-tokens: 0", "idle-timeout: 30", "idle-timeout: soon",
		"idle-timeout: -1s", "push: maybe", "squash: 1", "mode: swarm", "agent: gpt", "github-token: abcdef", "config: x",
		"guardrails: {command: a}", "guardrails: [{hint: a}]", "guardrails: [{command: a, failaction: APPEND}]",
		"guardrails: [{command: a, failAction: EXPLODE}]", "guardrails: [{command: a, when: never}]", "guardrails: [[a]]",
		"guardrails: [{command: a, timeout: 5}]", "guardrails: [{command: ''}]",
		"labels: {a: b}", "labels: [[a]]", "setup: [{a: b}]", "branch: [a]", "prompt: a\nprompt-file: b",
	}
	for _, file := range good {
		if err := schemaAccepts(t, file); err != nil {
			t.Errorf("schema(%q) = %v, want accepted", file, err)
		}
		if err := loadFile(t, file); err != nil {
			t.Errorf("Load(%q) = %v, want accepted", file, err)
		}
	}
	for _, file := range bad {
		if schemaAccepts(t, file) == nil {
			t.Errorf("schema(%q) = accepted, want refused", file)
		}
		if loadFile(t, file) == nil {
			t.Errorf("Load(%q) = accepted, want refused", file)
		}
	}
}

// loadFile loads a configuration file, with a prompt as input unless the file
// has one.
func loadFile(t *testing.T, file string) error {
	t.Helper()
	inputs := map[string]string{"prompt": "go"}
	if strings.Contains(file, "prompt") {
		inputs = nil
	}
	_, err := config.Load(config.LoadOptions{
		Dir:    workspace(t, map[string]string{".github/ralph.yml": file}),
		Inputs: inputs,
	})
	return err
}
