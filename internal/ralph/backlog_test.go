package ralph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// backlog is a list that says what it is told to: one settlement for each
// iteration, the last one repeats.
type backlog struct {
	settled []ralph.Settlement
	begin   error
	settle  error
	done    bool // at the start

	unsaid string

	calls []string
	n     int
}

func (b *backlog) Begin(iteration, _ int) (ralph.Step, error) {
	b.n = iteration
	b.calls = append(b.calls, fmt.Sprint("begin ", iteration))
	done := b.done || iteration > 1 && b.settled[min(iteration-2, len(b.settled)-1)].Done
	return ralph.Step{Mode: "review", Story: "US-001", Done: done}, b.begin
}

func (b *backlog) Settle(it ralph.Iteration) (ralph.Settlement, error) {
	b.calls = append(b.calls, fmt.Sprintf("settle %d after %d guardrails", it.Number, len(it.Verdicts)))
	return b.settled[min(b.n-1, len(b.settled)-1)], b.settle
}

func (b *backlog) Unsaid(it ralph.Iteration) string {
	if it.Asked != nil {
		b.calls = append(b.calls, "asked twice")
	}
	return b.unsaid
}

func (b *backlog) Again() error {
	b.calls = append(b.calls, fmt.Sprint("again ", b.n))
	return nil
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	crash := &ralph.Failure{Kind: ralph.FailureCrash, Message: "boom"}
	var left, done, stuck, illegal = ralph.Settlement{Left: 1}, ralph.Settlement{Done: true}, ralph.Settlement{Left: 1, Stuck: true}, ralph.Settlement{Left: 1, Problems: []string{"not allowed"}}
	for _, tc := range []struct {
		name    string
		backlog backlog
		steps   []step
		rail    func(int) bool
		outcome ralph.Outcome
		reason  string
		last    ralph.Rejection
		asked   int
	}{
		{"the list alone is enough", backlog{settled: []ralph.Settlement{left, done}}, []step{{say: "hm"}}, nil, // 003-10
			ralph.Completed, "the work was done in 2 iterations", ralph.NotRejected, 2},
		{"the promise alone is not", backlog{settled: []ralph.Settlement{left}}, []step{{say: promise, tools: 9}}, nil, // 003-11
			ralph.MaxIterations, "max-iterations 5", ralph.RejectedStoriesLeft, 5},
		{"nor with a guardrail that fails", backlog{settled: []ralph.Settlement{done}}, []step{{say: promise}}, func(n int) bool { return n == 3 },
			ralph.Completed, "3 iterations", ralph.NotRejected, 3},
		{"done before the first iteration", backlog{done: true, settled: []ralph.Settlement{done}}, []step{{say: "x"}}, nil,
			ralph.Completed, "every story is already done", "", 0},
		{"done, and then the agent failed", backlog{settled: []ralph.Settlement{done}}, []step{{fail: &ralph.Failure{Kind: ralph.FailureRequest}}}, nil,
			ralph.Completed, "the work was done in 1 iteration", ralph.RejectedTurn, 1},
		{"what was put back is no completion", backlog{settled: []ralph.Settlement{illegal}}, []step{{say: promise}}, nil, // 003-20
			ralph.MaxIterations, "", ralph.RejectedTransition, 5},
		{"verdicts that do not count end the run", backlog{settled: []ralph.Settlement{left, stuck}}, []step{{say: "x"}}, nil,
			ralph.Stalled, "3 iterations in a row came to no verdict that counts; the story to review was US-001", ralph.RejectedStuck, 4},
		{"in a row only", backlog{settled: []ralph.Settlement{stuck, stuck, left, stuck, left}}, []step{{say: "x"}}, nil,
			ralph.MaxIterations, "", ralph.RejectedStoriesLeft, 5},
		{"a list that cannot be used", backlog{begin: &ralph.Refusal{Outcome: ralph.Stalled, Err: errors.New("no story is ready")}, settled: []ralph.Settlement{left}}, []step{{say: "x"}}, nil,
			ralph.Stalled, "no story is ready", "", 0},
		{"a list that cannot be put back", backlog{settle: errors.New("read-only"), settled: []ralph.Settlement{left}}, []step{{say: "x"}}, nil,
			ralph.Invalid, "read-only", ralph.RejectedStoriesLeft, 1},
		{"an agent that fails for good", backlog{settled: []ralph.Settlement{left}}, []step{{fail: crash}}, nil,
			ralph.AgentFailed, "boom", ralph.RejectedTurn, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := &script{steps: tc.steps}
			var rails []ralph.Guardrail
			if tc.rail != nil {
				rails = []ralph.Guardrail{rail{"test", tc.rail}}
			}
			l := loop(a, nil, rails...)
			l.Backlog, l.Policy.RetryDelay = &tc.backlog, 0
			r := l.Run(t.Context(), nil)
			if r.Outcome != tc.outcome || !strings.Contains(r.Reason, tc.reason) || len(a.asked) != tc.asked {
				t.Errorf("Run = %s (%s) after %d turns, want %s (%s) after %d", r.Outcome, r.Reason, len(a.asked), tc.outcome, tc.reason, tc.asked)
			}
			if n := len(r.Iterations); n > 0 && r.Iterations[n-1].Rejection != tc.last {
				t.Errorf("last rejection = %q, want %q", r.Iterations[n-1].Rejection, tc.last)
			}
		})
	}
}

