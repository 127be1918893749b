package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/config"
)

const repository = "../.."

func TestExampleLoads(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(repository, "docs/configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(data), "<!-- example:start -->\n")
	example, _, found := strings.Cut(example, "<!-- example:end -->")
	if !found {
		t.Fatal("docs/configuration.md has no example")
	}
	example = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(example), "```yaml\n"), "```")

	c, err := config.Load(config.LoadOptions{
		Dir:    workspace(t, map[string]string{".github/ralph.yml": example}),
		Inputs: map[string]string{"prompt": "go"},
	})
	if err != nil {
		t.Fatalf("the example of docs/configuration.md does not load: %v", err)
	}
	if len(c.Checks.Guardrails) != 3 || c.Checks.Guardrails[2].When != config.OnChanges || c.Limits.Cost.String() != "$7.50" || len(c.PullRequest.Labels) != 2 {
		t.Errorf("Load(example) = %+v", c)
	}
	if err := schemaAccepts(t, example); err != nil {
		t.Errorf("the schema refuses the example: %v", err)
	}
}

// What a first Load has seen makes a second one the same, whatever has become of the
// workspace meanwhile: changed, new and removed files.
func TestSeenFilesStand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		with  []string
	}{
		"file and prompt": {map[string]string{".github/ralph.yml": "model: one\n", "task.md": "do it"}, []string{"prompt-file", "task.md"}},
		"no file":         {map[string]string{"x": ""}, []string{"prompt", "do it"}},
		"own template":    {map[string]string{".ralph/config": "AGENT_TIMEOUT=1\n", ".ralph/prompts/plan.md": "plan", "specs/x": ""}, []string{"mode", "plan"}},
		"no template":     {map[string]string{"specs/x": ""}, []string{"mode", "plan"}},
		"settings":        {map[string]string{".ralph/settings.json": "{}", "body.md": "hello"}, []string{"prompt", "do it", "body-path", "body.md"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inputs := map[string]string{}
			for i := 0; i < len(c.with); i += 2 {
				inputs[c.with[i]] = c.with[i+1]
			}
			o := config.LoadOptions{Dir: workspace(t, c.files), Inputs: inputs, Prompts: map[string]string{"plan": "built in"}, Seen: map[string][]byte{}}
			first, err := config.Load(o)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{".github/ralph.yml", ".github/ralph.yaml", "task.md", "body.md", ".ralph/config", ".ralph/prompts/plan.md", ".ralph/settings.json"} {
				path := filepath.Join(o.Dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.RemoveAll(path)); err != nil {
					t.Fatal(err)
				}
				if _, was := c.files[name]; !was {
					if err := os.WriteFile(path, []byte("model: two\n"), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			o.Instead, o.Seen = o.Seen, nil
			second, err := config.Load(o)
			if err != nil || !reflect.DeepEqual(first, second) {
				t.Errorf("Load() = %+v, %v, want as before: %+v", second, err, first)
			}
		})
	}
}
