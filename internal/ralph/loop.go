package ralph

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Ask is what the next prompt is built from.
type Ask struct {
	Iteration int // 1-based
	Max       int // 0: no limit
	// Failed holds what the previous iteration's guardrails said, in order; in
	// the first iteration, what was already red on the untouched tree.
	Failed    []Verdict
	Untouched bool // Failed is the untouched tree's
	Rejection Rejection
	Failure   *Failure // of the previous iteration's last turn
	// Undelivered says why the previous iteration's SCM tasks failed; empty when
	// they did not. Foreign text.
	Undelivered string
	// Resume is the session of the agent to go on in; empty: a new one.
	Resume string
	// Step is what the iteration is for, Settled what became of the one before.
	// Verdicts is what every guardrail said last.
	Step     Step
	Settled  Settlement
	Verdicts []Verdict
	Claimed  bool // the previous iteration said that everything is done
	// Stray is the tag of the previous iteration that looks like a marker and does
	// not count. Foreign text, on one line.
	Stray string
	// LeftOut is what the last look at the work found not to be published; in a session
	// that goes on, what it was not told before.
	LeftOut []Finding
}

// Loop asks an agent again and again until the work is done or a limit is
// reached. Reaching a limit is an outcome, not an error.
type Loop struct {
	Agent      Agent
	Workspace  Workspace // nil: no snapshots are taken
	Guardrails []Guardrail
	Jobs       int     // how many guardrails may run side by side; 0: one
	SCM        SCM     // nil: nothing is delivered
	Mailbox    Mailbox // nil: the agent speaks by its words only
	Backlog    Backlog // nil: there is one task, and the agent says when it is done
	// Ready is asked before each iteration; its error ends the run as that of
	// Prompt does. nil: always.
	Ready func() error
	// Prompt builds an iteration's prompt, once for all its attempts. Its error ends the run: as a Refusal says,
	// else as invalid.
	Prompt func(Ask) (Prompt, error)
	Policy Policy
	Budget Budget
	// Emit is told everything that happens, from one goroutine at a time; nil
	// drops it.
	Emit func(Event)
	// TakeOver is asked before a failed turn ends the run or makes it wait for a
	// usage limit: true says that from now on another agent stands behind Agent,
	// and why is told to people. The iteration is tried again with it. nil: there is
	// no other.
	TakeOver func(f *Failure) (why string, ok bool)
	// Jitter spreads the wait before a retry, so that many runs that failed
	// together do not come back together. nil: none.
	Jitter func(time.Duration) time.Duration
	// Describe asks the agent for the message of each of our commits; nil: nobody is
	// asked.
	Describe *Describe
	// Accept has the last word on an iteration that completed the run, after its
	// work is committed and pushed: the forge's checks. Failed verdicts are the next
	// iteration's feedback; a Refusal ends the run. nil: what completed is accepted.
	Accept func(ctx context.Context, it Iteration) ([]Verdict, *Refusal)
	// Stop, once closed, ends the run as Interrupted as soon as the running turn,
	// guardrail or wait is over by itself. nil: never.
	Stop <-chan struct{}
}

// Refusal is an error that decides the outcome.
type Refusal struct {
	Outcome Outcome
	Err     error
}

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

// Baseline runs the guardrails before any change, so that what was already
// red is known. It spends no money.
func (l *Loop) Baseline(ctx context.Context) []Verdict { return l.check(ctx, 0, nil) }

// Check runs the guardrails on what an integration has put together; n counts its checks.
func (l *Loop) Check(ctx context.Context, n int) []Verdict { return l.check(ctx, n, nil) }

