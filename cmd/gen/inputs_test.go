package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/org/ralph-action/internal/config"
)

// Every block stands somewhere.
func TestBlocksAreUsed(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, pattern := range []string{"*.md", "docs/*.md", "Dockerfile"} {
		paths, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	for name := range blocks() {
		if !strings.Contains(all.String(), " generated: "+name) {
			t.Errorf("no document has the markers of %s", name)
		}
	}
}

// What a runner reads is what the table says.
func TestAction(t *testing.T) {
	t.Parallel()
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
	if err := yaml.Unmarshal([]byte(actionYAML(false)), &action); err != nil {
		t.Fatalf("action.yml: %v", err)
	}
	want := 0
	for _, in := range config.Inputs() {
		want += len(in.ActionNames())
	}
	if got := len(action.Inputs); got != want {
		t.Errorf("action.yml has %d inputs, want %d", got, want)
	}
	for _, in := range config.Inputs() {
		got, ok := action.Inputs[in.Name]
		if in.NoAction {
			if ok {
				t.Errorf("action.yml: has the input %s, which is a key of the file or a flag only", in.Name)
			}
			continue
		}
		if !ok || !strings.Contains(got.Description, in.Default) {
			t.Errorf("action.yml: input %s = %q, want its default %q in it", in.Name, got.Description, in.Default)
		}
		if (got.Default != nil) != (in.Name == "github-token") {
			t.Errorf("action.yml: input %s has default %v; only the token may: a default there beats the configuration file", in.Name, got.Default)
		}
	}
	for _, out := range outputs() {
		if action.Outputs[out.Name].Description == "" {
			t.Errorf("action.yml: output %s is not described", out.Name)
		}
	}
	if action.Runs.Using != "docker" || action.Runs.Image != "Dockerfile" || action.Runs.Args != nil {
		t.Errorf("action.yml: runs = %+v, want docker, Dockerfile and no args", action.Runs)
	}
}
