package ralph_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// box is a task folder.
type box struct {
	done      func(turns int) bool
	waits     bool
	err       error
	turns     int
	withdrawn int
	stuck     error // the mark cannot be taken back
}

func (b *box) Done() (bool, error) { return b.done != nil && b.done(b.turns), b.err }

func (b *box) Withdraw() error {
	b.withdrawn++
	b.done = nil
	return b.stuck
}

func (b *box) Waiting(ralph.Turn) (string, bool) { return "a person", b.waits }

// supervised is the loop of seed 002.
func supervised(a *script, b *box, rails ...ralph.Guardrail) *ralph.Loop {
	l := loop(a, nil, rails...)
	for i := range a.steps {
		edit := a.steps[i].edit
		a.steps[i].edit = func() {
			b.turns++
			if edit != nil {
				edit()
			}
		}
	}
	l.Mailbox = b
	l.Policy = ralph.Policy{
		Completion: ralph.Completion{Kind: ralph.CompletionDoneFile}, MaxIterations: 100,
		OnAgentError: ralph.RestartOnError, Delay: time.Second,
	}
	return l
}

func TestSupervise(t *testing.T) {
	crash := &ralph.Failure{Kind: ralph.FailureCrash, Message: "exit 1"}
	red := rail{"test", func(int) bool { return false }}
	greenFrom := func(n int) rail { return rail{"test", func(i int) bool { return i >= n }} }
	after := func(n int) func(int) bool { return func(turns int) bool { return turns >= n } }
	for _, tc := range []struct {
		name       string
		steps      []step
		box        *box
		rails      []ralph.Guardrail
		max        int
		want       ralph.Outcome
		iterations int
		took       time.Duration
		reason     string
	}{
		{"done before the first run", []step{{}}, &box{done: after(0)}, nil, 100, ralph.Completed, 0, 0, "before the first"},                        // 002-05
		{"immediate success", []step{{}}, &box{done: after(1)}, nil, 100, ralph.Completed, 1, 0, "1 iteration"},                                     // 002-07
		{"exit 0 is no stop", []step{{}}, &box{done: after(3)}, nil, 100, ralph.Completed, 3, 2 * time.Second, ""},                                  // 002-02, 002-11
		{"eventual success whatever the exit code", []step{{fail: crash}}, &box{done: after(4)}, nil, 100, ralph.Completed, 4, 3 * time.Second, ""}, // 002-10
		{"a wrong key restarts, too", []step{{fail: &ralph.Failure{Kind: ralph.FailureAuth}}}, &box{done: after(2)}, nil, 100, ralph.Completed, 2, time.Second, ""},
		{"max restarts", []step{{fail: crash}}, &box{}, nil, 7, ralph.MaxIterations, 7, 6 * time.Second, "max restarts exceeded: the task is not marked as done after 7 of 7"}, // 002-09
		{"waiting", []step{{fail: crash}}, &box{waits: true}, nil, 100, ralph.Waiting, 1, 0, "a person"},                                                                       // 002-16
		{"done wins over waiting", []step{{}}, &box{waits: true, done: after(1)}, nil, 100, ralph.Completed, 1, 0, ""},
		{"a folder in its place", []step{{}}, &box{err: errors.New("DONE is a directory")}, nil, 100, ralph.Invalid, 0, 0, "DONE is a directory"}, // 002-06
		{"fatal", []step{{err: errors.New("not found")}}, &box{}, nil, 100, ralph.Invalid, 0, 0, "not found"},                                     // 002-18
		{"guardrails do not agree", []step{{}, {}}, &box{done: after(1)}, []ralph.Guardrail{red}, 3, ralph.MaxIterations, 3, 2 * time.Second, ""},
		{"guardrails agree later", []step{{}}, &box{done: after(2)}, []ralph.Guardrail{greenFrom(2)}, 100, ralph.Completed, 2, time.Second, ""},
		{"a mark that stays", []step{{}}, &box{done: after(1), stuck: errors.New("read-only")}, []ralph.Guardrail{red}, 100, ralph.Invalid, 1, 0, "read-only"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := supervised(&script{steps: tc.steps}, tc.box, tc.rails...)
				l.Policy.MaxIterations = tc.max
				r := l.Run(t.Context(), nil)
				if r.Outcome != tc.want || len(r.Iterations) != tc.iterations || !strings.Contains(r.Reason, tc.reason) {
					t.Errorf("Run() = %s (%s) after %d iterations, want %s (%s) after %d", r.Outcome, r.Reason, len(r.Iterations), tc.want, tc.reason, tc.iterations)
				}
				if r.Duration != tc.took {
					t.Errorf("it took %v, want %v", r.Duration, tc.took)
				}
			})
		})
	}
}