// Run loops until an outcome and returns what the loop knows of the report:
// outcome, reason, times and iterations. baseline is what Baseline returned;
// nil when it was not asked. When ctx ends, the running turn is ended, the
// work is saved and the outcome is Interrupted.
func (l *Loop) Run(ctx context.Context, baseline []Verdict) Report {
	r := run{Loop: l, baseline: baseline, noted: map[string]bool{}, told: map[string]bool{}}
	r.report.Started = time.Now()
	r.report.Baseline = baseline
	r.report.MaxIterations = l.Policy.MaxIterations
	r.report.Budget, r.report.Completion = l.Budget, l.Policy.Completion

	bounded, cancel := ctx, context.CancelFunc(func() {})
	if !l.Budget.Until.IsZero() {
		bounded, cancel = context.WithDeadline(ctx, l.Budget.Until)
	}
	defer cancel()
	end := r.loop(ctx, bounded)
	r.arrive()
	r.atEnd(ctx)
	end = r.lastWord(ctx, bounded, end)

	r.report.Outcome, r.report.Reason = end.outcome, end.reason
	// Whatever was claimed: work that is not committed is not done.
	if r.unsaved != nil {
		r.report.Reason = fmt.Sprintf("%s, but the work could not be committed: %v", r.report.Reason, r.unsaved)
		if end.outcome != Interrupted {
			r.report.Outcome = GitFailed
		}
	}
	if r.withheld != "" {
		r.report.Reason = fmt.Sprintf("%s; what is in the workspace may not be published: %s", r.report.Reason, r.withheld)
		if end.outcome.Row().Yields {
			r.report.Outcome = Blocked
		}
	}
	// SCM tasks leave the work in the workspace, which is still there locally.
	if r.undelivered != nil {
		r.report.Reason = fmt.Sprintf("%s; the SCM tasks failed: %v", r.report.Reason, r.undelivered)
		if end.outcome != Interrupted && end.outcome != Deadline {
			r.report.Outcome = GitFailed
		}
	}
	r.report.Duration = time.Since(r.report.Started)
	return r.report
}

// ending is an outcome with its reason.
type ending struct {
	outcome Outcome
	reason  string
}

// run is the state of one Run.
type run struct {
	*Loop
	report   Report
	baseline []Verdict
	usage    Usage
	tools    int      // tool calls since the start
	counts   bool     // the agent reports its tool calls
	changed  bool     // a turn has left HEAD or the work otherwise than it found them
	pushing  *pushing // nil: no push goes on
	unsaved  error    // the last snapshot or checkpoint failed
	// withheld says why the last snapshot may not be published; empty: it may.
	withheld string
	// undelivered is what the last SCM tasks failed with.
	undelivered error
	noted       map[string]bool // notes of snapshots, said to people
	told        map[string]bool // places of what was left out, said to people
	toldSession map[string]bool // and to the agent's session
	session     string          // of the agent, to go on in; empty: the next turn begins one
	marks       marks           // after the last turn
	judged      bool            // Accept was asked about the last iteration
	stray       string          // the last tag that was warned of
	stall       stall
	passes      passes
}

// loop returns the ending. ctx ends when somebody wants the run to stop,
// bounded also when its time is over.
func (r *run) loop(ctx, bounded context.Context) ending {
	limit := r.Policy.MaxIterations
	for n := 1; limit == 0 || n <= limit; n++ {
		if n > 1 {
			if _, over := r.over(ctx, bounded); !over {
				r.emit(Event{Kind: EventNext, Iteration: n, Max: limit, Wait: r.Policy.Delay})
			}
			r.sleep(bounded, r.Policy.Delay)
		}
		if end, over := r.over(ctx, bounded); over {
			return end
		}
		if end := r.alreadyDone(bounded); end != nil {
			return *end
		}
		step, end := r.begin(n)
		if end == nil {
			end = r.allDone(step)
		}
		if end != nil {
			return *end
		}
		if r.Ready != nil {
			if err := r.Ready(); err != nil {
				return *refused(err)
			}
		}
		r.emit(Event{Kind: EventIterationStart, Iteration: n, Max: limit, Step: step})
		it, end := r.iterate(ctx, bounded, n, step)
		n += it.Kept
		record := &it
		if len(it.Turns) > 0 {
			r.report.Iterations = append(r.report.Iterations, it)
			keepNewest(r.report.Iterations)
			r.forget()
		} else {
			record = nil // nobody was asked: no iteration happened
		}
		r.emit(Event{Kind: EventIterationEnd, Iteration: n, Max: limit, Record: record})
		if end != nil {
			return *end
		}
	}
	// A budget that was used up by the last iteration is no news any more.
	if r.byMail() {
		return ending{MaxIterations, fmt.Sprintf("max restarts exceeded: the task is not marked as done after %d of %d", limit, limit)}
	}
	return ending{MaxIterations, fmt.Sprintf("max-iterations %d is reached and the work is not done", limit)}
}

