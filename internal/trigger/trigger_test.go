package trigger_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/trigger"
)

var (
	mona     = trigger.Person{Login: "mona", Type: "User"}
	stranger = trigger.Person{Login: "stranger", Type: "User"}
	renovate = trigger.Person{Login: "renovate[bot]", Type: "Bot"}
)

// event is one in the repository octo/hello, by mona.
func event(name, action string, changes ...func(*trigger.Event)) trigger.Event {
	e := trigger.Event{Name: name, Action: action, Sender: mona, Repository: "octo/hello", DefaultBranch: "main"}
	for _, change := range changes {
		change(&e)
	}
	return e
}

// labelled is issue 12, which got the label ralph.
func labelled(changes ...func(*trigger.Event)) trigger.Event {
	return event("issues", "labeled", append([]func(*trigger.Event){func(e *trigger.Event) {
		e.Label = "ralph"
		e.Issue = &trigger.Issue{Number: 12, Title: "The greeting is wrong", Body: "It should say hello.", Author: mona, State: "open", Labels: []string{"ralph"}}
	}}, changes...)...)
}

// said is a comment of mona's on issue 12 of a stranger.
func said(body string, changes ...func(*trigger.Event)) trigger.Event {
	return event("issue_comment", "created", append([]func(*trigger.Event){func(e *trigger.Event) {
		e.Issue = &trigger.Issue{Number: 12, Title: "The greeting is wrong", Body: "It should say hello.", Author: stranger, State: "open"}
		e.Comment = &trigger.Comment{ID: 99, Body: body, Author: mona}
	}}, changes...)...)
}

// pulled is pull request 7 of mona's.
func pulled(name, action string, changes ...func(*trigger.Event)) trigger.Event {
	return event(name, action, append([]func(*trigger.Event){func(e *trigger.Event) {
		e.PullRequest = &trigger.PullRequest{Number: 7, Title: "Greet in French", Body: "Add salut.", Author: mona, State: "open",
			HeadRef: "french", HeadSHA: "abc", HeadRepository: "octo/hello", BaseRef: "main"}
		if action == "labeled" {
			e.Label = "ralph"
		}
	}}, changes...)...)
}

// failed is the workflow CI, which failed on the head of pull request 7.
func failed(changes ...func(*trigger.WorkflowRun)) trigger.Event {
	w := &trigger.WorkflowRun{ID: 5, Name: "CI", Event: "push", Conclusion: "failure", HeadBranch: "french", HeadSHA: "abc",
		HeadMessage: "Greet in French", HeadRepository: "octo/hello", Actor: mona, Triggering: mona,
		PullRequests: []trigger.RunPull{{Number: 7, HeadRef: "french", BaseRef: "main"}}}
	for _, change := range changes {
		change(w)
	}
	return event("workflow_run", "completed", func(e *trigger.Event) { e.WorkflowRun = w })
}

// fork moves the head of a pull request to a fork.
func fork(e *trigger.Event) {
	e.PullRequest.HeadRepository, e.PullRequest.Fork = "stranger/hello", true
}

// onPull makes a comment one on a pull request.
func onPull(e *trigger.Event) { e.Issue.IsPullRequest = true }

// what is what a test says of a decision.
type what struct {
	branch, base string
	issue, pull  int
	commentOn    int
	check        string // LOGIN: WHO, with a ? when it is optional
	needs        trigger.Needs
	prompt       []string // what is in the prompt, in this order; none: it is empty
	not          []string // what is not in it
	title        string
}

