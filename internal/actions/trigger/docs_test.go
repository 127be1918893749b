package trigger_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

const docs = "../../../docs"

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docs, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A page links to each workflow that can be copied. There is one for each trigger,
// and they hand to the action what it takes.
func TestExamples(t *testing.T) {
	t.Parallel()
	var action struct{ Inputs map[string]any }
	if err := yaml.Unmarshal([]byte(read(t, "../action.yml")), &action); err != nil {
		t.Fatal(err)
	}
	document := read(t, "triggers.md")
	pages, err := filepath.Glob(filepath.Join(docs, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var documents strings.Builder
	for _, page := range pages {
		documents.WriteString(read(t, filepath.Base(page)))
	}
	files, err := filepath.Glob(filepath.Join(docs, "examples", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("docs/examples has %d files, %v", len(files), err)
	}
	triggers := map[string]bool{}
	for _, file := range files {
		var w struct {
			Name        string
			On          map[string]any
			Permissions map[string]string
			Jobs        map[string]struct {
				Uses    string
				Minutes int `yaml:"timeout-minutes"`
				Steps   []struct {
					Uses, Run string
					With      map[string]string
				}
			}
		}
		name := filepath.Base(file)
		if !strings.Contains(documents.String(), "](examples/"+name+")") {
			t.Errorf("no page has a link to docs/examples/%s", name)
		}
		if err := yaml.Unmarshal([]byte(read(t, "examples/"+name)), &w); err != nil || w.Name == "" || w.Permissions["contents"] == "" {
			t.Errorf("%s: %v, %+v, want a workflow with a name and permissions", name, err, w)
		}
		for trigger := range w.On {
			triggers[trigger] = true
		}
		for _, job := range w.Jobs {
			for _, step := range job.Steps {
				if strings.Contains(step.Run, "${{") {
					t.Errorf("%s puts an expression into a script, where text of an event could get into a shell", name)
				}
				for input := range step.With {
					if strings.HasPrefix(step.Uses, "org/ralph-action@") && action.Inputs[input] == nil {
						t.Errorf("%s gives the input %q, which action.yml does not have", name, input)
					}
				}
			}
			if job.Uses == "" && job.Minutes == 0 {
				t.Errorf("%s has a job without timeout-minutes", name)
			}
		}
	}
	for _, trigger := range []string{"workflow_dispatch", "schedule", "repository_dispatch", "workflow_call", "issues", "issue_comment", "pull_request", "workflow_run"} {
		if !triggers[trigger] {
			t.Errorf("no example for %s", trigger)
		}
	}
	for setting, input := range map[string]bool{"use-event": true, "trigger-command": false, "trigger-label": true, "allow-bots": true, "issue-comment": false} {
		if !strings.Contains(document, "|`"+setting+"`|") || (action.Inputs[setting] != nil) != input {
			t.Errorf("%s is not in docs/triggers.md, or in action.yml is not %v", setting, input)
		}
	}
}