// lastWords is how many iterations keep what the agent said last.
const lastWords = 3

// forget lets go of the words of iterations long past: a run may have thousands.
func (r *run) forget() {
	if n := len(r.report.Iterations) - 1 - lastWords; n >= 0 {
		for i := range r.report.Iterations[n].Turns {
			r.report.Iterations[n].Turns[i].FinalText = ""
		}
		for _, turn := range []*Turn{r.report.Iterations[n].Asked, r.report.Iterations[n].Delivery.Turn} {
			if turn != nil {
				turn.FinalText = ""
			}
		}
	}
}

// over looks at the limits that hold between two iterations and two attempts.
func (r *run) over(ctx, bounded context.Context) (ending, bool) {
	b := r.Budget
	switch {
	case ctx.Err() != nil:
		return ending{Interrupted, "the run was cancelled"}, true
	case r.stopped():
		return ending{Interrupted, stopReason}, true
	case bounded.Err() != nil || (!b.Until.IsZero() && !time.Now().Before(b.Until)):
		return ending{Deadline, timeUsedUp}, true
	}
	if spent := b.spent(r.usage); spent != "" {
		return ending{OverBudget, spent}, true
	}
	return ending{}, false
}

const (
	stopReason = "the run was asked to stop"
	timeUsedUp = "the time of the run (max-duration) is used up"
)

// stopped says that Stop is closed.
func (l *Loop) stopped() bool {
	select {
	case <-l.Stop:
		return true
	default:
		return false
	}
}

// iterate runs one iteration: turn, guardrails, delivery, completion,
// checkpoint. An ending is returned when the run is over.
func (r *run) iterate(ctx, bounded context.Context, n int, step Step) (it Iteration, end *ending) {
	it = Iteration{Number: n, Started: time.Now(), Step: step}
	defer func() { it.Duration = time.Since(it.Started) }()

	detector, end := r.turns(ctx, bounded, &it)
	it.Said = ReadSaid(it.Last().FinalText)
	if r.Policy.Resume {
		it.Kept = it.Last().Kept
	}
	if end == nil {
		r.askUnsaid(bounded, &it)
	}
	r.arrive()
	shielded, done := r.shield(ctx)
	defer done()
	if wrong := r.settle(&it); end == nil { // a list half written by an agent that was killed is put back, too
		end = wrong
	}
	before := r.snapshot(shielded, &it)
	r.changed = r.changed || before.ok && !r.stall.unchanged(before) // what guardrails change is no work of the agent
	ok := len(it.Turns) > 0 && it.Last().Failure == nil
	if end == nil && (ok || bounded.Err() == nil) {
		it.Verdicts = append(it.Verdicts, r.check(bounded, n, r.standing(it, before, detector))...)
		if r.Backlog != nil && len(it.Verdicts) > 0 && before.ok {
			r.snapshot(shielded, &it) // the backlog judges what the guardrails left, too
		}
		if wrong := r.settle(&it); end == nil {
			end = wrong
		}
	}
	it.Marker = ok && detector.Found()
	if detector != nil {
		it.Stray = detector.Stray()
	}
	if r.marks.speak() && end == nil && (r.byMail() || !it.Marker) {
		end = r.answer(&it, r.marks)
	}
	ok = ok || it.Marker // a mark counts whatever the exit code
	delivered := true
	if r.SCM != nil && end == nil && ok && len(it.Verdicts) > 0 && before.ok {
		r.snapshot(shielded, &it) // what the delivery makes is not the guardrails' doing
	}
	if end == nil && ok && it.Passed() && !r.stopped() {
		delivered = r.deliver(bounded, &it)
	}
	stopped := r.stopped() // perhaps before every guardrail had its say
	it.Rejection = r.judge(it, ok, delivered, stopped)
	if it.Marker && it.Rejection == RejectedStoriesLeft {
		r.emit(Event{Kind: EventWarning, Iteration: n, Text: fmt.Sprintf("The agent says that everything is done, and the task list does not: %s left.", storiesLeft(it.Settled.Left))})
	}
	r.tellStray(it)
	switch {
	case end != nil:
	case stopped:
		end = &ending{Interrupted, stopReason}
	case it.Rejection == NotRejected:
		end = &ending{Completed, completedReason(n + it.Kept)}
	case ctx.Err() != nil:
		end = &ending{Interrupted, "the run was cancelled"}
	case bounded.Err() != nil:
		end = &ending{Deadline, timeUsedUp}
	case r.stuckFor(it):
		end = &ending{Stalled, stuckReason(it.Step.Story)}
	case r.stall.seen(r.Policy.StallLimit, before, it):
		end = &ending{Stalled, stallReason(r.Policy.StallLimit, r.stall.why)}
	}
	if (len(it.Verdicts) > 0 || len(it.Delivery.Tasks) > 0) && before.ok {
		r.snapshot(shielded, &it) // guardrails and commit hooks may have formatted or generated files
	}
	r.tellNotes(&it)
	if r.withheld != "" && end != nil && end.outcome == Completed { // it is the guardrails' doing
		it.Rejection, end = RejectedGuardrails, nil
		if bounded.Err() != nil {
			end = &ending{Deadline, timeUsedUp}
		}
	}
	r.describe(bounded, &it, end)
	last := r.Policy.MaxIterations > 0 && n+it.Kept >= r.Policy.MaxIterations
	r.checkpoint(ctx, shielded, &it, end == nil && !last)
	if end != nil && end.outcome == Completed && r.Accept != nil {
		end = r.accept(ctx, shielded, bounded, &it, end)
	}
	r.passes.keep(it, before)
	r.stall.settle(it)
	return it, end
}

