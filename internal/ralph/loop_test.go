package ralph_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// script is an agent that plays one step per turn; the last step repeats.
type script struct {
	steps []step
	asked []ralph.Prompt
}

type step struct {
	say   string
	echo  string // text that is not the agent's own
	tools int
	cost  ralph.MicroUSD
	fail  *ralph.Failure
	err   error
	takes time.Duration
	edit  func()
}

func (s *script) Run(ctx context.Context, p ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	do := s.steps[min(len(s.asked), len(s.steps)-1)]
	s.asked = append(s.asked, p)
	if do.err != nil {
		return ralph.Turn{}, do.err
	}
	if do.edit != nil {
		do.edit()
	}
	emit(ralph.Event{Kind: ralph.EventText, Text: do.echo, Echo: true})
	emit(ralph.Event{Kind: ralph.EventText, Text: do.say})
	turn := ralph.Turn{Tools: do.tools, CountsTools: true, Failure: do.fail, Usage: ralph.Usage{Cost: ralph.Cost{Amount: do.cost}, Tokens: ralph.Tokens{Output: int64(do.cost)}}}
	select {
	case <-ctx.Done():
		turn.Failure = &ralph.Failure{Kind: ralph.FailureCancelled}
	case <-time.After(do.takes):
	}
	return turn, nil
}

// tree is a workspace whose content is a counter.
type tree struct {
	edits       int
	committed   int
	checkpoints []ralph.Iteration
	snapshotErr error
	commitErr   error
	head        string // "" is "h"
	formats     bool   // the next guardrail changes a file
}

func (w *tree) Snapshot(ctx context.Context) (ralph.Change, error) {
	if err := errors.Join(ctx.Err(), w.snapshotErr); err != nil {
		return ralph.Change{}, err
	}
	return ralph.Change{Head: cmp.Or(w.head, "h"), Tree: fmt.Sprint(w.edits), Files: w.edits - w.committed, SinceStart: w.edits > 0}, nil
}

func (w *tree) Checkpoint(ctx context.Context, it ralph.Iteration) (ralph.Commit, error) {
	if err := errors.Join(ctx.Err(), w.commitErr); err != nil {
		return ralph.Commit{}, err
	}
	if w.edits == w.committed {
		return ralph.Commit{}, nil
	}
	w.committed = w.edits
	w.checkpoints = append(w.checkpoints, it)
	return ralph.Commit{SHA: fmt.Sprint("c", w.edits), Pushed: true}, nil
}

func (w *tree) PushCheckpoint(_ context.Context, c ralph.Commit) ralph.Commit { return c }

// rail passes when ok says so.
type rail struct {
	name string
	ok   func(iteration int) bool
}

func (g rail) Name() string     { return g.name }
func (g rail) Rule() ralph.Rule { return ralph.Rule{} }
func (g rail) Check(_ context.Context, n int, _ <-chan struct{}) (ralph.Verdict, func()) {
	if g.ok(n) {
		return ralph.Verdict{Command: g.name, Passed: true}, func() {}
	}
	return ralph.Verdict{Command: g.name, ExitCode: 1, Message: g.name + " failed", Digest: g.name}, func() {}
}

const promise = "<promise>COMPLETE</promise>"

func loop(agent *script, w *tree, rails ...ralph.Guardrail) *ralph.Loop {
	l := &ralph.Loop{
		Agent: agent, Guardrails: rails,
		Prompt: func(a ralph.Ask) (ralph.Prompt, error) {
			var b strings.Builder
			fmt.Fprintf(&b, "%d/%d %s", a.Iteration, a.Max, a.Rejection)
			for _, v := range a.Failed {
				fmt.Fprintf(&b, " [%s]", v.Message)
			}
			return ralph.Prompt{Text: b.String()}, nil
		},
		Policy: ralph.Policy{
			Completion:    ralph.Completion{Kind: ralph.CompletionPromise, Token: "COMPLETE"},
			MaxIterations: 5, MinToolCalls: 1, OnAgentError: ralph.RetryOnError, MaxRetries: 3, RetryDelay: time.Second, QuotaWait: 24 * time.Hour, Checkpoint: true,
		},
	}
	if w != nil {
		l.Workspace = w
	}
	return l
}

