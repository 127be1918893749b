package config_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/org/ralph-action/internal/config"
)

type object = map[string]any

const durationPattern = `^(0|([0-9]+(\.[0-9]+)?(h|m|s|ms))+)$`

const sizePattern = `^(0|[0-9]+(\.[0-9]+)? ?([KkMmGgTt][Ii]?[Bb]))$`

// schema is the JSON Schema of the configuration file as the table has it.
func schema(t *testing.T) string {
	t.Helper()
	properties := object{}
	exclusive := []object{{"not": object{"type": "object", "properties": object{"prompt": object{"type": "string"}, "prompt-file": object{"type": "string"}}, "required": []string{"prompt", "prompt-file"}}}}
	for _, in := range config.Inputs() {
		if in.NoFile {
			continue
		}
		p := property(in)
		p["description"] = strings.ReplaceAll(in.Help, "`", "")
		if in.Default == "" && in.DefaultDoc != "" {
			p["description"] = p["description"].(string) + " Default: " + in.DefaultDoc
		}
		properties[in.Name] = p
		for _, name := range in.Aliases {
			alias := maps.Clone(p)
			alias["description"] = "The same as " + in.Name + "."
			delete(alias, "default")
			properties[name] = alias
			exclusive = append(exclusive, object{"not": object{"type": "object", "required": []string{in.Name, name}}})
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(object{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"$id":                  "https://raw.githubusercontent.com/org/ralph-action/main/docs/ralph.schema.json",
		"title":                "Configuration of ralph-action",
		"description":          "The file .github/ralph.yml.",
		"type":                 []string{"object", "null"},
		"additionalProperties": false,
		"allOf":                exclusive,
		"properties":           properties,
		"$defs": object{
			"duration": object{"type": []string{"string", "integer", "null"}, "pattern": durationPattern, "minimum": 0, "maximum": 0},
			"size":     object{"type": []string{"string", "integer", "null"}, "pattern": sizePattern, "minimum": 0, "maximum": 0},
			"texts": object{
				"type":  []string{"string", "number", "boolean", "array", "null"},
				"items": object{"type": []string{"string", "number", "boolean"}},
			},
			"guardrail": object{
				"type":                 "object",
				"additionalProperties": false,
				"required":             []string{"command"},
				"properties": object{
					"command":    object{"type": "string", "pattern": `\S`, "description": "The shell command line."},
					"failAction": object{"type": []string{"string", "null"}, "pattern": "^([Aa][Pp][Pp][Ee][Nn][Dd]|[Pp][Rr][Ee][Pp][Ee][Nn][Dd]|[Rr][Ee][Pp][Ll][Aa][Cc][Ee])$", "default": "APPEND", "description": "Where the feedback goes: APPEND, PREPEND or REPLACE."},
					"hint":       object{"type": []string{"string", "null"}, "maxLength": 10000, "description": "What the agent should know when it fails."},
					"timeout":    object{"$ref": "#/$defs/duration", "description": "Longest run; 0 for no limit."},
					"when":       object{"enum": []any{"always", "changes", nil}, "default": "always", "description": "always, or changes: only when the files or HEAD differ from what it judged last."},
				},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// property is the schema of one key. null is an empty value: not given.
func property(in config.Input) object {
	p := object{"type": []string{"string", "null"}}
	if in.Default != "" {
		p["default"] = in.Default
	}
	switch in.Kind {
	case config.Text, config.Line, config.Identity:
		if in.Max > 0 {
			p["maxLength"] = in.Max
		}
	case config.Bool:
		p["type"] = []string{"boolean", "null"}
		p["default"] = in.Default == "true"
	case config.Count:
		p["type"] = []string{"integer", "null"}
		p["minimum"], p["maximum"] = in.Min, in.Max
		if in.Default != "" {
			p["default"] = json.Number(in.Default)
		}
	case config.Dollars:
		p["type"] = []string{"number", "null"}
		p["exclusiveMinimum"], p["maximum"] = 0, in.Max/1_000_000
	case config.Duration:
		delete(p, "type")
		p["$ref"] = "#/$defs/duration"
		if in.Zero == "" {
			p["not"] = object{"enum": []any{0, "0"}}
		}
	case config.Size:
		delete(p, "type")
		p["$ref"] = "#/$defs/size"
		if in.Zero == "" {
			p["not"] = object{"enum": []any{0, "0"}}
		}
	case config.Choice:
		delete(p, "type")
		var values []any
		for _, e := range in.Enum {
			values = append(values, e)
			if e == "true" || e == "false" {
				values = append(values, e == "true")
			}
		}
		p["enum"] = append(values, nil)
	case config.Words, config.Lines, config.Names:
		delete(p, "type")
		p["$ref"] = "#/$defs/texts"
		if in.Max > 0 {
			p["maxItems"] = in.Max
		}
	case config.GuardrailList:
		p["type"] = []string{"string", "array", "null"}
		p["maxItems"] = in.Max
		p["items"] = object{"anyOf": []any{object{"type": "string", "pattern": `\S`}, object{"$ref": "#/$defs/guardrail"}}}
	}
	return p
}

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

func TestSchemaFollowsTable(t *testing.T) {
	follow(t, "docs/ralph.schema.json", schema(t))
}

// The schema and the loader judge the same files the same way.
func TestSchemaAgreesWithLoad(t *testing.T) {
	t.Parallel()
	good := []string{
		"", "# nothing\n", "branch:\n",
		"max-iterations: 0", "max-iterations: 10000", "max-cost-usd: 0.5", "max-tokens: 1",
		"iteration-timeout: 90s", "iteration-timeout: 1h30m", "iteration-timeout: 0",
		"push: true", "push: auto", "draft: always-true", "summary: false",
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
		"idle-timeout: -1s", "push: maybe", "summary: 1", "mode: swarm", "agent: gpt", "github-token: abcdef", "config: x",
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
