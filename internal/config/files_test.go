package config_test

import (
	"os"
	"path/filepath"
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