func prompts(a *script) (texts []string) {
	for _, p := range a.asked {
		texts = append(texts, p.Text)
	}
	return texts
}

func TestGuardrailDecidesBeforeThePromise(t *testing.T) { // 001-26
	t.Parallel()
	w := &tree{}
	a := &script{steps: []step{{say: promise, tools: 1, edit: func() { w.edits++ }}}}
	r := loop(a, w, rail{"test", func(n int) bool { return n == 2 }}, rail{"lint", func(n int) bool { return n == 2 }}).Run(t.Context(), nil)
	if r.Outcome != ralph.Completed || len(r.Iterations) != 2 {
		t.Fatalf("outcome = %s (%s) after %d iterations, want completed after 2", r.Outcome, r.Reason, len(r.Iterations))
	}
	want := []string{"1/5 ", "2/5 guardrails-failed [test failed] [lint failed]"}
	if got := prompts(a); !slices.Equal(got, want) {
		t.Errorf("prompts = %q, want %q", got, want)
	}
	if len(w.checkpoints) != 2 {
		t.Errorf("%d checkpoints, want one per changed iteration", len(w.checkpoints))
	}
}

func TestOutcomes(t *testing.T) {
	pass := rail{"test", func(int) bool { return true }}
	red := rail{"test", func(int) bool { return false }}
	reset := func(d time.Duration) time.Time { return time.Now().Add(d) }
	for _, tc := range []struct {
		name       string
		setup      func() (*ralph.Loop, *script, *tree)
		want       ralph.Outcome
		iterations int
		turns      int
		reason     string
	}{
		{"marker in the last allowed iteration counts", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{say: "no", tools: 1}, {say: promise, tools: 1}}}
			l := loop(a, &tree{})
			l.Policy.MaxIterations = 2
			return l, a, nil
		}, ralph.Completed, 2, 2, "2 iterations"},
		{"max iterations", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{say: "no", tools: 1}}}
			return loop(a, &tree{}), a, nil
		}, ralph.MaxIterations, 5, 5, "not done"},
		{"echoed prompt is no promise", func() (*ralph.Loop, *script, *tree) { // 000-27
			a := &script{steps: []step{{echo: promise, tools: 1}}}
			return loop(a, &tree{}), a, nil
		}, ralph.MaxIterations, 5, 5, ""},
		{"promise without work is refused", func() (*ralph.Loop, *script, *tree) { // 004-07
			a := &script{steps: []step{{say: promise}}}
			return loop(a, &tree{}, pass), a, nil
		}, ralph.MaxIterations, 5, 5, ""},
		{"a diff is work", func() (*ralph.Loop, *script, *tree) { // 004-08
			w := &tree{}
			a := &script{steps: []step{{say: promise, edit: func() { w.edits++ }}}}
			return loop(a, w), a, w
		}, ralph.Completed, 1, 1, ""},
		{"work of an earlier iteration is work", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{tools: 3}, {say: promise}}}
			return loop(a, &tree{}), a, nil
		}, ralph.Completed, 2, 2, ""},
		{"retries, then agent-failed", func() (*ralph.Loop, *script, *tree) { // 000-32, 000-38
			a := &script{steps: []step{{fail: &ralph.Failure{Kind: ralph.FailureCrash, Message: "exit 7"}}}}
			return loop(a, &tree{}), a, nil
		}, ralph.AgentFailed, 1, 4, "4 times in one iteration: crash: exit 7"},
		{"a retry that works", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{fail: &ralph.Failure{Kind: ralph.FailureTimeout}}, {say: promise, tools: 1}}}
			return loop(a, &tree{}), a, nil
		}, ralph.Completed, 1, 2, ""},
		{"carry on", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{fail: &ralph.Failure{Kind: ralph.FailureCrash}}, {say: promise, tools: 1}}}
			l := loop(a, &tree{})
			l.Policy.OnAgentError = ralph.ContinueOnError
			return l, a, nil
		}, ralph.Completed, 2, 2, ""},
		{"a marker in a failed turn does not count", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{say: promise, tools: 1, fail: &ralph.Failure{Kind: ralph.FailureCrash}}}}
			l := loop(a, &tree{})
			l.Policy.OnAgentError = ralph.ContinueOnError
			return l, a, nil
		}, ralph.MaxIterations, 5, 5, ""},
		{"a wrong key is fatal at once", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{fail: &ralph.Failure{Kind: ralph.FailureAuth, Message: "401"}}}}
			return loop(a, &tree{}), a, nil
		}, ralph.Invalid, 1, 1, "authentication: 401"},
		{"an agent that cannot start is invalid", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{err: errors.New("claude: not found")}}}
			return loop(a, &tree{}), a, nil
		}, ralph.Invalid, 0, 0, "claude: not found"},
		{"usage limit without a reset", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{fail: &ralph.Failure{Kind: ralph.FailureQuota, Message: "limit"}}}}
			return loop(a, &tree{}), a, nil
		}, ralph.Quota, 1, 1, "quota: limit"},
		{"usage limit that resets in time is waited for", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{fail: &ralph.Failure{Kind: ralph.FailureQuota, RetryAt: reset(time.Hour)}}, {say: promise, tools: 1}}}
			l := loop(a, &tree{})
			l.Budget.Until = reset(2 * time.Hour)
			return l, a, nil
		}, ralph.Completed, 1, 2, ""},
		{"usage limit that resets too late", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{fail: &ralph.Failure{Kind: ralph.FailureQuota, RetryAt: reset(3 * time.Hour)}}}}
			l := loop(a, &tree{})
			l.Budget.Until = reset(2 * time.Hour)
			return l, a, nil
		}, ralph.Quota, 1, 1, "resets at"},
		{"usage limit whose reset has passed is not asked for in a hurry", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{fail: &ralph.Failure{Kind: ralph.FailureQuota, RetryAt: reset(-time.Hour)}}}}
			l := loop(a, &tree{})
			l.Policy.RetryDelay = 2 * time.Second
			l.Budget.Until = reset(10 * time.Minute)
			return l, a, nil
		}, ralph.Quota, 1, 6, ""},
		{"cost budget", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{cost: 600_000, tools: 1}}}
			l := loop(a, &tree{})
			l.Budget.Cost = ralph.USD
			return l, a, nil
		}, ralph.OverBudget, 2, 2, "$1.20 spent; max-cost-usd is $1.00"},
		{"cost budget counts retries", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{cost: 600_000, fail: &ralph.Failure{Kind: ralph.FailureCrash}}}}
			l := loop(a, &tree{})
			l.Budget.Cost = ralph.USD
			return l, a, nil
		}, ralph.OverBudget, 1, 2, ""},
		{"token budget", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{cost: 10, tools: 1}}}
			l := loop(a, &tree{})
			l.Budget.Tokens = 25
			return l, a, nil
		}, ralph.OverBudget, 3, 3, "30 tokens used; max-tokens is 25"},
		{"deadline in a turn", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{takes: time.Hour, tools: 1}}}
			l := loop(a, &tree{})
			l.Budget.Until = reset(90 * time.Minute)
			return l, a, nil
		}, ralph.Deadline, 2, 2, "max-duration"},
		{"stalled: nothing changes", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{say: "hm", tools: 1}}}
			l := loop(a, &tree{})
			l.Policy.StallLimit = 3
			return l, a, nil
		}, ralph.Stalled, 3, 3, "no file or commit changed"},
		{"stalled: the same failure", func() (*ralph.Loop, *script, *tree) {
			w := &tree{}
			a := &script{steps: []step{{tools: 1, edit: func() { w.edits++ }}}}
			l := loop(a, w, red)
			l.Policy.StallLimit = 2
			return l, a, w
		}, ralph.Stalled, 2, 2, "same guardrails"},
		{"not stalled while the tree changes", func() (*ralph.Loop, *script, *tree) {
			w := &tree{}
			a := &script{steps: []step{{tools: 1, edit: func() { w.edits++ }}}}
			l := loop(a, w, pass)
			l.Policy.StallLimit = 2
			return l, a, w
		}, ralph.MaxIterations, 5, 5, ""},
		{"a tree that cannot be committed blocks completion", func() (*ralph.Loop, *script, *tree) {
			w := &tree{snapshotErr: errors.New("unmerged index")}
			a := &script{steps: []step{{say: promise, tools: 1}}}
			return loop(a, w), a, w
		}, ralph.GitFailed, 5, 5, "unmerged index"},
		{"a commit that fails at the end is no success", func() (*ralph.Loop, *script, *tree) {
			w := &tree{commitErr: errors.New("disk full")}
			a := &script{steps: []step{{say: promise, tools: 1}}}
			return loop(a, w), a, w
		}, ralph.GitFailed, 1, 1, "disk full"},
		{"a prompt that cannot be built", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{}}}
			l := loop(a, &tree{})
			l.Prompt = func(ralph.Ask) (ralph.Prompt, error) { return ralph.Prompt{}, errors.New("prompt.md: gone") }
			return l, a, nil
		}, ralph.Invalid, 0, 0, "prompt.md: gone"},
		{"prompt too long is not tried again and again", func() (*ralph.Loop, *script, *tree) {
			a := &script{steps: []step{{fail: &ralph.Failure{Kind: ralph.FailureRequest}}}}
			l := loop(a, &tree{})
			l.Policy.MaxRetries = 1
			return l, a, nil
		}, ralph.AgentFailed, 2, 2, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, a, _ := tc.setup()
				r := l.Run(t.Context(), nil)
				if r.Outcome != tc.want || len(r.Iterations) != tc.iterations || len(a.asked) < tc.turns {
					t.Errorf("outcome = %s (%s), %d iterations, %d turns; want %s, %d, %d", r.Outcome, r.Reason, len(r.Iterations), len(a.asked), tc.want, tc.iterations, tc.turns)
				}
				if !strings.Contains(r.Reason, tc.reason) {
					t.Errorf("reason = %q, want %q in it", r.Reason, tc.reason)
				}
			})
		})
	}
}

func TestCancelledRunSavesItsWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &tree{}
		a := &script{steps: []step{{takes: time.Hour, tools: 1, edit: func() { w.edits++ }}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ctx, stop := context.WithCancel(ctx)
		time.AfterFunc(time.Second, stop)
		r := loop(a, w, rail{"test", func(int) bool { t.Error("a guardrail ran after the cancellation"); return true }}).Run(ctx, nil)
		if r.Outcome != ralph.Interrupted || len(w.checkpoints) != 1 {
			t.Errorf("outcome = %s with %d checkpoints, want interrupted with 1", r.Outcome, len(w.checkpoints))
		}
		if d := r.Duration; d > 2*time.Second {
			t.Errorf("took %s after the cancellation", d)
		}
	})
}

func TestUnknownCostStaysUnknown(t *testing.T) {
	t.Parallel()
	known, unknown := ralph.Cost{Amount: 1_200_000}, ralph.Cost{Unknown: true}
	for cost, want := range map[ralph.Cost]string{
		known: "$1.20", unknown: "unknown", known.Add(unknown): "≥ $1.20", {}: "$0.00", {Amount: 1234}: "$0.0012",
	} {
		if got := cost.String(); got != want {
			t.Errorf("%+v.String() = %q, want %q", cost, got, want)
		}
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for o, want := range map[ralph.Outcome][2]int{
		ralph.Completed: {0, 0}, ralph.Waiting: {0, 0}, ralph.MaxIterations: {1, 0}, ralph.OverBudget: {1, 0}, ralph.Deadline: {1, 0},
		ralph.Stalled: {1, 0}, ralph.Blocked: {1, 1}, ralph.Quota: {1, 1}, ralph.Invalid: {2, 2}, ralph.PlanMissing: {2, 2},
		ralph.PromptInvalid: {1, 1}, ralph.AgentFailed: {4, 4}, ralph.GitFailed: {5, 5}, ralph.Interrupted: {130, 130}, ralph.Skipped: {0, 0},
	} {
		if got := [2]int{o.ExitCode(false), o.ExitCode(true)}; got != want {
			t.Errorf("%s.ExitCode(false, true) = %v, want %v", o, got, want)
		}
	}
}