// Marks count with every policy, and nothing is tried again after one.
func TestMarksEndRetries(t *testing.T) {
	crash := &ralph.Failure{Kind: ralph.FailureCrash}
	for _, tc := range []struct {
		name   string
		kind   ralph.CompletionKind
		step   step
		box    *box
		want   ralph.Outcome
		reason string
	}{
		{"done and a crash", ralph.CompletionDoneFile, step{fail: crash}, &box{done: func(n int) bool { return n > 0 }}, ralph.Completed, ""},
		{"waiting and a crash", ralph.CompletionDoneFile, step{fail: crash}, &box{waits: true}, ralph.Waiting, "a person"},
		{"waiting where a promise is asked for", ralph.CompletionPromise, step{say: "later", fail: crash}, &box{waits: true}, ralph.Waiting, "a person"},
		{"a promise beats waiting", ralph.CompletionPromise, step{say: promise}, &box{waits: true}, ralph.Completed, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &script{steps: []step{tc.step}}
				l := supervised(a, tc.box)
				l.Policy.Completion = ralph.Completion{Kind: tc.kind, Token: "COMPLETE"}
				l.Policy.OnAgentError, l.Policy.MaxRetries, l.Policy.RetryDelay = ralph.RetryOnError, 3, time.Second
				r := l.Run(t.Context(), nil)
				if r.Outcome != tc.want || !strings.Contains(r.Reason, tc.reason) || len(a.asked) != 1 {
					t.Errorf("Run() = %s (%s) after %d turns, want %s after 1", r.Outcome, r.Reason, len(a.asked), tc.want)
				}
			})
		})
	}
}

// A mark that lies there before a turn is judged by guardrails that run then.
func TestMarkBeforeATurnIsJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lies := true
		b := &box{done: func(int) bool { return lies }}
		red := rail{"test", func(int) bool { return false }}
		l := supervised(&script{steps: []step{{edit: func() { lies = false }}}}, b, red)
		l.Policy.MaxIterations = 2
		if r := l.Run(t.Context(), nil); r.Outcome != ralph.MaxIterations || b.withdrawn != 1 {
			t.Errorf("Run() = %s (%s), withdrawn %d times; want max-iterations and 1", r.Outcome, r.Reason, b.withdrawn)
		}
	})
}

// A delivery is due to an iteration that its mark completes.
func TestMarkedIterationIsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scm := &tasks{fail: []error{nil}}
		l := supervised(&script{steps: []step{{fail: &ralph.Failure{Kind: ralph.FailureCrash}}, {say: "message"}}}, &box{done: func(n int) bool { return n > 0 }})
		l.SCM = scm
		if r := l.Run(t.Context(), nil); r.Outcome != ralph.Completed || scm.calls != 1 {
			t.Errorf("Run() = %s (%s), %d deliveries; want completed and 1", r.Outcome, r.Reason, scm.calls)
		}
	})
}

// What was red before the first run does not agree with a mark that lies there.
func TestRedBaselineWithdrawsTheMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &box{done: func(int) bool { return true }}
		l := supervised(&script{steps: []step{{edit: func() {}}}}, b, rail{"test", func(n int) bool { return n > 0 }})
		l.Policy.MaxIterations = 1
		r := l.Run(t.Context(), l.Baseline(t.Context()))
		if b.withdrawn != 1 || len(r.Iterations) != 1 {
			t.Errorf("withdrawn %d times, %d iterations; want 1 and 1", b.withdrawn, len(r.Iterations))
		}
	})
}

