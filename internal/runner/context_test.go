package runner

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
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
		Workspace: "/github/workspace", RunID: "42", RunNumber: "7", RunAttempt: "2", Workflow: "nightly", Job: "ralph",
		Actor: "mona", ActorID: "99", EventName: "schedule", EventPath: "/nowhere/event.json",
		Ref: "refs/heads/main", RefName: "main", SHA: "abc",
	}
	if got := r.Context(); got != want {
		t.Errorf("Context() = %+v, want %+v", got, want)
	}
	if got, want := r.RunURL(), "https://forge.example/octo/hello/actions/runs/42/attempts/2"; got != want {
		t.Errorf("RunURL() = %q, want %q", got, want)
	}

	garbage := connect(t, &bytes.Buffer{}, "GITHUB_RUN_ID", "4 2", "GITHUB_RUN_NUMBER", "-1", "GITHUB_ACTIONS", "maybe", "GITHUB_REPOSITORY", "octo/hello").Context()
	if garbage.RunID != "" || garbage.RunNumber != "" || garbage.Repository != "octo/hello" {
		t.Errorf("Context() of garbage = %+v, want no numbers and the rest", garbage)
	}
}

func TestEvent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       Event
	}{
		{"push", `{"repository": {"full_name": "o/r", "default_branch": "trunk"}}`, Event{DefaultBranch: "trunk"}},
		{"schedule says little", `{"schedule": "0 3 * * *"}`, Event{}},
		{"own pull request", `{"repository":{"default_branch":"main"},"pull_request":{"number":7,"head":{"ref":"fix","sha":"abc","repo":{"full_name":"o/r","fork":true}},"base":{"ref":"main","repo":{"full_name":"O/r"}}}}`,
			Event{DefaultBranch: "main", PullRequest: &PullRequest{Number: 7, HeadRef: "fix", HeadSHA: "abc", BaseRef: "main"}}},
		{"pull request of a fork", `{"pull_request":{"number":7,"head":{"ref":"main","repo":{"full_name":"evil/r"}},"base":{"ref":"main","repo":{"full_name":"o/r"}}}}`,
			Event{PullRequest: &PullRequest{Number: 7, HeadRef: "main", BaseRef: "main", Fork: true}}},
		{"pull request of a deleted fork", `{"pull_request":{"number":7,"head":{"ref":"x","repo":null},"base":{"ref":"main","repo":{"full_name":"o/r"}}}}`,
			Event{PullRequest: &PullRequest{Number: 7, HeadRef: "x", BaseRef: "main", Fork: true}}},
		{"names missing", `{"pull_request":{"head":{"repo":{}},"base":{"repo":{}}}}`, Event{PullRequest: &PullRequest{Fork: true}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "event.json")
			if err := os.WriteFile(path, []byte(tt.text), 0o644); err != nil {
				t.Fatal(err)
			}
			r := connect(t, &bytes.Buffer{}, "GITHUB_EVENT_PATH", path)
			got, err := r.Event()
			if err != nil {
				t.Fatalf("Event() = %v", err)
			}
			pr, want := got.PullRequest, tt.want.PullRequest
			if got.DefaultBranch != tt.want.DefaultBranch || (pr == nil) != (want == nil) || pr != nil && *pr != *want {
				t.Errorf("Event() = %+v %+v, want %+v %+v", got, pr, tt.want, want)
			}
			// The agent may own the file.
			if err := os.WriteFile(path, []byte(`{"repository":{"default_branch":"evil"}}`), 0o644); err != nil {
				t.Fatal(err)
			}
			if again, err := r.Event(); err != nil || again != got {
				t.Errorf("second Event() = %+v, %v, want the first answer", again, err)
			}
		})
	}
}

func TestEventErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	huge := write("huge.json", "")
	if err := os.Truncate(huge, maxEvent+1); err != nil {
		t.Fatal(err)
	}
	for path, word := range map[string]string{
		filepath.Join(dir, "missing.json"): "no such file",
		dir:                                "is not a file",
		write("empty.json", ""):            "is not an event",
		write("garbage.json", "\x00\xffnot JSON"):    "is not an event",
		write("null.json", "null"):                   "is not an event: it is null",
		write("list.json", "[1]"):                    "is not an event",
		write("type.json", `{"repository":"o/r"}`):   "is not an event",
		write("cut.json", `{"repository":{"defa`):    "is not an event",
		write("deep.json", strings.Repeat("[", 1e5)): "is not an event",
		huge: "is larger than 32 MiB",
	} {
		_, err := connect(t, &bytes.Buffer{}, "GITHUB_EVENT_PATH", path).Event()
		wantError(t, "Event() of "+filepath.Base(path), err, "event file", "GITHUB_EVENT_PATH", word)
	}
}

func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"repository":{"default_branch":"main"},"pull_request":{"number":1,"head":{"repo":null}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		event, err := parseEvent(data)
		if err != nil && event != (Event{}) {
			t.Errorf("parseEvent(%q) = %+v with the error %v, want nothing", data, event, err)
		}
	})
}
