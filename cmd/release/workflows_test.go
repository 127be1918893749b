package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

type workflow struct {
	Permissions any
	Jobs        map[string]struct {
		Permissions any
		Steps       []struct {
			Uses string
			Run  string
			With map[string]yaml.Node
		}
	}
}

// pinned is an action by its commit.
var pinned = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)

// Our own workflows take nothing of an event into a shell, name what they may do, and
// pin what they run.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(paths) < 3 {
		t.Fatalf("%q, %v", paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range faults(t, string(text)) {
			t.Errorf("%s: %s", filepath.Base(path), wrong)
		}
	}
}

func TestWorkflowFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"permissions: {}\njobs: {a: {steps: [{run: 'echo ${{ github.event.issue.title }}'}]}}", "an expression in a shell"},
		{"jobs: {a: {steps: [{run: 'true'}]}}", "no permissions"},
		{"permissions: write-all\njobs: {a: {steps: [{run: 'true'}]}}", "write-all"},
		{"permissions: {}\njobs: {a: {steps: [{uses: 'actions/setup-go@v6'}]}}", "not pinned"},
		{"permissions: {}\njobs:\n  a:\n    steps:\n      - uses: actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6", "keeps the token"},
		{"permissions: {}\njobs:\n  a:\n    steps:\n      - uses: actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd", "says no version"},
	} {
		if got := strings.Join(faults(t, tt.text), "; "); !strings.Contains(got, tt.want) {
			t.Errorf("%s\nis found %q, want %q", tt.text, got, tt.want)
		}
	}
}

func faults(t *testing.T, text string) (list []string) {
	t.Helper()
	var w workflow
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "write-all") {
		list = append(list, "write-all")
	}
	for name, job := range w.Jobs {
		if w.Permissions == nil && job.Permissions == nil {
			list = append(list, name+" has no permissions")
		}
		for _, s := range job.Steps {
			if strings.Contains(s.Run, "${{") {
				list = append(list, name+" has an expression in a shell: "+s.Run)
			}
			if s.Uses == "" {
				continue
			}
			if !pinned.MatchString(s.Uses) {
				list = append(list, s.Uses+" is not pinned to a commit")
			}
			if !strings.Contains(text, s.Uses+" # v") {
				list = append(list, s.Uses+" says no version")
			}
			if keep := s.With["persist-credentials"]; strings.HasPrefix(s.Uses, "actions/checkout@") && keep.Value != "false" && keep.LineComment == "" {
				list = append(list, name+" keeps the token of its checkout and does not say why")
			}
		}
	}
	return list
}

// What GitHub's Marketplace asks for.
func TestMarketplace(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Name, Description string
		Branding          struct{ Icon, Color string }
	}
	if err := yaml.Unmarshal(text, &action); err != nil {
		t.Fatal(err)
	}
	if n := len(action.Description); action.Name == "" || n == 0 || n > 125 || action.Branding.Icon == "" || action.Branding.Color == "" {
		t.Errorf("name %q, a description of %d characters, branding %+v: want a name, at most 125, icon and color", action.Name, n, action.Branding)
	}
}
