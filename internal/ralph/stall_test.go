package ralph_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

// What guardrails change is no evidence that an agent worked.
func TestGuardrailsAreNoEvidence(t *testing.T) {
	t.Parallel()
	w := &tree{}
	a := &script{steps: []step{{say: promise}, {say: promise}, {say: promise}}}
	l := loop(a, w, rail{"generates", func(int) bool { w.edits++; return true }})
	l.Policy.MaxIterations = 3
	if r := l.Run(t.Context(), nil); r.Outcome != ralph.MaxIterations || r.Iterations[len(r.Iterations)-1].Rejection != ralph.RejectedNoWork {
		t.Errorf("outcome = %s after %d iterations, want no work found in 3", r.Outcome, len(r.Iterations))
	}
	a = &script{steps: []step{{say: promise, edit: func() { w.edits++ }}}}
	l.Agent = a
	if r := l.Run(t.Context(), nil); r.Outcome != ralph.Completed {
		t.Errorf("outcome = %s (%s) with a change of the agent's, want completed", r.Outcome, r.Reason)
	}
}

// content is a workspace that holds a text.
type content struct{ text, junk string }

func (w *content) Snapshot(context.Context) (ralph.Change, error) {
	return ralph.Change{Head: "h", Tree: w.text + w.junk, Work: "work " + w.text, SinceStart: w.text != ""}, nil
}

func (w *content) Checkpoint(context.Context, ralph.Iteration) (ralph.Commit, error) {
	return ralph.Commit{}, nil
}

func (w *content) PushCheckpoint(_ context.Context, c ralph.Commit) ralph.Commit { return c }

// A formatter, a timestamp or a cache keeps no run going in which nothing moves.
func TestStallAmongRewrites(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agent, guardrail func(w *content, n int)
	}{
		"formatter": {func(w *content, _ int) { w.text = "a  b" }, func(w *content, _ int) { w.text = "a b" }},
		"timestamp": {func(*content, int) {}, func(w *content, n int) { w.text = fmt.Sprint(n) }},
		"cache":     {func(w *content, n int) { w.junk = fmt.Sprint(n) }, func(*content, int) {}},
	} {
		w, n := &content{}, 0
		a := &script{}
		for range 10 {
			a.steps = append(a.steps, step{say: "more to do", tools: 1, edit: func() { n++; c.agent(w, n) }})
		}
		l := loop(a, nil, rail{"check", func(n int) bool { c.guardrail(w, n); return true }})
		l.Workspace, l.Policy.MaxIterations, l.Policy.StallLimit = w, 10, 2
		if r := l.Run(t.Context(), nil); r.Outcome != ralph.Stalled || len(r.Iterations) > 3 {
			t.Errorf("%s: outcome = %s after %d iterations, want stalled after 3 at most", name, r.Outcome, len(r.Iterations))
		}
	}
}
