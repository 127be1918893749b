package main

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/config/file"
)

// object is an object of JSON, whose keys are written in order.
type object = map[string]any

// configurationSchema is the JSON Schema of .github/ralph.yml.
func configurationSchema() string {
	properties := object{}
	exclusive := []object{{"not": object{"type": "object", "properties": object{"prompt": object{"type": "string"}, "prompt-file": object{"type": "string"}}, "required": []string{"prompt", "prompt-file"}}}}
	for _, in := range config.Inputs() {
		if in.NoFile {
			continue
		}
		p := property(in)
		p["description"] = plain(in.Help)
		if in.Default == "" && in.DefaultDoc != "" {
			p["description"] = plain(in.Help + " Default: " + in.DefaultDoc)
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
	return encoded(object{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"$id":                  "https://raw.githubusercontent.com/org/ralph-action/main/docs/ralph.schema.json",
		"title":                "Configuration of ralph-action",
		"description":          "The file .github/ralph.yml.",
		"type":                 []string{"object", "null"},
		"additionalProperties": false,
		"allOf":                exclusive,
		"properties":           properties,
		"$defs": object{
			"duration":  duration(),
			"size":      size(),
			"guardrail": guardrail(),
			"texts": object{
				"type":  []string{"string", "number", "boolean", "array", "null"},
				"items": object{"type": []string{"string", "number", "boolean"}},
			},
		},
	})
}

// property is the schema of one key of .github/ralph.yml. null is an empty value: not given.
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
	case config.Duration, config.Size:
		delete(p, "type")
		p["$ref"] = "#/$defs/duration"
		if in.Kind == config.Size {
			p["$ref"] = "#/$defs/size"
		}
		if in.Zero == "" {
			p["not"] = object{"enum": []any{0, "0"}}
		}
	case config.Choice:
		delete(p, "type")
		p["enum"] = choices(in)
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

// settingsSchema is the JSON Schema of .ralph/settings.json.
func settingsSchema() string {
	properties := object{"$schema": object{"type": "string", "description": "The address of this schema, for editors."}}
	for _, in := range config.Inputs() {
		if in.NoFile || in.Name == "mode" {
			continue
		}
		p := settingsProperty(in)
		p["description"] = plain(in.Help)
		key, into := file.SettingsKey(in.Name), properties
		if group, name, nested := strings.Cut(key, "."); nested {
			if into[group] == nil {
				into[group] = object{"type": []string{"object", "null"}, "additionalProperties": false, "properties": object{}}
			}
			key, into = name, into[group].(object)["properties"].(object)
		}
		into[key] = p
	}
	return encoded(object{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"$id":                  "https://raw.githubusercontent.com/org/ralph-action/main/docs/settings.schema.json",
		"title":                "Settings of ralph",
		"description":          "The files .ralph/settings.json and .ralph/settings.local.json.",
		"type":                 "object",
		"additionalProperties": false,
		"properties":           properties,
		"$defs":                object{"duration": duration(), "size": size(), "guardrail": guardrail()},
	})
}

// settingsProperty is the schema of one key of a settings file: the one of
// .github/ralph.yml, but for defaults, and for lists, which are lists of text here.
func settingsProperty(in config.Input) object {
	p := property(in)
	delete(p, "default")
	delete(p, "not")
	switch in.Kind {
	case config.GuardrailList:
		p["type"], p["items"] = []string{"array", "null"}, object{"$ref": "#/$defs/guardrail"}
	case config.Words, config.Lines, config.Names:
		if strings.HasSuffix(in.Name, "-command") { // commands are strings there
			return object{"type": []string{"string", "null"}}
		}
		delete(p, "$ref")
		p["type"], p["items"] = []string{"array", "null"}, object{"type": "string"}
	}
	return p
}

// choices are the values of a choice, also as YAML and JSON read them.
func choices(in config.Input) []any {
	var values []any
	for _, e := range in.Enum {
		values = append(values, e)
		if e == "true" || e == "false" {
			values = append(values, e == "true")
		}
	}
	return append(values, nil)
}

func duration() object {
	return object{"type": []string{"string", "integer", "null"}, "pattern": `^(0|([0-9]+(\.[0-9]+)?(h|m|s|ms))+)$`, "minimum": 0, "maximum": 0}
}

func size() object {
	return object{"type": []string{"string", "integer", "null"}, "pattern": `^(0|[0-9]+(\.[0-9]+)? ?([KkMmGgTt][Ii]?[Bb]))$`, "minimum": 0, "maximum": 0}
}

// guardrail is the schema of one guardrail of a list.
func guardrail() object {
	return object{
		"type":                 "object",
		"additionalProperties": false,
		"required":             []string{"command"},
		"properties": object{
			"command":    object{"type": "string", "pattern": `\S`, "description": "The shell command line."},
			"failAction": object{"type": []string{"string", "null"}, "pattern": "^([Aa][Pp][Pp][Ee][Nn][Dd]|[Pp][Rr][Ee][Pp][Ee][Nn][Dd]|[Rr][Ee][Pp][Ll][Aa][Cc][Ee])$", "default": "APPEND", "description": "Where the feedback goes: APPEND, PREPEND or REPLACE."},
			"hint":       object{"type": []string{"string", "null"}, "maxLength": 10000, "description": "What the agent should know when it fails."},
			"timeout":    object{"$ref": "#/$defs/duration", "description": "Longest run; 0 for no limit."},
			"when":       object{"enum": []any{"always", "changes", nil}, "default": "always", "description": "always, or changes: not again on files and HEAD that it passed on."},
			"parallel":   object{"type": []string{"boolean", "null"}, "default": false, "description": "May run at the same time as its neighbours in the list that may."},
		},
	}
}

// encoded is an object as a file of JSON.
func encoded(o object) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(o); err != nil {
		panic(err) // what we build ourselves can be written
	}
	return b.String()
}