func TestDelayEndsWithTheContext(t *testing.T) { // 002-11, 002-19
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		l := supervised(&script{steps: []step{{}}}, &box{})
		l.Policy.Delay = time.Minute
		start := time.Now()
		r := l.Run(ctx, nil)
		if r.Outcome != ralph.Interrupted || len(r.Iterations) != 2 || time.Since(start) != 90*time.Second {
			t.Errorf("Run() = %s after %d iterations and %v, want interrupted after 2 and 1m30s", r.Outcome, len(r.Iterations), time.Since(start))
		}
	})
}

// A stop lets the running operation finish and starts no other. 001-33
func TestStop(t *testing.T) {
	for _, tc := range []struct {
		name     string
		at       time.Duration
		turns    int
		verdicts int
		took     time.Duration
	}{
		{"while the agent works", 30 * time.Second, 1, 0, time.Minute},
		{"while a guardrail runs", 70 * time.Second, 1, 1, 80 * time.Second},
		{"between two iterations", 105 * time.Second, 1, 2, 105 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := rail{"slow", func(int) bool { time.Sleep(20 * time.Second); return true }}
				a := &script{steps: []step{{say: "no", takes: time.Minute, tools: 1}}}
				l := loop(a, nil, slow, slow)
				l.Policy.Delay = time.Minute
				stop := make(chan struct{})
				l.Stop = stop
				time.AfterFunc(tc.at, func() { close(stop) })
				start := time.Now()
				r := l.Run(t.Context(), nil)
				if r.Outcome != ralph.Interrupted || len(a.asked) != tc.turns || len(r.Iterations[0].Verdicts) != tc.verdicts || time.Since(start) != tc.took {
					t.Errorf("Run() = %s after %d turns, %d verdicts and %v, want interrupted after %d, %d and %v",
						r.Outcome, len(a.asked), len(r.Iterations[0].Verdicts), time.Since(start), tc.turns, tc.verdicts, tc.took)
				}
				if got := r.Iterations[0].Rejection; got == ralph.NotRejected {
					t.Error("the iteration is recorded as done")
				}
				if r.Iterations[0].Last().Failure != nil {
					t.Errorf("the turn was ended: %v", r.Iterations[0].Last().Failure)
				}
			})
		})
	}
}

// A promise whose guardrails a stop left out completes nothing.
func TestStopNeverCompletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loop(&script{steps: []step{{say: promise, takes: time.Minute, tools: 1}}}, nil, rail{"test", func(int) bool { return false }})
		stop := make(chan struct{})
		l.Stop = stop
		time.AfterFunc(time.Second, func() { close(stop) })
		if r := l.Run(t.Context(), nil); r.Outcome != ralph.Interrupted || r.Iterations[0].Rejection != ralph.RejectedStopped {
			t.Errorf("Run() = %s, iteration %s; want interrupted and stopped", r.Outcome, r.Iterations[0].Rejection)
		}
	})
}

// tasks is the team's own commit command.
type tasks struct {
	fail      []error // one per call; the last repeats
	calls     int
	delivered []string
}

func (s *tasks) Deliver(_ context.Context, it ralph.Iteration, ask func(string) (string, error), emit func(ralph.Event)) (ralph.Delivery, error) {
	message, err := ask("message?")
	if err != nil {
		return ralph.Delivery{}, err
	}
	err = s.fail[min(s.calls, len(s.fail)-1)]
	s.calls++
	if err == nil {
		s.delivered = append(s.delivered, message)
	}
	return ralph.Delivery{Message: message}, err
}

