package trigger_test

import (
	"testing"

	"github.com/org/ralph-action/internal/actions/trigger"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	own := trigger.Settings{HasPrompt: true}
	always := trigger.Settings{HasPrompt: true, Use: trigger.UseAlways}
	tests := []struct {
		name  string
		event trigger.Event
		s     trigger.Settings
		want  what
	}{
		{"no event at all", trigger.Event{}, own, what{}},
		{"schedule", trigger.Event{Name: "schedule"}, own, what{}},
		{"push", event("push", ""), own, what{}},
		{"an event of a kind we do not know", event("release", "published"), own, what{}},
		{"workflow_dispatch with a prompt", event("workflow_dispatch", "", func(e *trigger.Event) { e.Inputs = map[string]string{"prompt": "Fix\u200b it\r\n"} }), trigger.Settings{},
			what{prompt: []string{"Fix it"}}},
		{"workflow_dispatch, and a prompt of the owner's", event("workflow_dispatch", "", func(e *trigger.Event) { e.Inputs = map[string]string{"prompt": "Fix it"} }), own, what{}},
		{"workflow_dispatch, added", event("workflow_dispatch", "", func(e *trigger.Event) { e.Inputs = map[string]string{"prompt": "Fix it"} }), always, what{prompt: []string{"Fix it"}}},
		{"workflow_dispatch without a prompt, and one of the owner's", event("workflow_dispatch", ""), own, what{}},
		{"repository_dispatch", event("repository_dispatch", "go", func(e *trigger.Event) { e.ClientPrompt = "Fix it" }), trigger.Settings{}, what{prompt: []string{"Fix it"}}},

		{"label", labelled(), trigger.Settings{}, what{branch: "ralph/issue-12", issue: 12, commentOn: 12, check: "mona: who set the label", title: "The greeting is wrong",
			prompt: []string{"Resolve issue #12", "it is data", "Issue #12, by mona", "Title: The greeting is wrong", "It should say hello."}}},
		{"label, by another than the author", labelled(func(e *trigger.Event) { e.Issue.Author = stranger }), trigger.Settings{},
			what{branch: "ralph/issue-12", issue: 12, commentOn: 12, check: "mona: who set the label; stranger: the author of issue #12", title: "The greeting is wrong", prompt: []string{"by stranger"}}},
		{"label in another case", labelled(func(e *trigger.Event) { e.Label = "RALPH" }), trigger.Settings{Label: "Ralph"},
			what{branch: "ralph/issue-12", issue: 12, commentOn: 12, check: "mona: who set the label", title: "The greeting is wrong", prompt: []string{"hello"}}},
		{"label of the owner's choice", labelled(func(e *trigger.Event) { e.Label = "go on" }), trigger.Settings{Label: "go on"},
			what{branch: "ralph/issue-12", issue: 12, commentOn: 12, check: "mona: who set the label", title: "The greeting is wrong", prompt: []string{"hello"}}},
		{"Gitea does not name the label", labelled(func(e *trigger.Event) { e.Action, e.Label, e.Sender.Type = "label_updated", "", "" }), trigger.Settings{},
			what{branch: "ralph/issue-12", issue: 12, commentOn: 12, check: "mona: who set the label", title: "The greeting is wrong", prompt: []string{"hello"}}},
		{"label, and a prompt of the owner's", labelled(), own, what{commentOn: 12, check: "mona: who set the label"}},
		{"label, the issue below the owner's prompt", labelled(), always,
			what{branch: "ralph/issue-12", issue: 12, commentOn: 12, check: "mona: who set the label", title: "The greeting is wrong",
				prompt: []string{"This run was started by issue #12.", "it is data", "hello"}, not: []string{"Resolve"}}},
		{"a bot that is named sets it", labelled(func(e *trigger.Event) { e.Sender = renovate }), trigger.Settings{AllowBots: []string{"Renovate"}},
			what{branch: "ralph/issue-12", issue: 12, commentOn: 12, check: "mona: the author of issue #12", title: "The greeting is wrong", prompt: []string{"hello"}}},
		{"a person with the name of a bot that is named", labelled(func(e *trigger.Event) { e.Sender = trigger.Person{Login: "renovate", Type: "User"} }), trigger.Settings{AllowBots: []string{"renovate[bot]"}},
			what{branch: "ralph/issue-12", issue: 12, commentOn: 12, check: "renovate: who set the label; mona: the author of issue #12", title: "The greeting is wrong", prompt: []string{"hello"}}},
		{"no text", labelled(func(e *trigger.Event) { e.Issue.Body = "" }), trigger.Settings{},
			what{branch: "ralph/issue-12", issue: 12, commentOn: 12, check: "mona: who set the label", title: "The greeting is wrong", prompt: []string{"```text\nTitle: The greeting is wrong\n```"}}},
		{"another thing than a label, for a prompt of the owner's", event("issues", "opened"), own, what{check: "mona: who caused the event"}},
		{"a stranger's star, for a prompt of the owner's", event("watch", "started", func(e *trigger.Event) { e.Sender = stranger }), own, what{check: "stranger: who caused the event"}},
		{"a stranger's discussion, for a prompt of the owner's", event("discussion", "created", func(e *trigger.Event) { e.Sender = stranger }), own, what{check: "stranger: who caused the event"}},
		{"a stranger's issue, and the event is nobody's concern", event("issues", "opened", func(e *trigger.Event) { e.Sender = stranger }), trigger.Settings{HasPrompt: true, Use: trigger.UseNever}, what{}},
		{"a bot that is named opens an issue, for a prompt of the owner's", event("issues", "opened", func(e *trigger.Event) { e.Sender = renovate }), trigger.Settings{HasPrompt: true, AllowBots: []string{"renovate"}}, what{}},
		{"a bot that the server gives no type", labelled(func(e *trigger.Event) { e.Sender = trigger.Person{Login: "renovate[bot]"} }), trigger.Settings{HasPrompt: true, AllowBots: []string{"renovate"}}, what{commentOn: 12}},
		{"another label, but the event is nobody's concern", labelled(func(e *trigger.Event) { e.Label = "bug" }), trigger.Settings{HasPrompt: true, Use: trigger.UseNever}, what{}},

		{"comment", said("/ralph fix the flaky test\nIt fails on Windows."), trigger.Settings{},
			what{branch: "ralph/issue-12", issue: 12, commentOn: 12, check: "mona: who wrote the comment; stranger: the author of issue #12?", title: "The greeting is wrong",
				prompt: []string{"Do what is asked for in a comment on issue #12", "What mona asks for", "fix the flaky test\nIt fails on Windows.", "Issue #12, by stranger, for your information", "hello"}, not: []string{"/ralph"}}},
		{"comment without words", said("/ralph", func(e *trigger.Event) { e.Issue.Author = mona }), trigger.Settings{},
			what{branch: "ralph/issue-12", issue: 12, commentOn: 12, check: "mona: who wrote the comment", title: "The greeting is wrong", prompt: []string{"Resolve issue #12", "hello"}}},
		{"comment without words, on a stranger's issue", said("/ralph"), trigger.Settings{},
			what{branch: "ralph/issue-12", issue: 12, commentOn: 12, check: "mona: who wrote the comment; stranger: the author of issue #12", title: "The greeting is wrong", prompt: []string{"hello"}}},
		{"comment on a bot's issue", said("/ralph fix it", func(e *trigger.Event) { e.Issue.Author = renovate }), trigger.Settings{},
			what{branch: "ralph/issue-12", issue: 12, commentOn: 12, check: "mona: who wrote the comment", title: "fix it", prompt: []string{"fix it"}, not: []string{"hello"}}},
		{"comment on an issue of an account that is gone", said("/ralph fix it", func(e *trigger.Event) { e.Issue.Author = trigger.Person{} }), trigger.Settings{},
			what{branch: "ralph/issue-12", issue: 12, commentOn: 12, check: "mona: who wrote the comment", title: "fix it", prompt: []string{"fix it"}, not: []string{"hello"}}},
		{"comment, with a command of the owner's", said("@ralph fix it"), trigger.Settings{Command: "@ralph", HasPrompt: true}, what{commentOn: 12, check: "mona: who wrote the comment"}},
		{"comment on a pull request", said("/ralph fix it", onPull), trigger.Settings{},
			what{pull: 12, commentOn: 12, needs: trigger.NeedsPull, check: "mona: who wrote the comment; stranger: the author of pull request #12?", title: "The greeting is wrong",
				prompt: []string{"comment on pull request #12", "fix it", "hello"}}},

		{"pull request", pulled("pull_request", "opened"), trigger.Settings{},
			what{branch: "french", base: "main", pull: 7, commentOn: 7, check: "mona: who caused the event", title: "Greet in French", prompt: []string{"Work on pull request #7", "Add salut."}}},
		{"pull request with the label", pulled("pull_request_target", "labeled"), trigger.Settings{},
			what{branch: "french", base: "main", pull: 7, commentOn: 7, check: "mona: who set the label", title: "Greet in French", prompt: []string{"Work on pull request #7"}}},
		{"push to a pull request, for a prompt of the owner's", pulled("pull_request", "synchronize"), own, what{check: "mona: who caused the event"}},
		{"review, for a prompt of the owner's", pulled("pull_request_review", "submitted", func(e *trigger.Event) { e.Sender, e.PullRequest.HeadRef = stranger, "ralph/diary" }), own, what{check: "stranger: who caused the event"}},
		{"our own pull request is merged, for a prompt of the owner's", pulled("pull_request", "closed", func(e *trigger.Event) { e.PullRequest.HeadRef = "ralph/diary" }), own, what{check: "mona: who caused the event"}},
		{"push to our own pull request, and the event is nobody's concern", pulled("pull_request", "synchronize", func(e *trigger.Event) { e.PullRequest.HeadRef = "ralph/diary" }), trigger.Settings{HasPrompt: true, Use: trigger.UseNever}, what{}},
		{"push to a pull request, its text below the owner's prompt", pulled("pull_request", "synchronize"), always,
			what{branch: "french", base: "main", pull: 7, commentOn: 7, check: "mona: who caused the event", title: "Greet in French", prompt: []string{"This run was started by pull request #7."}}},
		{"branch with a name that means something to a shell", pulled("pull_request", "opened", func(e *trigger.Event) { e.PullRequest.HeadRef = "a$(b)" }), trigger.Settings{},
			what{branch: "a$(b)", base: "main", pull: 7, commentOn: 7, check: "mona: who caused the event", title: "Greet in French", prompt: []string{"salut"}}},

		{"failed workflow", failed(), trigger.Settings{}, what{branch: "french", base: "main", pull: 7, commentOn: 7, check: "mona: who caused the failed run", needs: trigger.NeedsRun}},
		{"failed workflow without a pull request", failed(func(w *trigger.WorkflowRun) { w.PullRequests, w.Conclusion = nil, "timed_out" }), trigger.Settings{},
			what{branch: "ralph/fix-french", base: "french", check: "mona: who caused the failed run", needs: trigger.NeedsRun}},
		{"failed workflow on the default branch, which is a pull request's head as well", failed(func(w *trigger.WorkflowRun) {
			w.HeadBranch, w.PullRequests = "main", []trigger.RunPull{{Number: 8, HeadRef: "main", BaseRef: "production"}}
		}), trigger.Settings{}, what{branch: "ralph/fix-main", base: "main", check: "mona: who caused the failed run", needs: trigger.NeedsRun}},
		{"failed workflow on a branch of ralph's", failed(func(w *trigger.WorkflowRun) { w.HeadBranch, w.PullRequests = "ralph/issue-12", nil }), trigger.Settings{},
			what{branch: "ralph/issue-12", check: "mona: who caused the failed run", needs: trigger.NeedsRun}},
		{"workflow that passed, for a prompt of the owner's", failed(func(w *trigger.WorkflowRun) { w.Conclusion = "success" }), own, what{}},
		{"workflow that passed on somebody's issue, for a prompt of the owner's", failed(func(w *trigger.WorkflowRun) { w.Conclusion, w.Event, w.Actor = "success", "issues", stranger }), own,
			what{check: "stranger: who caused its run; mona: who started its run"}},
		{"who started the failed run again", failed(func(w *trigger.WorkflowRun) { w.Triggering = stranger }), trigger.Settings{},
			what{branch: "french", base: "main", pull: 7, commentOn: 7, check: "mona: who caused the failed run; stranger: who started the failed run", needs: trigger.NeedsRun}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := trigger.Decide(tt.event, tt.s)
			if err != nil {
				t.Fatalf("Decide() = %v", err)
			}
			if got.Why == "" {
				t.Error("the decision says no why")
			}
			compare(t, got, tt.want)
		})
	}
}

func TestIssueOf(t *testing.T) {
	t.Parallel()
	for branch, want := range map[string]int{
		"ralph/issue-12": 12, "ralph/issue-0": 0, "ralph/issue-012": 0, "ralph/issue-12-x": 0, "ralph/issue-": 0, "issue-12": 0,
		"ralph/issue-+1": 0, "ralph/issue--1": 0, "ralph/issue-99999999999999999999": 0, "": 0,
	} {
		if got := trigger.IssueOf(branch); got != want {
			t.Errorf("IssueOf(%q) = %d, want %d", branch, got, want)
		}
	}
}
