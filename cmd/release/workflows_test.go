package main

import (
	"maps"
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
			if onMain.MatchString("uses: " + s.Uses) { // which a release pins
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

// The workflow that works a task list off gives each job what it needs and no more, and
// runs in the container what it runs on the runner.
func TestStoriesWorkflow(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../" + stories)
	if err != nil {
		t.Fatal(err)
	}
	var w struct {
		Jobs map[string]struct {
			Permissions map[string]string
			Strategy    struct {
				FailFast *bool `yaml:"fail-fast"`
			}
			Minutes int `yaml:"timeout-minutes"`
			Steps   []struct {
				If, Uses  string
				Env, With map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]map[string]string{
		"plan": {"contents": "read"}, "lane": {"contents": "read"}, "integrate": {"contents": "write", "pull-requests": "write"}, "next": {"actions": "write"},
	} {
		job := w.Jobs[name]
		if !maps.Equal(job.Permissions, want) {
			t.Errorf("%s may %v, want %v", name, job.Permissions, want)
		}
		if job.Minutes == 0 || job.Minutes >= 360 {
			t.Errorf("%s ends after %d minutes, want some below GitHub's 360", name, job.Minutes)
		}
		if name != "lane" && name != "integrate" {
			continue
		}
		if fast := job.Strategy.FailFast; fast == nil || *fast {
			t.Errorf("one job of %s ends the others", name)
		}
		n := len(job.Steps)
		container, host := job.Steps[n-2], job.Steps[n-1]
		if container.Uses != "org/ralph-action@main" || container.If != "${{ !inputs.host }}" || host.Uses != "org/ralph-action/host@main" || host.If != "${{ inputs.host }}" {
			t.Errorf("%s ends with %+v and %+v", name, container, host)
		}
		if !maps.Equal(container.With, host.With) || !maps.Equal(container.Env, host.Env) {
			t.Errorf("%s does one thing in the container and another on the runner:\n%v %v\n%v %v", name, container.With, container.Env, host.With, host.Env)
		}
		if _, ok := container.With["ci-token"]; ok != (name == "integrate") || container.With["github-token"] != "" {
			t.Errorf("%s is given %v", name, container.With)
		}
	}
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
