package ralph

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// maxLimits is how often in a row a usage limit is waited for, in vain: a reset
// that passes and does not help is none.
const maxLimits = 5

// maxRetryDelay bounds the doubling wait between attempts.
const maxRetryDelay = time.Minute

// turns asks the agent until a turn goes well, the policy goes on without one,
// or the run is over. The detector has read the last turn's text.
func (r *run) turns(ctx, bounded context.Context, it *Iteration) (*Detector, *ending) {
	delay := r.Policy.RetryDelay
	r.marks = marks{}
	prompt, err := r.build(it) // retries have the same one.
	if err != nil {
		return nil, refused(err)
	}
	limits := 0 // usage limits met in a row
	for attempt, retries := 1, 0; ; attempt++ {
		detector := NewDetector(r.Policy.Completion)
		prompt.Attempt = attempt
		turn, err := r.turn(bounded, prompt, detector)
		if err != nil {
			return detector, refused(err)
		}
		it.Turns = append(it.Turns, turn)
		r.usage = r.usage.Add(turn.Usage)
		r.tools += turn.Tools
		r.counts = r.counts || turn.CountsTools
		if ctx.Err() != nil {
			return detector, &ending{Interrupted, "the run was cancelled while the agent worked"}
		}
		if r.stopped() {
			return detector, &ending{Interrupted, stopReason}
		}
		r.marks = r.look(turn)
		f := turn.Failure
		if f == nil || r.marks.speak() {
			return detector, nil
		}
		if bounded.Err() != nil {
			return detector, &ending{Deadline, "the time of the run (max-duration) was used up while the agent worked"}
		}
		next, wait := r.after(f, retries, delay)
		if limits++; next != waitForQuota {
			limits = 0
		} else if limits > maxLimits {
			if next = give; r.Policy.OnAgentError == RestartOnError {
				next = nextIteration
			}
		}
		text, fresh := failureText(f), r.takenOver(f, next, it.Number)
		if fresh {
			next, wait = again, 0
		}
		switch next {
		case nextIteration:
			return detector, nil
		case give:
			return detector, r.gaveUp(f, retries)
		case again:
			retries++
		case waitForQuota:
			text = quotaText(f)
		}
		delay = min(2*delay, maxRetryDelay)
		if fresh {
			retries, limits, delay = 0, 0, r.Policy.RetryDelay
		}
		wait = r.jitter(wait)
		r.emit(Event{Kind: EventRetry, Text: text, Wait: wait, Iteration: it.Number})
		if !r.sleep(bounded, wait) && !r.stopped() {
			if ctx.Err() != nil {
				return detector, &ending{Interrupted, "the run was cancelled before the next attempt"}
			}
			return detector, &ending{Deadline, "the time of the run (max-duration) was used up before the next attempt"}
		}
		if end, over := r.over(ctx, bounded); over {
			return detector, &end
		}
		if r.Backlog != nil {
			if err := r.Backlog.Again(); err != nil {
				return detector, refused(err)
			}
		}
	}
}

// refused is the ending an error asks for.
func refused(err error) *ending {
	var r *Refusal
	if errors.As(err, &r) {
		return &ending{r.Outcome, err.Error()}
	}
	return &ending{Invalid, err.Error()}
}

// build makes the prompt of an iteration.
func (r *run) build(it *Iteration) (Prompt, error) {
	ask := Ask{Iteration: it.Number, Max: r.Policy.MaxIterations, Resume: r.session, Step: it.Step, Verdicts: r.baseline}
	if n := len(r.report.Iterations); n > 0 {
		last := r.report.Iterations[n-1]
		ask.Failed, ask.Rejection, ask.Failure = failed(last.Verdicts), last.Rejection, last.Last().Failure
		ask.Undelivered = last.Delivery.Error
		ask.Settled, ask.Verdicts, ask.Claimed = last.Settled, last.Verdicts, last.Marker
		ask.Stray = strings.Join(strings.Fields(last.Stray), " ")
	} else {
		ask.Failed, ask.Untouched = failed(r.baseline), true
	}
	ask.LeftOut = r.untold()
	prompt, err := r.Prompt(ask)
	prompt.Iteration = it.Number
	return prompt, err
}

// Once asks the agent once. Its error says why nobody was asked: a limit, or as that of an Agent.
func (l *Loop) Once(ctx context.Context, p Prompt, used Usage) (Turn, error) {
	r := run{Loop: l, usage: used}
	if end, over := r.over(ctx, ctx); over {
		return Turn{}, errors.New(end.reason)
	}
	return r.turn(ctx, p, NewDetector(l.Policy.Completion))
}

// turn asks once.
func (r *run) turn(ctx context.Context, prompt Prompt, detector *Detector) (Turn, error) {
	prompt.CostLeft = r.Budget.left(r.usage.Cost.Amount)
	r.emit(Event{Kind: EventPrompt, Text: prompt.Text, Iteration: prompt.Iteration, Attempt: prompt.Attempt})
	var todos []Todo
	prompt.Resume = r.session
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var ended *Ended // the stream showed that the budget is spent
	turn, err := r.Agent.Run(ctx, prompt, func(e Event) {
		switch {
		case e.Kind == EventText && !e.Echo:
			detector.Write(e.Message, e.Text)
		case e.Kind == EventKept: // a promise that was refused is not remembered
			*detector = *NewDetector(r.Policy.Completion)
		case e.Kind == EventTodo:
			todos = e.Todos
		case e.Kind == EventUsage && e.Usage != nil && ended == nil:
			if spent := r.Budget.passed(r.usage.Add(*e.Usage)); spent != "" {
				ended = &Ended{Failure{Kind: FailureBudget, Message: spent + whileWorking}}
				end(ended)
			}
		}
		e.Iteration = prompt.Iteration
		r.emit(e)
	})
	turn.Todos = todos
	if ended != nil && turn.Failure != nil {
		turn.Failure = &ended.Failure
		if spent := r.Budget.passed(r.usage.Add(turn.Usage)); spent != "" { // it knows more now
			turn.Failure = &Failure{Kind: FailureBudget, Message: spent + whileWorking}
		}
	}
	if r.Policy.Resume {
		r.session = goesOn(r.session, turn)
	}
	return turn, err
}