// The list is looked at after the turn and after the guardrails, and put back
// before a turn is tried again. 003-14
func TestBacklogIsSettled(t *testing.T) {
	t.Parallel()
	b := &backlog{settled: []ralph.Settlement{{Done: true}}}
	a := &script{steps: []step{{fail: &ralph.Failure{Kind: ralph.FailureEmpty}}, {say: promise}}}
	l := loop(a, &tree{}, rail{"test", func(int) bool { return true }})
	l.Backlog, l.Policy.RetryDelay = b, 0
	r := l.Run(t.Context(), nil)
	want := []string{"begin 1", "again 1", "settle 1 after 0 guardrails", "settle 1 after 1 guardrails"}
	if r.Outcome != ralph.Completed || !slices.Equal(b.calls, want) {
		t.Errorf("%s, calls %q; want completed and %q", r.Outcome, b.calls, want)
	}
}

// talk is an agent with sessions: each turn has the id of the one it goes on in,
// or a new one.
type talk struct {
	turns   []ralph.Turn
	resumed []string
}

func (a *talk) Run(_ context.Context, p ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	turn := a.turns[min(len(a.resumed), len(a.turns)-1)]
	a.resumed = append(a.resumed, p.Resume)
	for range turn.Kept {
		emit(ralph.Event{Kind: ralph.EventText, Text: promise}) // refused, and not remembered
		emit(ralph.Event{Kind: ralph.EventKept, Text: "go on"})
	}
	emit(ralph.Event{Kind: ralph.EventText, Text: turn.FinalText})
	turn.CountsTools = true
	return turn, nil
}

// A verdict that was left unsaid is asked for once, in a new session: what the
// agent ran could have written to the file of the old one.
func TestUnsaidIsAskedInANewSession(t *testing.T) {
	t.Parallel()
	for _, resume := range []bool{false, true} {
		a := &talk{turns: []ralph.Turn{{Session: "a", FinalText: "hm"}, {Session: "b", FinalText: "approved"}}}
		l := loop(nil, nil)
		l.Agent, l.Policy.Resume = a, resume
		l.Backlog = &backlog{unsaid: "decide", settled: []ralph.Settlement{{Done: true}}}
		r := l.Run(t.Context(), nil)
		if len(r.Iterations) != 1 || r.Iterations[0].Asked == nil || r.Iterations[0].Asked.FinalText != "approved" || !slices.Equal(a.resumed, []string{"", ""}) {
			t.Errorf("Resume %v: %d iterations, resumed %q; want one, asked once in a new session", resume, len(r.Iterations), a.resumed)
		}
	}
}

