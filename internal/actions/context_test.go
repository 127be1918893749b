package actions

import (
	"bytes"
	"maps"
	"testing"
)

func TestInputs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		environ []string
		want    map[string]string
	}{
		{"none", []string{"PATH=/bin", "GITHUB_ACTIONS=true", "INPUT_=x", "XINPUT_A=b"}, map[string]string{}},
		{"hyphens", []string{"INPUT_MAX-ITERATIONS=3"}, map[string]string{"max-iterations": "3"}},
		{"underscores", []string{"INPUT_MAX_ITERATIONS=3"}, map[string]string{"max-iterations": "3"}},
		{"hyphens win", []string{"INPUT_MAX_ITERATIONS=3", "INPUT_MAX-ITERATIONS=4"}, map[string]string{"max-iterations": "4"}},
		{"hyphens win, empty", []string{"INPUT_MAX-ITERATIONS=", "INPUT_MAX_ITERATIONS=3"}, map[string]string{"max-iterations": ""}},
		{"empty is set", []string{"INPUT_PROMPT="}, map[string]string{"prompt": ""}},
		{"trimmed like the toolkit", []string{"INPUT_PROMPT= a=b \n c \n"}, map[string]string{"prompt": "a=b \n c"}},
		{"first of two", []string{"INPUT_PROMPT=a", "INPUT_PROMPT=b"}, map[string]string{"prompt": "a"}},
		{"no value at all", []string{"INPUT_PROMPT"}, map[string]string{"prompt": ""}},
	}
	for _, tt := range tests {
		if got := Inputs(tt.environ); !maps.Equal(got, tt.want) {
			t.Errorf("%s: Inputs(%q) = %q, want %q", tt.name, tt.environ, got, tt.want)
		}
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	r := connect(t, &bytes.Buffer{},
		"GITHUB_REPOSITORY", "octo/hello", "GITHUB_SERVER_URL", "https://forge.example/", "GITHUB_API_URL", "https://forge.example/api/v3",
		"GITHUB_RUN_ID", "42", "GITHUB_RUN_NUMBER", "7", "GITHUB_RUN_ATTEMPT", "2", "GITHUB_ACTOR", "mona", "GITHUB_ACTOR_ID", "99",
		"GITHUB_EVENT_NAME", "schedule", "GITHUB_EVENT_PATH", "/nowhere/event.json", "GITHUB_REF", "refs/heads/main", "GITHUB_REF_NAME", "main",
		"GITHUB_SHA", "abc", "GITHUB_WORKFLOW", "nightly", "GITHUB_JOB", "ralph", "GITHUB_WORKSPACE", "/github/workspace")
	want := Context{
		Repository: "octo/hello", ServerURL: "https://forge.example", APIURL: "https://forge.example/api/v3", GraphQLURL: "https://api.github.com/graphql",
		RunID: "42", RunAttempt: "2", Workflow: "nightly", Actor: "mona", ActorID: "99",
	}
	if got := r.Context(); got != want {
		t.Errorf("Context() = %+v, want %+v", got, want)
	}
	if got, want := r.RunURL(), "https://forge.example/octo/hello/actions/runs/42/attempts/2"; got != want {
		t.Errorf("RunURL() = %q, want %q", got, want)
	}

	garbage := connect(t, &bytes.Buffer{}, "GITHUB_RUN_ID", "4 2", "GITHUB_RUN_ATTEMPT", "-1", "GITHUB_ACTIONS", "maybe", "GITHUB_REPOSITORY", "octo/hello").Context()
	if garbage.RunID != "" || garbage.RunAttempt != "" || garbage.Repository != "octo/hello" {
		t.Errorf("Context() of garbage = %+v, want no numbers and the rest", garbage)
	}
}
