package ralph_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// checks answers as the forge's checks do, once per completed iteration.
func checks(answers ...ralph.Verdict) func(context.Context, ralph.Iteration) ([]ralph.Verdict, *ralph.Refusal) {
	return func(context.Context, ralph.Iteration) ([]ralph.Verdict, *ralph.Refusal) {
		v := answers[0]
		answers = answers[1:]
		return []ralph.Verdict{v}, nil
	}
}

func TestChecksHaveTheLastWord(t *testing.T) {
	t.Parallel()
	red, green := ralph.Verdict{Command: "ci", Message: "ci failed", Digest: "ci"}, ralph.Verdict{Command: "ci", Passed: true}
	for _, tc := range []struct {
		name    string
		answers []ralph.Verdict
		atEnd   bool
		max     int
		outcome ralph.Outcome
		prompts []string
		commits int
	}{
		{"green at once", []ralph.Verdict{green}, false, 5, ralph.Completed, []string{"1/5 "}, 1},
		{"red, then green", []ralph.Verdict{red, green}, false, 5, ralph.Completed, []string{"1/5 ", "2/5 checks-failed [ci failed]"}, 2},
		{"one commit at the end is pushed before", []ralph.Verdict{red, green}, true, 5, ralph.Completed, []string{"1/5 ", "2/5 checks-failed [ci failed]"}, 2},
		{"red in the last iteration", []ralph.Verdict{red, red}, false, 2, ralph.MaxIterations, []string{"1/2 ", "2/2 checks-failed [ci failed]"}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := &tree{}
			a := &script{steps: []step{{say: promise, tools: 1, edit: func() { w.edits++ }}}}
			l := loop(a, w)
			l.Policy.MaxIterations, l.Policy.Checkpoint, l.Policy.CheckpointAtEnd = tc.max, !tc.atEnd, tc.atEnd
			l.Accept = checks(tc.answers...)
			r := l.Run(t.Context(), nil)
			if r.Outcome != tc.outcome {
				t.Errorf("outcome = %s (%s), want %s", r.Outcome, r.Reason, tc.outcome)
			}
			if got := prompts(a); !slices.Equal(got, tc.prompts) {
				t.Errorf("prompts = %q, want %q", got, tc.prompts)
			}
			if len(w.checkpoints) != tc.commits {
				t.Errorf("%d commits, want %d", len(w.checkpoints), tc.commits)
			}
		})
	}
}

// Checks that do not end in time are no success, and no failure of the agent's.
func TestChecksThatDoNotEnd(t *testing.T) {
	t.Parallel()
	w := &tree{}
	l := loop(&script{steps: []step{{say: promise, tools: 1, edit: func() { w.edits++ }}}}, w)
	l.Accept = func(context.Context, ralph.Iteration) ([]ralph.Verdict, *ralph.Refusal) {
		return nil, &ralph.Refusal{Outcome: ralph.Deadline, Err: errors.New("the checks have not finished")}
	}
	if r := l.Run(t.Context(), nil); r.Outcome != ralph.Deadline || r.Reason != "the checks have not finished" || len(r.Iterations) != 1 {
		t.Errorf("%s: %s after %d iterations", r.Outcome, r.Reason, len(r.Iterations))
	}
}

// Work that is not committed is not judged by anybody's checks.
func TestNoChecksOfWhatIsNotCommitted(t *testing.T) {
	t.Parallel()
	w := &tree{commitErr: errors.New("disk full")}
	l := loop(&script{steps: []step{{say: promise, tools: 1, edit: func() { w.edits++ }}}}, w)
	l.Accept = func(context.Context, ralph.Iteration) ([]ralph.Verdict, *ralph.Refusal) {
		t.Error("the checks were asked")
		return nil, nil
	}
	if r := l.Run(t.Context(), nil); r.Outcome != ralph.GitFailed {
		t.Errorf("outcome = %s, want git-failed", r.Outcome)
	}
}

// What earlier runs on the branch spent counts.
func TestTotalBudget(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		budget ralph.Budget
		turns  int
		left   ralph.MicroUSD // told to the first turn
		reason string
	}{
		{"nothing left", ralph.Budget{Total: 10 * ralph.USD, Before: 10 * ralph.USD}, 0, 0, "$10.00 spent on this branch, $10.00 of it before this run; max-total-cost-usd is $10.00"},
		{"some left", ralph.Budget{Total: 10 * ralph.USD, Before: 7 * ralph.USD}, 2, 3 * ralph.USD, "$11.00 spent on this branch, $7.00 of it before this run; max-total-cost-usd is $10.00"},
		{"the run's own is less", ralph.Budget{Cost: ralph.USD, Total: 10 * ralph.USD, Before: 7 * ralph.USD}, 1, ralph.USD, "$2.00 spent; max-cost-usd is $1.00"},
		{"the first run", ralph.Budget{Total: 3 * ralph.USD}, 2, 3 * ralph.USD, "$4.00 spent on this branch; max-total-cost-usd is $3.00"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := &tree{}
			a := &script{steps: []step{{say: "not yet", tools: 1, cost: 2 * ralph.USD, edit: func() { w.edits++ }}}}
			l := loop(a, w)
			l.Budget = tc.budget
			r := l.Run(t.Context(), nil)
			if r.Outcome != ralph.OverBudget || r.Reason != tc.reason || len(a.asked) != tc.turns {
				t.Errorf("%s: %s after %d turns, want budget: %s after %d", r.Outcome, r.Reason, len(a.asked), tc.reason, tc.turns)
			}
			if tc.turns > 0 && a.asked[0].CostLeft != tc.left {
				t.Errorf("told of %s, want %s", a.asked[0].CostLeft, tc.left)
			}
		})
	}
}

