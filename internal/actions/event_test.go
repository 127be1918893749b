package actions

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/actions/trigger"
)

func TestEvent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       Event
	}{
		{"push", `{"repository": {"full_name": "o/r", "default_branch": "trunk"}}`, Event{Repository: "o/r", DefaultBranch: "trunk"}},
		{"schedule says little", `{"schedule": "0 3 * * *"}`, Event{}},
		{"own pull request", `{"repository":{"default_branch":"main"},"pull_request":{"number":7,"head":{"ref":"fix","sha":"abc","repo":{"full_name":"o/r","fork":true}},"base":{"ref":"main","repo":{"full_name":"O/r"}}}}`,
			Event{DefaultBranch: "main", PullRequest: &trigger.PullRequest{Number: 7, HeadRef: "fix", HeadRepository: "o/r", BaseRef: "main"}}},
		{"pull request of a fork", `{"pull_request":{"number":7,"head":{"ref":"main","repo":{"full_name":"evil/r"}},"base":{"ref":"main","repo":{"full_name":"o/r"}}}}`,
			Event{PullRequest: &trigger.PullRequest{Number: 7, HeadRef: "main", HeadRepository: "evil/r", BaseRef: "main", Fork: true}}},
		{"pull request of a deleted fork", `{"pull_request":{"number":7,"head":{"ref":"x","repo":null},"base":{"ref":"main","repo":{"full_name":"o/r"}}}}`,
			Event{PullRequest: &trigger.PullRequest{Number: 7, HeadRef: "x", BaseRef: "main", Fork: true}}},
		{"names missing", `{"pull_request":{"head":{"repo":{}},"base":{"repo":{}}}}`, Event{PullRequest: &trigger.PullRequest{Fork: true}}},
		{"accounts that are gone", `{"sender":null,"issue":{"number":3,"user":null},"comment":{"user":null}}`,
			Event{Issue: &trigger.Issue{Number: 3}, Comment: &trigger.Comment{}}},
		{"Gitea's comment on a locked pull request", `{"action":"created","is_pull":true,"issue":{"number":3,"is_locked":true,"pull_request":null,"user":{"id":1,"login":"mona","full_name":""}},"comment":{"id":9,"body":"/ralph"},"sender":{"login":"mona"}}`,
			Event{Action: "created", Sender: trigger.Person{Login: "mona"}, Comment: &trigger.Comment{Body: "/ralph"},
				Issue: &trigger.Issue{Number: 3, Locked: true, IsPullRequest: true, Author: trigger.Person{Login: "mona"}}}},
		{"inputs and payload of other shapes", `{"inputs":null,"client_payload":[1,2]}`, Event{}},
		{"prompt of another shape", `{"inputs":{"prompt":{"a":1}},"client_payload":{"prompt":7}}`, Event{Inputs: map[string]string{"prompt": `{"a":1}`}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "event.json")
			if err := os.WriteFile(path, []byte(tt.text), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := ReadEvent(environment("GITHUB_EVENT_PATH", path, "GITHUB_EVENT_NAME", "it"))
			if err != nil {
				t.Fatalf("ReadEvent() = %v", err)
			}
			tt.want.Name = "it"
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("ReadEvent() = %+v, want %+v", got, tt.want)
			}
		})
	}
}

