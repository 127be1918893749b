package scm_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/scm"
)

// writer is an agent that changes a file and says that it is done; asked for a
// commit message, it gives one.
type writer struct {
	place *workplace
	asked []string
}

func (w *writer) Run(_ context.Context, p ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	w.asked = append(w.asked, strings.TrimSpace(p.Text))
	text := "<response>DONE</response>"
	if strings.HasPrefix(p.Text, scm.Question) {
		text = "Repair the sum\n"
	} else {
		w.place.write("known.txt", strings.Repeat("x", len(w.asked)))
	}
	emit(ralph.Event{Kind: ralph.EventText, Text: text, Message: "m"})
	return ralph.Turn{Usage: ralph.Usage{Cost: ralph.Cost{Amount: 10}}}, nil
}

// fromSecond is a guardrail that fails in the first iteration.
type fromSecond struct{}

func (fromSecond) Name() string     { return "test" }
func (fromSecond) Rule() ralph.Rule { return ralph.Rule{} }
func (fromSecond) Check(_ context.Context, n int, _ <-chan struct{}) (ralph.Verdict, func()) {
	return ralph.Verdict{Command: "test", Passed: n >= 2, ExitCode: 2 - min(n, 2)}, func() {}
}

// 001-26, 001-28, 001-31: in a loop, the work is committed once the guardrails
// pass and not before.
func TestInALoop(t *testing.T) {
	t.Parallel()
	d := newWorkplace(t, "", "commit", "push")
	agent := &writer{place: d}
	loop := ralph.Loop{
		Agent: agent, Guardrails: []ralph.Guardrail{fromSecond{}}, SCM: scm.New(d.Options),
		Prompt: func(ralph.Ask) (ralph.Prompt, error) { return ralph.Prompt{Text: "work"}, nil },
		Policy: ralph.Policy{Completion: ralph.Completion{Kind: ralph.CompletionResponse, Token: "DONE"}, MaxIterations: 5, OnAgentError: ralph.ContinueOnError},
	}
	r := loop.Run(t.Context(), nil)
	if r.Outcome != ralph.Completed || len(r.Iterations) != 2 {
		t.Fatalf("Run() = %s after %d iterations: %s", r.Outcome, len(r.Iterations), r.Reason)
	}
	if want := []string{"work", "work", scm.Question}; !slices.Equal(agent.asked, want) {
		t.Errorf("the agent was asked %q, want %q", agent.asked, want)
	}
	if log := d.git("log", "--format=%s", "origin/main"); log != "Repair the sum\nstart\n" {
		t.Errorf("origin has %q, want one commit more", log)
	}
	if tasks := r.Iterations[0].Delivery.Tasks; len(tasks) > 0 {
		t.Errorf("iteration 1 ran %v in spite of its guardrail", tasks)
	}
	if u := r.Usage(); u.Cost.Amount != 30 {
		t.Errorf("cost = %d, want the question's in it", u.Cost.Amount)
	}
}

// A push that fails is told to the agent and makes the run a failure of git.
func TestAFailingTaskInALoop(t *testing.T) {
	t.Parallel()
	d := newWorkplace(t, "", "commit", "push")
	d.write(".git/hooks/pre-push", "#!/bin/sh\necho the branch is frozen >&2\nexit 7\n")
	var told []string
	loop := ralph.Loop{
		Agent: &writer{place: d}, SCM: scm.New(d.Options),
		Prompt: func(a ralph.Ask) (ralph.Prompt, error) {
			told = append(told, a.Undelivered)
			return ralph.Prompt{Text: "work"}, nil
		},
		Policy: ralph.Policy{Completion: ralph.Completion{Kind: ralph.CompletionResponse, Token: "DONE"}, MaxIterations: 2},
	}
	r := loop.Run(t.Context(), nil)
	if r.Outcome != ralph.GitFailed || r.Iterations[0].Rejection != ralph.RejectedSCM {
		t.Errorf("Run() = %s after a rejection %q: %s", r.Outcome, r.Iterations[0].Rejection, r.Reason)
	}
	if len(told) != 2 || !strings.HasPrefix(told[1], "git push: exit code 1: the branch is frozen\n") {
		t.Errorf("the agent was told %q", told)
	}
}

// Finished work is not left lying because the budget was spent on it: nobody is
// asked, and the commit says which iteration it is of.
func TestSpentBudgetStillCommits(t *testing.T) {
	t.Parallel()
	d := newWorkplace(t, "", "commit", "push")
	agent := &writer{place: d}
	loop := ralph.Loop{
		Agent: agent, SCM: scm.New(d.Options), Budget: ralph.Budget{Cost: 10},
		Prompt: func(ralph.Ask) (ralph.Prompt, error) { return ralph.Prompt{Text: "work"}, nil },
		Policy: ralph.Policy{Completion: ralph.Completion{Kind: ralph.CompletionResponse, Token: "DONE"}, MaxIterations: 5},
	}
	if r := loop.Run(t.Context(), nil); r.Outcome != ralph.Completed || len(agent.asked) != 1 {
		t.Errorf("Run() = %s (%s), asked %q; want completed, and the work asked for only", r.Outcome, r.Reason, agent.asked)
	}
	if log := d.git("log", "--format=%s", "origin/main"); log != "ralph: iteration 1\nstart\n" {
		t.Errorf("origin has %q, want the work", log)
	}
}
