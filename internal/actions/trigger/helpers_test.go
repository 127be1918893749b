package trigger_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/actions/trigger"
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
		e.Comment = &trigger.Comment{Body: body, Author: mona}
	}}, changes...)...)
}

// pulled is pull request 7 of mona's.
func pulled(name, action string, changes ...func(*trigger.Event)) trigger.Event {
	return event(name, action, append([]func(*trigger.Event){func(e *trigger.Event) {
		e.PullRequest = &trigger.PullRequest{Number: 7, Title: "Greet in French", Body: "Add salut.", Author: mona, State: "open",
			HeadRef: "french", HeadRepository: "octo/hello", BaseRef: "main"}
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