// The files have the shapes of GitHub's own examples (@octokit/webhooks-examples
// 7.6.1), with other people and texts in them.
func TestEventShapes(t *testing.T) {
	t.Parallel()
	mona, hubot := trigger.Person{Login: "mona", Type: "User"}, trigger.Person{Login: "hubot", Type: "User"}
	stranger := trigger.Person{Login: "stranger", Type: "User"}
	base := Event{Sender: mona, Repository: "octo/hello", DefaultBranch: "main"}
	with := func(change func(*Event)) Event {
		e := base
		change(&e)
		return e
	}
	pull := &trigger.PullRequest{
		Number: 7, Title: "Greet in French", Body: "Adds `salut`.", Author: mona, State: "open", Labels: []string{"ralph"},
		HeadRef: "french", HeadRepository: "octo/hello", BaseRef: "main",
	}
	fork := *pull
	fork.Author, fork.HeadRepository, fork.Fork = stranger, "stranger/hello", true
	tests := []struct {
		file, name string
		want       Event
	}{
		{"schedule", "schedule", with(func(e *Event) { e.Sender = trigger.Person{} })},
		{"push", "push", base},
		{"workflow_dispatch", "workflow_dispatch", with(func(e *Event) {
			e.Inputs = map[string]string{"prompt": "Fix the greeting", "dry": "true", "times": "3"}
		})},
		{"repository_dispatch", "repository_dispatch", with(func(e *Event) { e.Action, e.ClientPrompt = "ralph", "Fix the greeting" })},
		{"issues.labeled", "issues", with(func(e *Event) {
			e.Action, e.Label = "labeled", "ralph"
			e.Issue = &trigger.Issue{Number: 12, Title: "The greeting is wrong", Body: "It says `hallo`.\r\n\r\nIt should say `hello`.\r\n",
				Author: hubot, State: "open", Labels: []string{"ralph"}}
		})},
		{"issue_comment.issue", "issue_comment", with(func(e *Event) {
			e.Action = "created"
			e.Issue = &trigger.Issue{Number: 12, Title: "The greeting is wrong", Author: stranger, State: "open"}
			e.Comment = &trigger.Comment{Body: "/ralph fix the greeting\r\n", Author: mona}
		})},
		{"issue_comment.pull", "issue_comment", with(func(e *Event) {
			e.Action = "created"
			e.Issue = &trigger.Issue{Number: 7, Title: "Greet in French", Author: stranger, State: "open", IsPullRequest: true}
			e.Comment = &trigger.Comment{Body: "/ralph fix the greeting\r\n", Author: mona}
		})},
		{"pull_request.opened", "pull_request", with(func(e *Event) { e.Action, e.PullRequest = "opened", pull })},
		{"pull_request.fork", "pull_request_target", with(func(e *Event) { e.Action, e.Sender, e.PullRequest = "opened", stranger, &fork })},
		// A pull request of another repository with the same head is not ours to push to.
		{"workflow_run.completed", "workflow_run", with(func(e *Event) {
			e.Action, e.Sender = "completed", hubot
			e.WorkflowRun = &trigger.WorkflowRun{
				ID: 289782451, Name: "CI", Event: "pull_request", Conclusion: "failure", HeadBranch: "french",
				HeadSHA: "ec26c3e57ca3a959ca5aad62de7213c562f8c821", HeadMessage: "Greet in French", HeadRepository: "octo/hello",
				Actor: mona, Triggering: hubot,
				PullRequests: []trigger.RunPull{{Number: 7, HeadRef: "french", BaseRef: "main"}},
			}
		})},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			got, err := ReadEvent(environment("GITHUB_EVENT_PATH", filepath.Join("testdata", "events", tt.file+".json"), "GITHUB_EVENT_NAME", tt.name))
			tt.want.Name = tt.name
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("ReadEvent() = %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

// No file is no error: a local run has none.
func TestNoEvent(t *testing.T) {
	t.Parallel()
	got, err := ReadEvent(environment("GITHUB_EVENT_NAME", "schedule"))
	if err != nil || !reflect.DeepEqual(got, Event{Name: "schedule"}) {
		t.Errorf("ReadEvent() = %+v, %v, want its name only", got, err)
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
		_, err := ReadEvent(environment("GITHUB_EVENT_PATH", path))
		wantError(t, "ReadEvent() of "+filepath.Base(path), err, "event file", "GITHUB_EVENT_PATH", word)
	}
}

func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"repository":{"default_branch":"main"},"pull_request":{"number":1,"head":{"repo":null}}}`))
	f.Add([]byte(`{"inputs":{"prompt":1},"client_payload":{"prompt":null},"issue":{"labels":[{}],"pull_request":{}}}`))
	files, err := filepath.Glob("testdata/events/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no events: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		event, err := parseEvent("issues", data)
		if err != nil && !reflect.DeepEqual(event, Event{}) {
			t.Errorf("parseEvent(%q) = %+v with the error %v, want nothing", data, event, err)
		}
	})
}
