package ralph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// relay is an agent behind which another one stands.
type relay struct {
	first, second *script
	over          bool
}

func (r *relay) Run(ctx context.Context, p ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	if r.over {
		return r.second.Run(ctx, p, emit)
	}
	turn, err := r.first.Run(ctx, p, emit)
	turn.Session = "first"
	return turn, err
}

func (r *relay) takeOver(f *ralph.Failure) (string, bool) {
	if r.over {
		return "", false
	}
	r.over = true
	return "the second takes over: " + f.Kind.String(), true
}

func TestTakeOver(t *testing.T) {
	crash := &ralph.Failure{Kind: ralph.FailureCrash, Message: "exit 1"}
	limit := &ralph.Failure{Kind: ralph.FailureQuota, RetryAt: time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)}
	good := []step{{say: promise, tools: 1}}
	for _, tc := range []struct {
		name          string
		first, second []step
		policy        func(*ralph.Policy)
		want          ralph.Outcome
		iterations    int
		asked         string // first, second
		took          time.Duration
	}{
		{"at its usage limit, without waiting for the reset", []step{{fail: limit}}, good, nil, ralph.Completed, 1, "1 1", 0},
		{"after its retries", []step{{fail: crash}}, good, nil, ralph.Completed, 1, "4 1", 7 * time.Second},
		{"at once where a failure ends the run", []step{{fail: crash}}, good, func(p *ralph.Policy) { p.OnAgentError = ralph.FailOnError }, ralph.Completed, 1, "1 1", 0},
		{"after iterations that all failed", []step{{fail: crash}}, good, func(p *ralph.Policy) { p.OnAgentError = ralph.ContinueOnError; p.MaxRetries = 2 }, ralph.Completed, 3, "3 1", 0},
		{"after restarts that all failed", []step{{fail: crash}}, good, func(p *ralph.Policy) { p.OnAgentError = ralph.RestartOnError; p.MaxRetries = 1 }, ralph.Completed, 2, "2 1", 0},
		{"with retries of its own", []step{{fail: limit}}, []step{{fail: crash}, {fail: crash}, {say: promise, tools: 1}}, nil, ralph.Completed, 1, "1 3", 3 * time.Second},
		{"and fails for good", []step{{fail: limit}}, []step{{fail: crash}}, nil, ralph.AgentFailed, 1, "1 4", 7 * time.Second},
		{"and meets its own limit", []step{{fail: limit}}, []step{{fail: limit}, {say: promise, tools: 1}}, nil, ralph.Completed, 1, "1 2", time.Hour},
		{"not for a wrong key", []step{{fail: &ralph.Failure{Kind: ralph.FailureAuth}}}, good, nil, ralph.Invalid, 1, "1 0", 0},
		{"not for a spent budget", []step{{fail: &ralph.Failure{Kind: ralph.FailureBudget}}}, good, nil, ralph.OverBudget, 1, "1 0", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &relay{first: &script{steps: tc.first}, second: &script{steps: tc.second}}
				l := loop(a.first, nil)
				l.Agent, l.TakeOver, l.Policy.Resume = a, a.takeOver, true
				var notices []string
				l.Emit = func(e ralph.Event) {
					if e.Kind == ralph.EventNotice {
						notices = append(notices, e.Text)
					}
				}
				if tc.policy != nil {
					tc.policy(&l.Policy)
				}
				began := time.Now()
				r := l.Run(t.Context(), nil)
				asked := fmt.Sprint(len(a.first.asked), len(a.second.asked))
				if r.Outcome != tc.want || len(r.Iterations) != tc.iterations || asked != tc.asked || time.Since(began) != tc.took {
					t.Errorf("Run = %s (%s), %d iterations, asked %s, %v; want %s, %d, %s, %v", r.Outcome, r.Reason, len(r.Iterations), asked, time.Since(began), tc.want, tc.iterations, tc.asked, tc.took)
				}
				if a.over != (len(notices) == 1 && strings.HasPrefix(notices[0], "the second takes over: ")) {
					t.Errorf("notices %q", notices)
				}
				if len(a.second.asked) > 0 && a.second.asked[0].Resume != "" {
					t.Errorf("the second was to go on in session %q of the first", a.second.asked[0].Resume)
				}
			})
		})
	}
}