// The agent is asked for a message where there is something to commit, and its
// answer is the commit's.
func TestAskedForTheMessage(t *testing.T) {
	t.Parallel()
	w := &tree{}
	a := &script{steps: []step{
		{say: "working", tools: 1, edit: func() { w.edits++ }, cost: ralph.USD},
		{say: "Teach the parser to count", cost: ralph.USD},
		{say: "looking around", tools: 1},
		{say: promise, tools: 1, edit: func() { w.edits++ }},
		{fail: &ralph.Failure{Kind: ralph.FailureAPI, Message: "overloaded"}},
	}}
	l := loop(a, w)
	l.Describe = &ralph.Describe{Question: "What changed?", Read: strings.TrimSpace}
	var notices []string
	l.Emit = func(e ralph.Event) {
		if e.Kind == ralph.EventNotice {
			notices = append(notices, e.Text)
		}
	}
	r := l.Run(t.Context(), nil)
	if r.Outcome != ralph.Completed || len(a.asked) != 5 || len(w.checkpoints) != 2 {
		t.Fatalf("%s: %s after %d turns and %d commits", r.Outcome, r.Reason, len(a.asked), len(w.checkpoints))
	}
	if got := w.checkpoints[0].Delivery.Message; got != "Teach the parser to count" {
		t.Errorf("message %q", got)
	}
	if got := w.checkpoints[0].Usage().Cost.Amount; got != 2*ralph.USD {
		t.Errorf("the iteration cost %s, want the question's turn included", got)
	}
	if w.checkpoints[1].Delivery.Message != "" || len(notices) != 1 || !strings.Contains(notices[0], "overloaded") {
		t.Errorf("message %q, notices %q", w.checkpoints[1].Delivery.Message, notices)
	}
}

// slowTree takes its time to commit.
type slowTree struct {
	tree
	commits func()
}

func (w *slowTree) Checkpoint(ctx context.Context, it ralph.Iteration) (ralph.Commit, error) {
	w.commits()
	return w.tree.Checkpoint(ctx, it)
}

// When the time is over, or somebody stops the run, after the push and before
// anybody looked at the checks, the run is not complete.
func TestChecksNobodyLookedAt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		until   time.Duration // 0: no end
		cancels bool
		outcome ralph.Outcome
	}{
		{"the time is over", time.Second, false, ralph.Deadline},
		{"cancelled", 0, true, ralph.Interrupted},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w := &slowTree{commits: func() {
					time.Sleep(2 * time.Second)
					if tc.cancels {
						cancel()
					}
				}}
				l := loop(&script{steps: []step{{say: promise, tools: 1, edit: func() { w.edits++ }}}}, nil)
				l.Workspace = w
				if tc.until > 0 {
					l.Budget.Until = time.Now().Add(tc.until)
				}
				l.Accept = func(context.Context, ralph.Iteration) ([]ralph.Verdict, *ralph.Refusal) {
					t.Error("the checks were asked")
					return nil, nil
				}
				if r := l.Run(ctx, nil); r.Outcome != tc.outcome {
					t.Errorf("outcome = %s (%s), want %s", r.Outcome, r.Reason, tc.outcome)
				}
			})
		})
	}
}

// A task that was done before anybody was asked is judged, too; nobody can mend it.
func TestChecksOfWhatWasDoneBefore(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		verdict ralph.Verdict
		outcome ralph.Outcome
	}{
		{"green", ralph.Verdict{Command: "ci", Passed: true}, ralph.Completed},
		{"red", ralph.Verdict{Command: "ci"}, ralph.Blocked},
	} {
		l := loop(&script{steps: []step{{say: "not asked"}}}, &tree{})
		l.Policy.Completion.Kind = ralph.CompletionDoneFile
		l.Mailbox = &box{done: func(int) bool { return true }}
		l.Accept = checks(tc.verdict)
		if r := l.Run(t.Context(), nil); r.Outcome != tc.outcome {
			t.Errorf("%s: outcome = %s (%s), want %s", tc.name, r.Outcome, r.Reason, tc.outcome)
		}
	}
}
