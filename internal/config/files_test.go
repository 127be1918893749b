package config_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/org/ralph-action/internal/config"
)

var update = flag.Bool("update", false, "rewrite the files that follow the table of inputs")

const repository = "../.."

// follow compares a file with what the table says it should hold. Its tests
// are not parallel: with -update they write what the parallel ones read.
func follow(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join(repository, name)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s does not follow the table of inputs; go test ./internal/config -update rewrites it. It should be:\n%s", name, want)
	}
}

// actionYAML is action.yml as the table has it.
func actionYAML() string {
	var b strings.Builder
	single := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	b.WriteString(`name: Ralph
description: Run a coding agent in a loop until the work is done, checked by guardrails, and get a pull request.
author: org
branding:
  icon: repeat
  color: purple

# Defaults stand in the descriptions. The runner hands a default: from here to
# the action as if a user had typed it, and it would beat .github/ralph.yml.
inputs:
`)
	for _, in := range config.Inputs() {
		text := strings.ReplaceAll(in.Help, "`", "")
		switch {
		case in.Default != "":
			text += " Default: " + in.Default
		case in.DefaultDoc != "":
			text += " Default: " + in.DefaultDoc
		}
		fmt.Fprintf(&b, "  %s:\n    description: %s\n    required: false\n", in.Name, single(text))
		if in.Name == "github-token" {
			b.WriteString("    default: ${{ github.token }}\n")
		}
		for _, name := range in.Aliases { // a runner warns of inputs that it does not find here
			fmt.Fprintf(&b, "  %s:\n    description: Another name of %s\n    required: false\n", name, in.Name)
		}
	}
	b.WriteString("\noutputs:\n")
	for _, out := range config.Outputs() {
		fmt.Fprintf(&b, "  %s:\n    description: %s\n", out.Name, single(strings.ReplaceAll(out.Help, "`", "")))
	}
	b.WriteString("\nruns:\n  using: docker\n  image: Dockerfile\n")
	return b.String()
}

func TestActionFollowsTable(t *testing.T) {
	follow(t, "action.yml", actionYAML())

	data, err := os.ReadFile(filepath.Join(repository, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Name, Description string
		Inputs            map[string]struct {
			Description string
			Default     *string
		}
		Outputs map[string]struct{ Description string }
		Runs    struct {
			Using, Image string
			Args         []string
		}
	}
	if err := yaml.Unmarshal(data, &action); err != nil {
		t.Fatalf("action.yml: %v", err)
	}
	want := 0
	for _, in := range config.Inputs() {
		want += 1 + len(in.Aliases)
	}
	if got := len(action.Inputs); got != want {
		t.Errorf("action.yml has %d inputs, want %d", got, want)
	}
	for _, in := range config.Inputs() {
		got, ok := action.Inputs[in.Name]
		if !ok || !strings.Contains(got.Description, in.Default) {
			t.Errorf("action.yml: input %s = %q, want its default %q in it", in.Name, got.Description, in.Default)
		}
		if (got.Default != nil) != (in.Name == "github-token") {
			t.Errorf("action.yml: input %s has default %v; only the token may: a default there beats the configuration file", in.Name, got.Default)
		}
	}
	for _, out := range config.Outputs() {
		if action.Outputs[out.Name].Description == "" {
			t.Errorf("action.yml: output %s is not described", out.Name)
		}
	}
	if action.Runs.Using != "docker" || action.Runs.Image != "Dockerfile" || action.Runs.Args != nil {
		t.Errorf("action.yml: runs = %+v, want docker, Dockerfile and no args", action.Runs)
	}
}

func TestReferenceFollowsTable(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(repository, "docs/configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := between(t, string(data), "inputs", func(string) string { return config.Table() })
	text = between(t, text, "modes", func(string) string { return modesTable() })
	text = between(t, text, "outputs", func(string) string { return config.OutputsTable() })
	follow(t, "docs/configuration.md", text)
}

// modesTable is what the modes decide, as a Markdown table.
func modesTable() string {
	columns := []struct {
		title string
		at    map[string]string
	}{
		{"action: `run`", config.Defaults("run", false)},
		{"action: `plan`, `build`, `prompt`", config.Defaults("plan", false)},
		{"action: `supervise`", config.Defaults("supervise", false)},
		{"desk: `run`", config.Defaults("run", true)},
		{"desk: `plan`, `build`, `prompt`", config.Defaults("plan", true)},
		{"desk: `supervise`", config.Defaults("supervise", true)},
	}
	var b strings.Builder
	b.WriteString("| Input |")
	for _, c := range columns {
		b.WriteString(" " + c.title + " |")
	}
	b.WriteString("\n|" + strings.Repeat(" --- |", len(columns)+1) + "\n")
	for _, in := range config.Inputs() {
		if _, ok := columns[0].at[in.Name]; !ok {
			continue
		}
		b.WriteString("| `" + in.Name + "` |")
		for _, c := range columns {
			fmt.Fprintf(&b, " %s |", c.at[in.Name])
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestExampleLoads(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(repository, "docs/configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	var example string
	between(t, string(data), "example", func(s string) string { example = s; return s })
	example = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(example), "```yaml\n"), "```")

	c, err := config.Load(config.LoadOptions{
		Dir:    workspace(t, map[string]string{".github/ralph.yml": example}),
		Inputs: map[string]string{"prompt": "go"},
	})
	if err != nil {
		t.Fatalf("the example of docs/configuration.md does not load: %v", err)
	}
	if len(c.Guardrails) != 3 || c.Guardrails[2].When != config.OnChanges || c.MaxCost.String() != "$7.50" || len(c.Labels) != 2 {
		t.Errorf("Load(example) = %+v", c)
	}
	if err := schemaAccepts(t, example); err != nil {
		t.Errorf("the schema refuses the example: %v", err)
	}
}

// between replaces what stands between two markers.
func between(t *testing.T, text, name string, replace func(string) string) string {
	t.Helper()
	start, end := "<!-- "+name+":start -->\n", "<!-- "+name+":end -->"
	before, rest, ok1 := strings.Cut(text, start)
	body, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("the markers of %s are missing", name)
	}
	return before + start + replace(body) + end + after
}