const whileWorking = " while the agent worked, so it was ended"

// goesOn is the session that the next turn goes on in. One that broke off with a
// provider's error is still there; one that could not be gone on with gives way
// to a new one.
func goesOn(session string, t Turn) string {
	if t.Failure != nil && t.Tools == 0 && t.FinalText == "" {
		switch t.Failure.Kind {
		case FailureCrash, FailureMalformed, FailureRequest, FailureEmpty:
			return ""
		}
	}
	if t.Session != "" {
		return t.Session
	}
	return session
}

func failed(verdicts []Verdict) []Verdict {
	var out []Verdict
	for _, v := range verdicts {
		if !v.Passed {
			out = append(out, v)
		}
	}
	return out
}

// step is what follows a failed turn.
type step int

const (
	again         step = iota + 1 // the same iteration, counted as a retry
	waitForQuota                  // the same iteration, counted as nothing
	nextIteration                 // this iteration is over
	give                          // the run is over
)

// after decides what follows a failed turn, and how long to wait before it.
func (r *run) after(f *Failure, retries int, delay time.Duration) (step, time.Duration) {
	switch {
	case f.Kind == FailureQuota && r.outlasts(f.RetryAt):
		// A reset that has passed and did not help is not asked for in a hurry.
		return waitForQuota, max(time.Until(f.RetryAt), delay, time.Second)
	case f.Kind == FailureBudget:
		return give, 0
	case r.Policy.OnAgentError == RestartOnError:
		return nextIteration, 0
	case f.Fatal(), f.Kind == FailureQuota:
		return give, 0
	case r.Policy.OnAgentError == FailOnError:
		return give, 0
	case f.Kind == FailureRequest:
		// The same request would fail the same way; a fresh context may not.
		if r.failedInARow() >= r.Policy.MaxRetries {
			return give, 0
		}
		return nextIteration, 0
	case r.Policy.OnAgentError == ContinueOnError && f.Kind != FailureAPI:
		if r.Policy.Resume && r.failedInARow() >= r.Policy.MaxRetries {
			return give, 0 // no fresh context to hope for
		}
		return nextIteration, 0
	case retries < r.Policy.MaxRetries:
		return again, delay
	case r.Policy.OnAgentError == ContinueOnError:
		return nextIteration, 0
	}
	return give, 0
}

// outlasts says that a usage limit is worth waiting for: it says when it resets,
// nobody minds to wait that long, and the run will still be there.
func (r *run) outlasts(reset time.Time) bool {
	return !reset.IsZero() && time.Until(reset) <= r.Policy.QuotaWait && r.Policy.QuotaWait > 0 &&
		(r.Budget.Until.IsZero() || reset.Before(r.Budget.Until))
}

// takenOver hands the work to another agent when this one met its usage limit,
// or when what follows its failure is the end of the run, or one more iteration
// after several that failed.
func (r *run) takenOver(f *Failure, next step, iteration int) bool {
	switch {
	case r.TakeOver == nil, f.Fatal(), f.Kind == FailureBudget, f.Kind == FailureCancelled:
		return false
	case f.Kind == FailureQuota, next == give:
	case next == nextIteration && r.failedInARow() >= r.Policy.MaxRetries:
	default:
		return false
	}
	why, ok := r.TakeOver(f)
	if ok {
		r.session = "" // it is the other one's
		r.emit(Event{Kind: EventNotice, Text: why, Iteration: iteration})
	}
	return ok
}

// jitter makes a wait longer by a little.
func (l *Loop) jitter(wait time.Duration) time.Duration {
	if l.Jitter == nil || wait <= 0 {
		return wait
	}
	return wait + l.Jitter(wait)
}

// failedInARow counts the iterations before this one whose turn failed.
func (r *run) failedInARow() int {
	n := 0
	for i := len(r.report.Iterations) - 1; i >= 0 && r.report.Iterations[i].Rejection == RejectedTurn; i-- {
		n++
	}
	return n
}

func (r *run) gaveUp(f *Failure, retries int) *ending {
	text := failureText(f)
	switch {
	case f.Fatal():
		return &ending{Invalid, text}
	case f.Kind == FailureQuota:
		return &ending{Quota, quotaText(f)}
	case f.Kind == FailureBudget:
		return &ending{OverBudget, text}
	case retries > 0:
		return &ending{AgentFailed, fmt.Sprintf("the agent failed %d times in one iteration: %s", retries+1, text)}
	}
	return &ending{AgentFailed, "the agent failed: " + text}
}

func failureText(f *Failure) string {
	if f.Message == "" {
		return f.Kind.String()
	}
	return f.Kind.String() + ": " + f.Message
}

// quotaText says when a usage limit resets, where it is known.
func quotaText(f *Failure) string {
	if f.RetryAt.IsZero() {
		return failureText(f)
	}
	return fmt.Sprintf("%s; the limit resets at %s", failureText(f), f.RetryAt.UTC().Format(time.RFC3339))
}

// sleep waits unless ctx ends or the run is to stop first.
func (l *Loop) sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	case <-l.Stop:
		return false
	}
}