// tellStray warns of a tag that does not count, once for each.
func (r *run) tellStray(it Iteration) {
	if it.Rejection == RejectedNoMarker && it.Stray != "" && it.Stray != r.stray {
		r.stray = it.Stray
		r.emit(Event{Kind: EventWarning, Iteration: it.Number, Text: fmt.Sprintf("The agent printed %s, which does not count: %s does.", strings.Join(strings.Fields(it.Stray), " "), r.Policy.Completion)})
	}
}

func stallReason(n int, why string) string {
	if n == 1 {
		return "no progress in 1 iteration: " + why
	}
	return fmt.Sprintf("no progress in %d iterations: %s", n, why)
}

func completedReason(n int) string {
	if n == 1 {
		return "the work was done in 1 iteration"
	}
	return fmt.Sprintf("the work was done in %d iterations", n)
}

// judge is the one order of checks: the turn itself, guardrails, delivery, the
// backlog, evidence, completion. A backlog on which everything is done needs no
// marker, and none makes up for one that is not.
func (r *run) judge(it Iteration, ok, delivered, stopped bool) Rejection {
	switch {
	case !ok:
		return RejectedTurn
	case slices.ContainsFunc(it.Verdicts, func(v Verdict) bool { return !v.Passed && !v.Unfinished }):
		return RejectedGuardrails
	case stopped, !it.Passed(), len(it.Verdicts) < len(r.Guardrails):
		return RejectedStopped
	case !delivered:
		return RejectedSCM
	case r.Backlog != nil:
		return it.Settled.rejection()
	case !it.Marker:
		return RejectedNoMarker
	case !r.worked(it):
		return RejectedNoWork
	}
	return NotRejected
}

// worked says whether there is evidence behind a completion marker: tool
// calls, a changed tree or HEAD, or, from an agent that does not report its
// tool calls, guardrails that ran and passed.
func (r *run) worked(it Iteration) bool {
	switch {
	case r.Policy.MinToolCalls == 0, r.tools >= r.Policy.MinToolCalls:
		return true
	case r.Policy.CallsOnly && r.counts:
		return false
	case r.changed:
		return true
	}
	return !r.counts && len(it.Verdicts) > 0
}

func (l *Loop) emit(e Event) {
	if l.Emit == nil {
		return
	}
	if e.At.IsZero() {
		e.At = time.Now()
	}
	l.Emit(e)
}
