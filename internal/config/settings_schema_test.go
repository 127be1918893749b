package config_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/org/ralph-action/internal/config"
)

// settingsExample is a file of the kind people have. 001-08
const settingsExample = `{
  "$schema": "https://raw.githubusercontent.com/org/ralph-action/main/docs/settings.schema.json",
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

// settingsSchema is the JSON Schema of .ralph/settings.json as the table has it.
func settingsSchema(t *testing.T) string {
	t.Helper()
	properties := object{"$schema": object{"type": "string", "description": "The address of this schema, for editors."}}
	for _, in := range config.Inputs() {
		if in.NoFile || in.Kind == config.Secret || in.Name == "mode" {
			continue
		}
		p := settingsProperty(in)
		p["description"] = strings.ReplaceAll(in.Help, "`", "")
		key, into := config.SettingsKey(in.Name), properties
		if group, name, nested := strings.Cut(key, "."); nested {
			if into[group] == nil {
				into[group] = object{"type": []string{"object", "null"}, "additionalProperties": false, "properties": object{}}
			}
			key, into = name, into[group].(object)["properties"].(object)
		}
		into[key] = p
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	text := object{"type": []string{"string", "null"}}
	err := enc.Encode(object{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"$id":                  "https://raw.githubusercontent.com/org/ralph-action/main/docs/settings.schema.json",
		"title":                "Settings of ralph",
		"description":          "The files .ralph/settings.json and .ralph/settings.local.json.",
		"type":                 "object",
		"additionalProperties": false,
		"properties":           properties,
		"$defs": object{
			"duration": object{"type": []string{"string", "integer", "null"}, "pattern": durationPattern, "minimum": 0, "maximum": 0},
			"size":     object{"type": []string{"string", "integer", "null"}, "pattern": sizePattern, "minimum": 0, "maximum": 0},
			"guardrail": object{
				"type": "object", "additionalProperties": false, "required": []string{"command"},
				"properties": object{
					"command":    object{"type": "string", "pattern": `\S`, "description": "The shell command line."},
					"failAction": described(object{"type": text["type"], "pattern": "^([Aa][Pp][Pp][Ee][Nn][Dd]|[Pp][Rr][Ee][Pp][Ee][Nn][Dd]|[Rr][Ee][Pp][Ll][Aa][Cc][Ee])$", "default": "APPEND"}, "Where the feedback goes: APPEND, PREPEND or REPLACE."),
					"hint":       described(object{"type": text["type"], "maxLength": 10000}, "What the agent should know when it fails."),
					"timeout":    described(object{"$ref": "#/$defs/duration"}, "Longest run; 0 for no limit."),
					"when":       described(object{"enum": []any{"always", "changes", nil}, "default": "always"}, "always, or changes: only when the files or HEAD differ from what it judged last."),
				},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func described(p object, text string) object {
	p["description"] = text
	return p
}

// settingsProperty is the schema of one key; null is not given.
func settingsProperty(in config.Input) object {
	switch in.Kind {
	case config.Bool:
		return object{"type": []string{"boolean", "null"}}
	case config.Count:
		return object{"type": []string{"integer", "null"}, "minimum": in.Min, "maximum": in.Max}
	case config.Dollars:
		return object{"type": []string{"number", "null"}, "exclusiveMinimum": 0, "maximum": in.Max / 1_000_000}
	case config.Duration:
		return object{"$ref": "#/$defs/duration"}
	case config.Size:
		return object{"$ref": "#/$defs/size"}
	case config.Choice:
		values := []any{}
		for _, e := range in.Enum {
			values = append(values, e)
			if e == "true" || e == "false" {
				values = append(values, e == "true")
			}
		}
		return object{"enum": append(values, nil)}
	case config.GuardrailList:
		return object{"type": []string{"array", "null"}, "maxItems": in.Max, "items": object{"$ref": "#/$defs/guardrail"}}
	case config.Words, config.Lines, config.Names:
		if !strings.HasSuffix(in.Name, "-command") {
			p := object{"type": []string{"array", "null"}, "items": object{"type": "string"}}
			if in.Max > 0 {
				p["maxItems"] = in.Max
			}
			return p
		}
	case config.Text, config.Line, config.Identity:
		if in.Max > 0 {
			return object{"type": []string{"string", "null"}, "maxLength": in.Max}
		}
	}
	return object{"type": []string{"string", "null"}}
}

func TestSettingsSchemaFollowsTable(t *testing.T) {
	follow(t, "docs/settings.schema.json", settingsSchema(t))
}

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
		`{"guardrails": []}`, `{"guardrails": [{"command": "a", "timeout": 0, "when": "changes", "hint": null}]}`, `{"maxCostUsd": 0.5}`, `{"push": true, "draft": "auto"}`,
		`{"labels": ["a"], "agentExactArgs": [], "setup": ["make"]}`, `{"summary": false}`, `{"maximumIterations": 0}`,
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
		`{"guardrails": [{"command": "a", "failAction": "EXPLODE"}]}`, `{"guardrails": [{"command": "a", "timeout": 5}]}`, `{"summary": "true"}`, `{"push": "maybe"}`,
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

// loadSettings loads what the desk command run would, from its two files.
func loadSettings(t *testing.T, base, local string) (config.Config, error) {
	t.Helper()
	files := map[string]string{".ralph/settings.json": base}
	if local != "" {
		files[".ralph/settings.local.json"] = local
	}
	return config.Load(config.LoadOptions{Dir: workspace(t, files), Desk: true, Mode: config.ModeRun, Flags: map[string]string{"prompt": "x"}})
}
