package starter_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/org/ralph-action/internal/cli/starter"
)

// What init writes is valid against the schema it writes beside it, with everything
// in it and with as little as possible.
func TestSettingsFollowSchema(t *testing.T) {
	t.Parallel()
	folder, dir := project(t)
	if err := folder.WriteSettings(starter.Defaults(), false); err != nil {
		t.Fatal(err)
	}
	data := []byte(content(t, dir, starter.SchemaPath))
	if document, err := os.ReadFile("../../../docs/settings.schema.json"); err != nil || !bytes.Equal(data, document) {
		t.Errorf("init writes another schema than docs/settings.schema.json (%v): run go generate ./...", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("settings.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("settings.json")
	if err != nil {
		t.Fatal(err)
	}
	full := settings(func(s *starter.Settings) {
		s.Agent.Flags, s.MaximumIterations = []string{"--model opus"}, 10_000
		s.Guardrails = []starter.Guardrail{{Command: "a", FailAction: starter.Append, Hint: "b"}, {Command: "c", FailAction: starter.Prepend}, {Command: "d", FailAction: starter.Replace}}
		s.SCM = &starter.SCM{Command: "git", Tasks: []string{"commit"}}
	})
	for _, s := range []starter.Settings{full, settings(func(*starter.Settings) {})} {
		text, err := s.JSON()
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); err != nil {
			t.Errorf("the schema refuses\n%s\n%v", text, err)
		}
	}
}