func TestUsageLimit(t *testing.T) {
	at := func(d time.Duration) *ralph.Failure {
		return &ralph.Failure{Kind: ralph.FailureQuota, Message: "limit", RetryAt: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(d)}
	}
	for _, tc := range []struct {
		name   string
		fail   *ralph.Failure
		policy func(*ralph.Policy)
		until  time.Duration
		want   ralph.Outcome
		took   time.Duration
	}{
		{"is waited for without a deadline, too", at(2 * time.Hour), nil, 0, ralph.Completed, 2 * time.Hour},
		{"is not waited for longer than quota-wait", at(2 * time.Hour), func(p *ralph.Policy) { p.QuotaWait = time.Hour }, 0, ralph.Quota, 0},
		{"is not waited for at all", at(time.Minute), func(p *ralph.Policy) { p.QuotaWait = 0 }, 0, ralph.Quota, 0},
		{"beyond the deadline", at(2 * time.Hour), nil, time.Hour, ralph.Quota, 0},
		{"is waited for by a supervisor", at(time.Hour), func(p *ralph.Policy) { p.OnAgentError = ralph.RestartOnError }, 0, ralph.Completed, time.Hour},
		{"is waited for where a failure ends the run", at(time.Hour), func(p *ralph.Policy) { p.OnAgentError = ralph.FailOnError }, 0, ralph.Completed, time.Hour},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &script{steps: []step{{fail: tc.fail}, {say: promise, tools: 1}}}
				l := loop(a, nil)
				if tc.policy != nil {
					tc.policy(&l.Policy)
				}
				if tc.until > 0 {
					l.Budget.Until = time.Now().Add(tc.until)
				}
				told := ""
				l.Emit = func(e ralph.Event) {
					if e.Kind == ralph.EventRetry {
						told = e.Text
					}
				}
				began := time.Now()
				r := l.Run(t.Context(), nil)
				if r.Outcome != tc.want || time.Since(began) != tc.took || len(r.Iterations) != 1 {
					t.Errorf("Run = %s (%s) after %v in %d iterations, want %s after %v in one", r.Outcome, r.Reason, time.Since(began), len(r.Iterations), tc.want, tc.took)
				}
				reset := tc.fail.RetryAt.Format(time.RFC3339)
				if text := told + r.Reason; !strings.Contains(text, "the limit resets at "+reset) {
					t.Errorf("neither the log nor the reason says when the limit resets: %q", text)
				}
				if want := map[ralph.Outcome]int{ralph.Completed: 1, ralph.Quota: 0}[r.Outcome]; r.Rounds() != want {
					t.Errorf("%d iterations are counted, want %d: a usage limit is none", r.Rounds(), want)
				}
			})
		})
	}
}

// greedy shows what it uses while it works, and works until it is ended.
type greedy struct {
	usage []ralph.Usage
}

func (g *greedy) Run(ctx context.Context, p ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	var last ralph.Usage
	for _, u := range g.usage {
		last = u
		emit(ralph.Event{Kind: ralph.EventUsage, Usage: &u})
		if ctx.Err() != nil {
			return ralph.Turn{Usage: u, Tools: 1, CountsTools: true, Failure: &ralph.Failure{Kind: ralph.FailureCancelled}}, nil
		}
	}
	emit(ralph.Event{Kind: ralph.EventText, Text: promise})
	return ralph.Turn{Usage: last, Tools: 1, CountsTools: true}, nil
}

func TestBudgetWithinTheIteration(t *testing.T) {
	t.Parallel()
	cost := func(dollars float64) ralph.Usage {
		return ralph.Usage{Cost: ralph.Cost{Amount: ralph.FromUSD(dollars)}}
	}
	tokens := func(n int64) ralph.Usage { return ralph.Usage{Tokens: ralph.Tokens{Input: n}} }
	for _, tc := range []struct {
		name   string
		budget ralph.Budget
		usage  []ralph.Usage
		want   ralph.Outcome
		reason string
	}{
		{"cost", ralph.Budget{Cost: ralph.USD}, []ralph.Usage{cost(0.5), cost(1.5), cost(9)}, ralph.OverBudget, "max-cost-usd $1.00 was passed ($1.50) while the agent worked, so it was ended"},
		{"tokens", ralph.Budget{Tokens: 100}, []ralph.Usage{tokens(50), tokens(101), tokens(900)}, ralph.OverBudget, "max-tokens 100 was passed (101) while the agent worked"},
		{"reached and not passed", ralph.Budget{Cost: ralph.USD}, []ralph.Usage{cost(1)}, ralph.Completed, "1 iteration"},
		{"none", ralph.Budget{}, []ralph.Usage{cost(1000)}, ralph.Completed, "1 iteration"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := &tree{edits: 1}
			l := loop(nil, w)
			l.Agent, l.Budget = &greedy{usage: tc.usage}, tc.budget
			r := l.Run(t.Context(), nil)
			if r.Outcome != tc.want || !strings.Contains(r.Reason, tc.reason) {
				t.Errorf("Run = %s: %s; want %s: %s", r.Outcome, r.Reason, tc.want, tc.reason)
			}
			if len(w.checkpoints) != 1 {
				t.Errorf("%d checkpoints, want what was done until then to be saved", len(w.checkpoints))
			}
		})
	}
}

func TestJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &script{steps: []step{{fail: &ralph.Failure{Kind: ralph.FailureAPI}}, {fail: &ralph.Failure{Kind: ralph.FailureAPI}}, {say: promise, tools: 1}}}
		l := loop(a, nil)
		l.Jitter = func(d time.Duration) time.Duration { return d / 4 }
		began := time.Now()
		if r := l.Run(t.Context(), nil); r.Outcome != ralph.Completed || time.Since(began) != 3750*time.Millisecond {
			t.Errorf("Run = %s after %v, want completed after 1 s and 2 s and a quarter of each", r.Outcome, time.Since(began))
		}
	})
}