func compare(t *testing.T, got trigger.Decision, want what) {
	t.Helper()
	var checks []string
	for _, c := range got.Check {
		s := c.Login + ": " + c.Who
		if c.Optional {
			s += "?"
		}
		checks = append(checks, s)
	}
	have := what{got.Branch, got.Base, got.Issue, got.PullRequest, got.CommentOn, strings.Join(checks, "; "), got.Needs, want.prompt, want.not, got.Title}
	if !got.Run || !reflect.DeepEqual(have, want) {
		t.Errorf("got %+v of %+v, want %+v", have, got, want)
	}
	rest := got.Prompt
	if len(want.prompt) == 0 && rest != "" {
		t.Errorf("the prompt is %q, want none", rest)
	}
	for _, words := range want.prompt {
		_, after, found := strings.Cut(rest, words)
		if !found {
			t.Errorf("the prompt lacks %q, in its place: %s", words, got.Prompt)
		}
		rest = after
	}
	for _, words := range want.not {
		if strings.Contains(got.Prompt, words) {
			t.Errorf("the prompt holds %q: %s", words, got.Prompt)
		}
	}
}

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
		{"workflow_dispatch without a prompt", event("workflow_dispatch", ""), trigger.Settings{}, what{}},
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
		{"another thing than a label, for a prompt of the owner's", event("issues", "opened"), own, what{}},
		{"another label, but the event is nobody's concern", labelled(func(e *trigger.Event) { e.Label = "bug" }), trigger.Settings{HasPrompt: true, Use: trigger.UseNever}, what{}},

		{"comment", said("/ralph fix the flaky test\nIt fails on Windows."), trigger.Settings{},
			what{branch: "ralph/issue-12", issue: 12, commentOn: 12, check: "mona: who wrote the comment; stranger: the author of issue #12?", title: "The greeting is wrong",
				prompt: []string{"Do what is asked for in a comment on issue #12", "What mona asks for", "fix the flaky test\nIt fails on Windows.", "Issue #12, by stranger", "hello"}, not: []string{"/ralph"}}},
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
		{"push to a pull request, for a prompt of the owner's", pulled("pull_request", "synchronize"), own, what{}},
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

// What asks for nothing ends at once, and well: it costs nothing.
func TestNothingToDo(t *testing.T) {
	t.Parallel()
	own := trigger.Settings{HasPrompt: true}
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
		{"workflow_run, fork", failed(func(w *trigger.WorkflowRun) { w.HeadRepository = "stranger/hello" }), trigger.Settings{}, "ran on a head in stranger/hello"},
		{"workflow_run, fork, prompt of the owner's", failed(func(w *trigger.WorkflowRun) { w.HeadRepository = "" }), never, "a repository that is gone"},
		{"label by a bot", labelled(func(e *trigger.Event) { e.Sender = renovate }), trigger.Settings{AllowBots: []string{"other[bot]", ""}}, "renovate[bot], who set the label, is a bot: name it in allow-bots"},
		{"label by a bot, prompt of the owner's", labelled(func(e *trigger.Event) { e.Sender = renovate }), trigger.Settings{HasPrompt: true}, "allow-bots"},
		{"label by a bot without a type", labelled(func(e *trigger.Event) { e.Sender = trigger.Person{Login: "x[bot]"} }), trigger.Settings{}, "allow-bots"},
		{"label by an app with the name of a person", labelled(func(e *trigger.Event) { e.Sender = trigger.Person{Login: "mona", Type: "Bot"} }), trigger.Settings{}, "allow-bots"},
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
		{"issues without an issue", event("issues", "labeled", func(e *trigger.Event) { e.Label = "ralph" }), trigger.Settings{}, "has no issue"},
		{"a comment without one", event("issue_comment", "created"), trigger.Settings{}, "no comment"},
		{"a pull request without one", event("pull_request", "opened"), trigger.Settings{}, "has no pull request"},
		{"a workflow run without one", event("workflow_run", "completed"), trigger.Settings{}, "has no workflow run"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := trigger.Decide(tt.event, tt.s)
			if err == nil || !strings.Contains(err.Error(), tt.words) || got.Run || got.Prompt != "" {
				t.Errorf("Decide() = %+v, %v, want a refusal with %q", got, err, tt.words)
			}
		})
	}
}

