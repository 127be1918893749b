package trigger_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/actions/trigger"
)

// What asks for nothing ends at once, and well: it costs nothing.
func TestNothingToDo(t *testing.T) {
	t.Parallel()
	own := trigger.Settings{HasPrompt: true}
	never := trigger.Settings{HasPrompt: true, Use: trigger.UseNever}
	tests := []struct {
		name  string
		event trigger.Event
		s     trigger.Settings
		why   string
	}{
		{"another label", labelled(func(e *trigger.Event) { e.Label = "bug\u202e\nx" }), trigger.Settings{}, `issue #12 got the label "bug"`},
		{"another label, with a prompt of the owner's", labelled(func(e *trigger.Event) { e.Label = "bug" }), own, `started by "ralph"`},
		{"a label that is not named", labelled(func(e *trigger.Event) { e.Label, e.Issue.Labels = "", nil }), trigger.Settings{}, "got the label"},
		{"Gitea: other labels", labelled(func(e *trigger.Event) { e.Action, e.Label, e.Issue.Labels = "label_updated", "", []string{"bug"} }), trigger.Settings{}, "got the label"},
		{"Gitea: another label is set", labelled(func(e *trigger.Event) { e.Action, e.Label, e.Added = "label_updated", "", []string{"bug"} }), trigger.Settings{}, "got the label"},
		{"Gitea: a label is taken away", labelled(func(e *trigger.Event) { e.Action, e.Label, e.Added = "label_updated", "", []string{} }), trigger.Settings{}, "got the label"},
		{"an issue is opened with the label", labelled(func(e *trigger.Event) { e.Action, e.Label = "opened", "" }), trigger.Settings{}, "when it gets the label"},
		{"the label is taken away", labelled(func(e *trigger.Event) { e.Action = "unlabeled" }), trigger.Settings{}, "when it gets the label"},
		{"an issue is edited", labelled(func(e *trigger.Event) { e.Action = "edited" }), trigger.Settings{}, "when it gets the label"},
		{"a comment without the command", said("I think /ralph could fix it"), trigger.Settings{}, "no line that begins with /ralph"},
		{"a stranger's comment on a closed issue", said("nice", func(e *trigger.Event) { e.Comment.Author, e.Issue.State = stranger, "closed" }), trigger.Settings{}, "no line"},
		{"a comment without the command, with a prompt of the owner's", said("nice"), own, "no line"},
		{"a comment is edited", said("/ralph", func(e *trigger.Event) { e.Action = "edited" }), trigger.Settings{}, "only a new comment"},
		{"a comment is deleted", said("/ralph", func(e *trigger.Event) { e.Action = "deleted" }), own, "only a new comment"},
		{"our own comment", said("<!-- ralph-action progress -->\n/ralph fix it"), trigger.Settings{}, "ralph's own"},
		{"a bot's comment", said("nice", func(e *trigger.Event) { e.Comment.Author = renovate }), trigger.Settings{}, "no line"},
		{"a push to a pull request", pulled("pull_request", "synchronize"), trigger.Settings{}, "when it is opened"},
		{"a pull request is closed", pulled("pull_request", "closed"), trigger.Settings{}, "when it is opened"},
		{"a pull request gets another label", pulled("pull_request", "labeled", func(e *trigger.Event) { e.Label = "bug" }), own, `got the label "bug"`},
		{"our own pull request, by its branch", pulled("pull_request", "opened", func(e *trigger.Event) { e.PullRequest.HeadRef = "ralph/plan" }), trigger.Settings{}, "ralph's own"},
		{"our own pull request, by its text", pulled("pull_request", "opened", func(e *trigger.Event) { e.PullRequest.Body = "x\n<!-- ralph-action -->" }), trigger.Settings{}, "ralph's own"},
		{"a bot opens a pull request", pulled("pull_request", "opened", func(e *trigger.Event) { e.Sender = renovate }), trigger.Settings{}, "renovate[bot] is a bot"},
		{"a workflow passed", failed(func(w *trigger.WorkflowRun) { w.Conclusion = "success" }), trigger.Settings{}, `"CI" ended with success`},
		{"a workflow of a fork passed", failed(func(w *trigger.WorkflowRun) { w.Conclusion, w.HeadRepository = "success", "stranger/hello" }), trigger.Settings{}, "success"},
		{"a workflow was cancelled", failed(func(w *trigger.WorkflowRun) { w.Conclusion = "cancelled" }), trigger.Settings{}, "cancelled"},
		{"a workflow goes on", event("workflow_run", "requested", func(e *trigger.Event) { e.WorkflowRun = &trigger.WorkflowRun{} }), trigger.Settings{}, "when it has failed"},
		{"our own commit failed", failed(func(w *trigger.WorkflowRun) {
			w.HeadMessage = "ralph: iteration 2\n\nRalph-Run: 42\nRalph-Iteration: 2\n"
		}), trigger.Settings{}, "wait-for-ci"},
		{"our own commit failed, with a prompt of the owner's", failed(func(w *trigger.WorkflowRun) { w.HeadMessage = "x\n\nRalph-Run: 42\n" }), own, "ralph's own"},
		{"a workflow of a fork failed", failed(func(w *trigger.WorkflowRun) { w.HeadRepository = "stranger/hello" }), trigger.Settings{}, "ran on a head in stranger/hello"},
		{"a workflow of a fork failed, with a prompt of the owner's", failed(func(w *trigger.WorkflowRun) { w.HeadRepository = "stranger/hello" }), own, "ran on a head in stranger/hello"},
		{"a workflow of a fork that is gone, the event not used", failed(func(w *trigger.WorkflowRun) { w.HeadRepository = "" }), never, "a repository that is gone"},
		{"our own push to our own pull request, with a prompt of the owner's", pulled("pull_request", "synchronize", func(e *trigger.Event) { e.PullRequest.HeadRef = "ralph/diary" }), own, "ralph's own"},
		{"our own pull request on another branch, with a prompt of the owner's", pulled("pull_request", "opened", func(e *trigger.Event) { e.PullRequest.Body = "x\n<!-- ralph-action -->" }), own, "ralph's own"},
		{"a bot opens an issue, with a prompt of the owner's", event("issues", "opened", func(e *trigger.Event) { e.Sender = renovate }), own, "renovate[bot] is a bot"},
		{"a bot's commit failed", failed(func(w *trigger.WorkflowRun) { w.Actor = renovate }), trigger.Settings{}, "renovate[bot], who caused the failed run"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := trigger.Decide(tt.event, tt.s)
			if err != nil || got.Run || !strings.Contains(got.Why, tt.why) || strings.ContainsAny(got.Why, "\n\u202e") {
				t.Errorf("Decide() = %+v, %v, want nothing to do, and why: %s", got, err, tt.why)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	never := trigger.Settings{HasPrompt: true, Use: trigger.UseNever}
	tests := []struct {
		name  string
		event trigger.Event
		s     trigger.Settings
		words string
	}{
		{"pull_request_target, fork", pulled("pull_request_target", "opened", fork), trigger.Settings{}, "pull_request_target runs with the secrets of this repository, and the head of pull request #7 lies in stranger/hello"},
		{"pull_request_target, fork, prompt of the owner's", pulled("pull_request_target", "synchronize", fork), trigger.Settings{HasPrompt: true}, "pull_request_target runs with the secrets"},
		{"pull_request_target, fork, the event not used", pulled("pull_request_target", "closed", fork), never, "pull_request_target runs with the secrets"},
		{"pull_request_target, fork that is gone", pulled("pull_request_target", "opened", fork, func(e *trigger.Event) { e.PullRequest.HeadRepository = "" }), never, "a repository that is gone"},
		{"pull_request, fork", pulled("pull_request", "opened", fork), never, "heads in the repository itself only"},
		{"review, fork", pulled("pull_request_review", "submitted", fork), never, "heads in the repository itself only"},
		{"label by a bot", labelled(func(e *trigger.Event) { e.Sender = renovate }), trigger.Settings{AllowBots: []string{"other[bot]", ""}}, "renovate[bot], who set the label, is a bot: name it in allow-bots"},
		{"label by a bot, prompt of the owner's", labelled(func(e *trigger.Event) { e.Sender = renovate }), trigger.Settings{HasPrompt: true}, "allow-bots"},
		{"label by a bot without a type", labelled(func(e *trigger.Event) { e.Sender = trigger.Person{Login: "x[bot]"} }), trigger.Settings{}, "allow-bots"},
		{"label by an app with the name of a person", labelled(func(e *trigger.Event) { e.Sender = trigger.Person{Login: "mona", Type: "Bot"} }), trigger.Settings{}, "allow-bots"},
		{"label by an organization with the name of a bot", labelled(func(e *trigger.Event) { e.Sender = trigger.Person{Login: "renovate", Type: "Organization"} }), trigger.Settings{AllowBots: []string{"renovate[bot]"}}, "renovate, who set the label, is of the type Organization"},
		{"issue by an organization with the name of a bot", labelled(func(e *trigger.Event) { e.Issue.Author = trigger.Person{Login: "renovate", Type: "Organization"} }), trigger.Settings{AllowBots: []string{"renovate"}}, "the author of issue #12, renovate, is of the type Organization"},
		{"issue by an account of an unknown type", labelled(func(e *trigger.Event) { e.Issue.Author = trigger.Person{Login: "renovate[bot]", Type: "Mannequin"} }), trigger.Settings{AllowBots: []string{"renovate"}}, "of the type Mannequin"},
		{"command sent by a bot for a person", said("/ralph fix it", func(e *trigger.Event) { e.Sender = renovate }), trigger.Settings{}, "renovate[bot], who sent it, is a bot"},
		{"something else by nobody, prompt of the owner's", event("issues", "opened", func(e *trigger.Event) { e.Sender = trigger.Person{} }), trigger.Settings{HasPrompt: true}, "nobody can be asked"},
		{"label by nobody", labelled(func(e *trigger.Event) { e.Sender = trigger.Person{} }), trigger.Settings{}, "nobody can be asked"},
		{"issue by a bot", labelled(func(e *trigger.Event) { e.Issue.Author = renovate }), trigger.Settings{}, "the author of issue #12, renovate[bot], is a bot"},
		{"issue by an account that is gone", labelled(func(e *trigger.Event) { e.Issue.Author = trigger.Person{} }), trigger.Settings{}, "an account that is gone"},
		{"closed issue", labelled(func(e *trigger.Event) { e.Issue.State = "closed" }), trigger.Settings{}, "issue #12 is closed"},
		{"locked issue", labelled(func(e *trigger.Event) { e.Issue.Locked = true }), trigger.Settings{}, "issue #12 is locked"},
		{"command on a closed issue", said("/ralph", func(e *trigger.Event) { e.Issue.State = "closed" }), trigger.Settings{}, "issue #12 is closed"},
		{"command on a locked pull request", said("/ralph", onPull, func(e *trigger.Event) { e.Issue.Locked = true }), trigger.Settings{HasPrompt: true}, "pull request #12 is locked"},
		{"command by a bot", said("/ralph fix it", func(e *trigger.Event) { e.Comment.Author, e.Sender = renovate, renovate }), trigger.Settings{}, "renovate[bot], who wrote the comment, is a bot"},
		{"command without words on a bot's issue", said("/ralph", func(e *trigger.Event) { e.Issue.Author = renovate }), trigger.Settings{}, "say what is to do after the command"},
		{"label on a closed pull request", pulled("pull_request", "labeled", func(e *trigger.Event) { e.PullRequest.State = "closed" }), trigger.Settings{}, "pull request #7 is closed"},
		{"pull request from the default branch", pulled("pull_request", "opened", func(e *trigger.Event) { e.PullRequest.HeadRef, e.PullRequest.BaseRef = "main", "production" }), trigger.Settings{}, "main, the default branch: ralph does not push there"},
		{"branch that git does not take", pulled("pull_request", "opened", func(e *trigger.Event) { e.PullRequest.HeadRef = "-f" }), trigger.Settings{}, "does not begin with -"},
		{"branch of a run that git does not take", failed(func(w *trigger.WorkflowRun) { w.HeadBranch, w.PullRequests = "a b", nil }), trigger.Settings{}, "the branch a?b of the failed run"},
		{"who caused a run is unknown", failed(func(w *trigger.WorkflowRun) { w.Actor = trigger.Person{} }), trigger.Settings{}, "nobody can be asked"},
		{"no prompt", event("push", ""), trigger.Settings{}, "the event push has no task text: set prompt or prompt-file"},
		{"no prompt, and the event is not to be used", labelled(), trigger.Settings{Use: trigger.UseNever}, "has no task text: set prompt or prompt-file"},
		{"workflow_dispatch with an empty prompt", event("workflow_dispatch", "", func(e *trigger.Event) { e.Inputs = map[string]string{"prompt": " \u200b\n"} }), trigger.Settings{}, "has no task text: set prompt or prompt-file"},
		{"repository_dispatch without a prompt", event("repository_dispatch", "go"), trigger.Settings{}, "has no task text: set prompt or prompt-file"},
		{"issues without an issue", event("issues", "labeled", func(e *trigger.Event) { e.Label = "ralph" }), trigger.Settings{}, "has no issue"},
		{"a comment without one", event("issue_comment", "created"), trigger.Settings{}, "no comment"},
		{"a pull request without one", event("pull_request", "opened"), trigger.Settings{}, "has no pull request"},
		{"a workflow run without one", event("workflow_run", "completed"), trigger.Settings{}, "has no workflow run"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := trigger.Decide(tt.event, tt.s)
			if err == nil && got.Run && len(got.Check) > 0 { // when those may write who asked
				err, got.Run = got.Refuse, false
			}
			if err == nil || !strings.Contains(err.Error(), tt.words) || got.Run || got.Prompt != "" || got.Branch != "" {
				t.Errorf("Decide() = %+v, %v, want a refusal with %q", got, err, tt.words)
			}
		})
	}
}

// A refusal on which a stranger could turn runs red stands behind the question
// whether who asked may.
func TestRefusedOfThoseWhoMay(t *testing.T) {
	t.Parallel()
	closed := func(e *trigger.Event) {
		e.Comment.Author, e.Sender, e.Issue.State = stranger, stranger, "closed"
	}
	tests := []struct {
		name  string
		event trigger.Event
		s     trigger.Settings
	}{
		{"command on a closed issue", said("/ralph do it", closed), trigger.Settings{}},
		{"command on a closed pull request", said("/ralph do it", onPull, closed), trigger.Settings{}},
		{"command on a closed issue, prompt of the owner's", said("/ralph", closed), trigger.Settings{HasPrompt: true}},
		{"command on a locked issue", said("/ralph", closed, func(e *trigger.Event) { e.Issue.State, e.Issue.Locked = "open", true }), trigger.Settings{}},
		{"command on a bot's issue", said("/ralph", closed, func(e *trigger.Event) { e.Issue.State, e.Issue.Author = "open", renovate }), trigger.Settings{}},
		{"command on an issue of an account that is gone", said("/ralph", closed, func(e *trigger.Event) { e.Issue.State, e.Issue.Author = "open", trigger.Person{} }), trigger.Settings{}},
		{"label on a closed issue", labelled(func(e *trigger.Event) { e.Sender, e.Issue.State = stranger, "closed" }), trigger.Settings{}},
		{"label on a pull request from the default branch", pulled("pull_request", "labeled", func(e *trigger.Event) { e.Sender, e.PullRequest.HeadRef = stranger, "main" }), trigger.Settings{}},
		{"branch of a run that git does not take", failed(func(w *trigger.WorkflowRun) { w.HeadBranch, w.PullRequests, w.Actor = "a b", nil, stranger }), trigger.Settings{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := trigger.Decide(tt.event, tt.s)
			if err != nil || got.Refuse == nil || !got.Run || got.Prompt != "" || got.Needs != trigger.NeedsNothing || len(got.Check) == 0 || got.Check[0].Login != "stranger" || !got.Check[0].Asked {
				t.Errorf("Decide() = %+v, %v, want a refusal once the stranger is known to be allowed to ask", got, err)
			}
		})
	}
}
