package ralph_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// held is a tree in which something is found while found says so.
type held struct {
	tree
	looks int
	found func(look int) []ralph.Finding
}

func (w *held) Snapshot(ctx context.Context) (ralph.Change, error) {
	c, err := w.tree.Snapshot(ctx)
	w.looks++
	c.Findings = w.found(w.looks)
	return c, err
}

func leak() []ralph.Finding {
	return []ralph.Finding{
		{Kind: ralph.FindingSecret, Severity: ralph.Block, Path: "a.go", Line: 3, Rule: "github-pat", Text: "a GitHub token"},
		{Kind: ralph.FindingTests, Severity: ralph.Flag, Path: "a_test.go", Text: "a test was skipped"},
	}
}

func TestWithheldWorkIsFedBack(t *testing.T) {
	t.Parallel()
	w := &held{}
	taken := false
	w.found = func(int) []ralph.Finding {
		if taken {
			return leak()[1:]
		}
		return leak()
	}
	a := &script{steps: []step{
		{say: promise, tools: 1, edit: func() { w.edits++ }},
		{say: promise, tools: 1, edit: func() { w.edits++; taken = true }},
	}}
	l := loop(a, nil)
	l.Workspace = w
	r := l.Run(t.Context(), nil)
	if r.Outcome != ralph.Completed || len(r.Iterations) != 2 {
		t.Fatalf("outcome = %s (%s) after %d iterations, want completed after 2", r.Outcome, r.Reason, len(r.Iterations))
	}
	if first := r.Iterations[0]; first.Commit.SHA != "" || first.Rejection != ralph.RejectedGuardrails || len(first.Verdicts) != 1 {
		t.Errorf("the first iteration: commit %q, rejection %q, %d verdicts; want nothing committed, and one verdict", first.Commit.SHA, first.Rejection, len(first.Verdicts))
	}
	if got := prompts(a)[1]; !strings.Contains(got, "a.go:3: a GitHub token") || strings.Contains(got, "skipped") {
		t.Errorf("the second prompt = %q, want what blocks and nothing else", got)
	}
	if len(w.checkpoints) != 1 || len(r.Findings) != 1 || r.Findings[0].Severity != ralph.Flag {
		t.Errorf("%d checkpoints, findings %v; want one, and what is left to say", len(w.checkpoints), r.Findings)
	}
}

func TestWithheldWorkBlocks(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]ralph.Policy{
		"each": {Checkpoint: true}, "end": {CheckpointAtEnd: true},
	} {
		w := &held{found: func(int) []ralph.Finding { return leak() }}
		a := &script{steps: []step{{say: promise, tools: 1, edit: func() { w.edits++ }}}}
		l := loop(a, nil)
		l.Workspace = w
		l.Policy.Checkpoint, l.Policy.CheckpointAtEnd = policy.Checkpoint, policy.CheckpointAtEnd
		r := l.Run(t.Context(), nil)
		if r.Outcome != ralph.Blocked || !strings.Contains(r.Reason, "a.go:3: a GitHub token") || len(w.checkpoints) != 0 {
			t.Errorf("%s: %s (%s), %d checkpoints; want blocked, the place, and none", name, r.Outcome, r.Reason, len(w.checkpoints))
		}
	}
}

// What the guardrails write is looked at, too, after the iteration was judged.
func TestGuardrailsCannotSneak(t *testing.T) {
	t.Parallel()
	w := &held{}
	w.found = func(look int) []ralph.Finding {
		if look == 2 { // after the guardrails of the first iteration
			return leak()
		}
		return nil
	}
	a := &script{steps: []step{{say: promise, tools: 1, edit: func() { w.edits++ }}}}
	l := loop(a, nil, rail{"fmt", func(int) bool { return true }})
	l.Workspace = w
	r := l.Run(t.Context(), nil)
	if r.Outcome != ralph.Completed || len(r.Iterations) != 2 || r.Iterations[0].Commit.SHA != "" {
		t.Errorf("%s after %d iterations, first commit %q; want a second iteration, and nothing committed in the first", r.Outcome, len(r.Iterations), r.Iterations[0].Commit.SHA)
	}
}

func TestWithheldDoesNotHideFailure(t *testing.T) {
	t.Parallel()
	w := &held{found: func(int) []ralph.Finding { return leak() }}
	a := &script{steps: []step{{fail: &ralph.Failure{Kind: ralph.FailureRequest, Message: "no"}, takes: time.Millisecond}}}
	l := loop(a, nil)
	l.Workspace = w
	r := l.Run(t.Context(), nil)
	if r.Outcome != ralph.AgentFailed || !strings.Contains(r.Reason, "may not be published") {
		t.Errorf("%s (%s), want agent-failed, with what is withheld", r.Outcome, r.Reason)
	}
}

// sessions is an agent whose turns tell their session.
type sessions struct{ *script }

func (s sessions) Run(ctx context.Context, p ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	turn, err := s.script.Run(ctx, p, emit)
	turn.Session = "one"
	return turn, err
}

// The agent is told what is left out of what is published: each fresh session all of
// it, one that goes on once. People are told once, and nothing is held up.
func TestLeftOutIsToldAndHoldsNothingUp(t *testing.T) {
	t.Parallel()
	for _, resume := range []bool{false, true} {
		w := &held{}
		out := []ralph.Finding{{Kind: ralph.FindingProtected, Severity: ralph.LeftOut, Path: "CODEOWNERS", Text: "changed"}}
		w.found = func(int) []ralph.Finding { return out }
		edit := func() { w.edits++ }
		a := &script{steps: []step{{say: "a", tools: 1, edit: edit}, {say: "b", tools: 1, edit: edit}, {say: promise, tools: 1, edit: edit}}}
		var told []int
		warnings := 0
		l := loop(a, nil)
		l.Agent, l.Workspace, l.Policy.Resume = sessions{a}, w, resume
		build := l.Prompt
		l.Prompt = func(ask ralph.Ask) (ralph.Prompt, error) {
			told = append(told, len(ask.LeftOut))
			return build(ask)
		}
		l.Emit = func(e ralph.Event) {
			if e.Kind == ralph.EventWarning && strings.Contains(e.Text, "CODEOWNERS") {
				warnings++
			}
		}
		r := l.Run(t.Context(), nil)
		want := []int{0, 1, 1}
		if resume {
			want = []int{0, 1, 0}
		}
		if !slices.Equal(told, want) || warnings != 1 {
			t.Errorf("resume %t: told in prompts %v, warned %d times; want %v, once", resume, told, warnings, want)
		}
		if r.Outcome != ralph.Completed || len(w.checkpoints) != 3 || len(r.Findings) != 1 {
			t.Errorf("resume %t: %s, %d checkpoints, findings %v; want completed, three, one", resume, r.Outcome, len(w.checkpoints), r.Findings)
		}
	}
}
