package tasks_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/run/stories"
	"github.com/org/ralph-action/internal/tasks"
)

// The list that docs/tasks.md shows is one, and its tables have every field of
// the schema and every variable of a prompt.
func TestDocument(t *testing.T) {
	t.Parallel()
	text := slurp(t, "../../docs/tasks.md")
	list := regexp.MustCompile("(?s)```json\n(\\{\n  \"project\".*?)```").FindStringSubmatch(text)
	if list == nil {
		t.Fatal("docs/tasks.md shows no list")
	}
	l := read(t, list[1])
	if p := append(l.Check(reviewed), tasks.Lint([]byte(list[1]))...); len(p) > 0 {
		t.Errorf("the list in docs/tasks.md: %v", p)
	}
	data, err := os.ReadFile("../../docs/tasks.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type properties struct{ Properties map[string]any }
	var schema struct {
		properties
		Defs struct{ Story properties } `json:"$defs"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	if len(schema.Properties) < 5 || len(schema.Defs.Story.Properties) < 11 {
		t.Fatalf("fields of the schema: %v", schema)
	}
	for _, fields := range []properties{schema.properties, schema.Defs.Story} {
		for field := range fields.Properties {
			if !strings.Contains(text, "\n|`"+field+"`|") {
				t.Errorf("docs/tasks.md has no row for %s", field)
			}
		}
	}
	for _, name := range stories.Variables() {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/tasks.md does not have the variable %s", name)
		}
	}
}