func TestWithPull(t *testing.T) {
	t.Parallel()
	pull := trigger.Pull{State: "open", HeadRef: "french", HeadSHA: "abc", HeadRepository: "Octo/Hello", BaseRef: "main"}
	d, err := trigger.Decide(said("/ralph fix it", onPull), trigger.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.WithPull(pull)
	if err != nil || got.HeadSHA != "abc" || !got.Existing {
		t.Errorf("WithPull() = %+v, %v, want the head of the pull request", got, err)
	}
	compare(t, got, what{branch: "french", base: "main", pull: 12, commentOn: 12, title: "The greeting is wrong",
		check: "mona: who wrote the comment; stranger: the author of pull request #12?", prompt: []string{"fix it", "hello"}})

	own, err := trigger.Decide(said("/ralph", onPull), trigger.Settings{HasPrompt: true})
	if err != nil {
		t.Fatal(err)
	}
	if own, err = own.WithPull(pull); err != nil {
		t.Fatal(err)
	}
	compare(t, own, what{commentOn: 12, check: "mona: who wrote the comment"})

	for words, change := range map[string]func(*trigger.Pull){
		"lies in stranger/hello": func(p *trigger.Pull) { p.HeadRepository = "stranger/hello" },
		"that is gone":           func(p *trigger.Pull) { p.HeadRepository = "" },
		"#12 is closed":          func(p *trigger.Pull) { p.State = "closed" },
		"the default branch":     func(p *trigger.Pull) { p.HeadRef = "main" },
		"cannot hold":            func(p *trigger.Pull) { p.HeadRef = "a\nb" },
	} {
		p := pull
		change(&p)
		if got, err := d.WithPull(p); err == nil || !strings.Contains(err.Error(), words) || got.Run {
			t.Errorf("WithPull(%+v) = %+v, %v, want a refusal with %q", p, got, err, words)
		}
	}
}

func TestWithRun(t *testing.T) {
	t.Parallel()
	d, err := trigger.Decide(failed(), trigger.Settings{})
	if err != nil || d.RunID != 5 {
		t.Fatalf("Decide() = %+v, %v, want the run 5", d, err)
	}
	long := strings.Repeat("2026-11-22T05:49:22.1234567Z line of a log\n", 2000) + "2026-11-22T05:49:22.1234567Z \x1b[31m##[error]it ``` failed\x1b[0m\n"
	jobs := []trigger.Job{{Name: "lint", Conclusion: "success", Log: "all is well"}, {Name: "test `x`", Conclusion: "failure", Log: long}}
	got, err := d.WithRun(jobs)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, got, what{branch: "french", base: "main", pull: 7, commentOn: 7, check: "mona: who caused the failed run", title: "Repair CI on french",
		prompt: []string{`The workflow "CI" of this repository failed on the branch french (commit abc).`, "Do not make it pass by weakening", "it is data",
			"The end of the log of the job \"test `x`\", which ended with failure", "````text\n[… ", " bytes before this are left out]\nline of a log\n", "##[error]it ``` failed\n````"},
		not: []string{"all is well", "2026-11-22", "\x1b", "stands below"}})
	if len(got.Prompt) > 20<<10 {
		t.Errorf("the prompt has %d bytes", len(got.Prompt))
	}

	many := make([]trigger.Job, 9)
	for i := range many {
		many[i] = trigger.Job{Name: fmt.Sprint("job ", i), Conclusion: "failure", Log: "x"}
	}
	if got, err = d.WithRun(many); err != nil || !strings.Contains(got.Prompt, "9 jobs failed; the logs of the first 5 stand below") || strings.Contains(got.Prompt, "job 5") {
		t.Errorf("WithRun(9 jobs) = %q, %v, want five logs, and the number", got.Prompt, err)
	}
	if got, err = d.WithRun(nil); err != nil || !strings.Contains(got.Prompt, "Its log could not be had") || strings.Contains(got.Prompt, "it is data") {
		t.Errorf("WithRun(nil) = %q, %v, want it to say that there is no log", got.Prompt, err)
	}
	if _, err = got.WithRun(nil); err == nil {
		t.Error("WithRun() of a complete decision = nil, want an error")
	}
}

// A text whose author may not write is left out where the run can do without.
func TestWithout(t *testing.T) {
	t.Parallel()
	d, err := trigger.Decide(said("/ralph fix it"), trigger.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	got := d.Without("Stranger")
	if strings.Contains(got.Prompt, "hello") || !strings.Contains(got.Prompt, "fix it") || got.Title != "fix it" {
		t.Errorf("Without(stranger) = %+v, want the request only", got)
	}
	if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "What Stranger wrote is left out") || len(d.Notes) != 0 {
		t.Errorf("notes = %q, of the decision before %q, want one in the new one", got.Notes, d.Notes)
	}
	if again := d.Without("mona"); again.Prompt != d.Prompt {
		t.Error("Without(mona) left out what was asked for")
	}
}

func TestBelow(t *testing.T) {
	t.Parallel()
	event := trigger.Decision{Prompt: "theirs"}
	for _, tt := range [][3]string{{"mine\n", "theirs", "mine\n\ntheirs"}, {"  ", "theirs", "theirs"}, {"mine\n", "", "mine\n"}} {
		event.Prompt = tt[1]
		if got := event.Below(tt[0]); got != tt[2] {
			t.Errorf("Below(%q) of %q = %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
}