// Sessions go on, also over a provider's error; one that cannot be gone on with
// gives way to a new one. Rounds that a stop hook began count. 004-05, 004-13
func TestSessions(t *testing.T) {
	t.Parallel()
	failure := func(kind ralph.FailureKind) *ralph.Failure { return &ralph.Failure{Kind: kind} }
	for _, tc := range []struct {
		name    string
		turns   []ralph.Turn
		resumed []string
		numbers []int
		outcome ralph.Outcome
		reason  string
	}{
		{"one session", []ralph.Turn{{Session: "a", FinalText: "one"}, {Session: "a", FinalText: promise, Tools: 1}},
			[]string{"", "a"}, []int{1, 2}, ralph.Completed, "2 iterations"},
		{"an error of the provider", []ralph.Turn{{Session: "a", FinalText: "one"}, {Failure: failure(ralph.FailureAPI)}, {Session: "a", FinalText: promise, Tools: 1}},
			[]string{"", "a", "a"}, []int{1, 2}, ralph.Completed, ""},
		{"a session that is gone", []ralph.Turn{{Session: "a", FinalText: "one"}, {Failure: failure(ralph.FailureCrash)}, {Session: "b", FinalText: promise, Tools: 1}},
			[]string{"", "a", ""}, []int{1, 2, 3}, ralph.Completed, ""},
		{"rounds of a stop hook", []ralph.Turn{{Session: "a", FinalText: "no", Kept: 2, Tools: 1}, {Session: "a", FinalText: promise}},
			[]string{"", "a"}, []int{1, 4}, ralph.Completed, "4 iterations"},
		{"as many as are allowed", []ralph.Turn{{Session: "a", FinalText: "no", Kept: 4, Tools: 1}},
			[]string{""}, []int{1}, ralph.MaxIterations, "max-iterations 5"},
		{"a promise that was refused", []ralph.Turn{{Session: "a", FinalText: "no", Kept: 1, Tools: 1}, {Session: "a", FinalText: "still no"}},
			[]string{"", "a", "a", "a"}, []int{1, 3, 4, 5}, ralph.MaxIterations, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := &talk{turns: tc.turns}
			l := loop(nil, nil)
			l.Agent, l.Policy.Resume, l.Policy.OnAgentError, l.Policy.RetryDelay = a, true, ralph.ContinueOnError, time.Nanosecond
			r := l.Run(t.Context(), nil)
			var numbers []int
			for _, it := range r.Iterations {
				numbers = append(numbers, it.Number)
			}
			if r.Outcome != tc.outcome || !strings.Contains(r.Reason, tc.reason) || !slices.Equal(a.resumed, tc.resumed) || !slices.Equal(numbers, tc.numbers) {
				t.Errorf("Run = %s (%s), resumed %q, iterations %v; want %s (%s), %q, %v", r.Outcome, r.Reason, a.resumed, numbers, tc.outcome, tc.reason, tc.resumed, tc.numbers)
			}
		})
	}
}

// A change of the tree outweighs no count of tool calls, where only calls are
// evidence. 004-07, 004-08
func TestCallsOnly(t *testing.T) {
	t.Parallel()
	for callsOnly, want := range map[bool]ralph.Outcome{false: ralph.Completed, true: ralph.MaxIterations} {
		w := &tree{}
		l := loop(&script{steps: []step{{say: promise, edit: func() { w.edits++ }}}}, w)
		l.Policy.CallsOnly = callsOnly
		if r := l.Run(t.Context(), nil); r.Outcome != want {
			t.Errorf("CallsOnly %v: %s, want %s", callsOnly, r.Outcome, want)
		}
	}
}

// A turn that left its verdict unsaid is asked for it, and that is told.
func TestAskingForTheVerdictIsTold(t *testing.T) {
	t.Parallel()
	l := loop(&script{steps: []step{{say: "looks good"}, {say: "approved"}}}, &tree{})
	l.Backlog = &backlog{unsaid: "Which?", settled: []ralph.Settlement{{Done: true}}}
	var notices []string
	l.Emit = func(e ralph.Event) {
		if e.Kind == ralph.EventNotice {
			notices = append(notices, e.Text)
		}
	}
	l.Run(t.Context(), nil)
	if want := "The reviewer gave no verdict; ralph asks once more."; len(notices) != 1 || notices[0] != want {
		t.Errorf("notices = %q, want %q", notices, want)
	}
}