func TestDelivery(t *testing.T) {
	t.Parallel()
	hook := errors.New("git commit: exit code 1: lint first")
	for _, tc := range []struct {
		name  string
		steps []step
		fail  []error
		red   bool
		want  ralph.Outcome
		calls int
		asked string // part of the last prompt
	}{
		{"delivered before it counts", []step{{say: promise, tools: 1}, {say: "Add a greeting"}}, []error{nil}, false, ralph.Completed, 1, "message?"}, // 001-28
		{"not while guardrails fail", []step{{say: promise, tools: 1}}, []error{nil}, true, ralph.MaxIterations, 0, "guardrails-failed"},               // 001-31
		{"the agent hears of a failure and mends it", []step{{say: promise, tools: 1}}, []error{hook, nil}, false, ralph.Completed, 2, "message?"},
		{"what is never delivered is no success", []step{{say: promise, tools: 1}}, []error{hook}, false, ralph.GitFailed, 5, "message?"},
		{"an agent that cannot answer", []step{{say: "no", tools: 1}, {fail: &ralph.Failure{Kind: ralph.FailureEmpty}}}, []error{nil}, false, ralph.GitFailed, 0, ""}, // 001-29
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a, scm := &script{steps: tc.steps}, &tasks{fail: tc.fail}
			l := loop(a, nil, rail{"test", func(int) bool { return !tc.red }})
			l.SCM, l.Policy.RetryDelay = scm, 0
			var heard []string
			build := l.Prompt
			l.Prompt = func(ask ralph.Ask) (ralph.Prompt, error) {
				heard = append(heard, ask.Undelivered)
				return build(ask)
			}
			r := l.Run(t.Context(), nil)
			if r.Outcome != tc.want || scm.calls != tc.calls {
				t.Errorf("Run() = %s (%s), %d deliveries; want %s, %d", r.Outcome, r.Reason, scm.calls, tc.want, tc.calls)
			}
			if last := a.asked[len(a.asked)-1].Text; !strings.Contains(last, tc.asked) {
				t.Errorf("last prompt = %q, want %q in it", last, tc.asked)
			}
			if tc.fail[0] != nil && (len(heard) < 2 || heard[1] != hook.Error()) {
				t.Errorf("the agent heard %q, want why the commit failed", heard)
			}
			for _, it := range r.Iterations {
				if it.Delivery.Turn != nil && it.Usage().Tokens.Total() < it.Delivery.Turn.Usage.Tokens.Total() {
					t.Errorf("iteration %d does not count the turn for the message", it.Number)
				}
			}
		})
	}
}

// The turn for the message is paid from the same budget.
func TestDeliveryIsPaid(t *testing.T) {
	t.Parallel()
	a, scm := &script{steps: []step{{say: "no", tools: 1, cost: 600_000}}}, &tasks{fail: []error{nil}}
	l := loop(a, nil)
	l.SCM, l.Budget = scm, ralph.Budget{Cost: 1_000_000}
	r := l.Run(t.Context(), nil)
	if r.Outcome != ralph.OverBudget || r.Usage().Cost.Amount != 1_200_000 || len(a.asked) != 2 {
		t.Errorf("Run() = %s, %s, %d turns; want budget, $1.20, 2 turns", r.Outcome, r.Usage().Cost, len(a.asked))
	}
}

// A prompt that cannot be built decides the outcome. 000-11
func TestRefusal(t *testing.T) {
	t.Parallel()
	l := loop(&script{steps: []step{{}}}, nil)
	l.Prompt = func(ralph.Ask) (ralph.Prompt, error) {
		return ralph.Prompt{}, &ralph.Refusal{Outcome: ralph.PlanMissing, Err: errors.New("no plan")}
	}
	if r := l.Run(t.Context(), nil); r.Outcome != ralph.PlanMissing || r.Reason != "no plan" || len(r.Iterations) != 0 {
		t.Errorf("Run() = %s (%s), want plan-missing", r.Outcome, r.Reason)
	}
}

// With one commit at the end there is one, whatever the outcome.
func TestCheckpointAtEnd(t *testing.T) {
	t.Parallel()
	w := &tree{}
	l := loop(&script{steps: []step{{say: "no", tools: 1, edit: func() { w.edits++ }}}}, w)
	l.Policy.Checkpoint, l.Policy.CheckpointAtEnd, l.Policy.MaxIterations = false, true, 3
	r := l.Run(t.Context(), nil)
	if len(w.checkpoints) != 1 || w.checkpoints[0].Number != 3 || r.Iterations[2].Commit.SHA == "" || r.Iterations[0].Commit.SHA != "" {
		t.Errorf("%d checkpoints, want one of iteration 3, recorded there", len(w.checkpoints))
	}
}
