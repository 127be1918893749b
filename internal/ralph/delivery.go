package ralph

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// SCM commits with the team's own commands once every guardrail passed.
type SCM interface {
	// Deliver runs the tasks in order, up to the first that fails. ask puts a
	// question to the agent in a turn of its own and returns the agent's words, at
	// most maxAnswer bytes of them. An error says why the work is not delivered; the
	// agent is told, so it may quote the output of a task.
	Deliver(ctx context.Context, it Iteration, ask func(prompt string) (string, error), emit func(Event)) (Delivery, error)
}

// Delivery is what the SCM tasks of an iteration did.
type Delivery struct {
	Turn    *Turn  // the turn that was asked for the commit message; nil: none was
	Message string // the commit message; foreign text
	Tasks   []Task
	Error   string // why not everything was done; empty when it was
}

// Task is one SCM command that ran.
type Task struct {
	Command  string // for people: words joined by spaces, the message as it is
	ExitCode int    // -1 when a signal ended it or it never started
	Duration time.Duration
	Output   string // tail of the output, bounded; foreign text
}

// ErrSpent says that the agent was not asked, because the budget is spent.
var ErrSpent = errors.New("the budget is spent, so the agent was not asked")

// maxAnswer bounds what is kept of an answer, in bytes.
const maxAnswer = 64 << 10

// deliver runs the SCM tasks and reports whether the work is delivered.
func (r *run) deliver(ctx context.Context, it *Iteration) bool {
	if r.SCM == nil {
		return true
	}
	var asked *Turn
	d, err := r.SCM.Deliver(ctx, *it, func(prompt string) (text string, err error) {
		before := r.snapshot(ctx, it)
		text, asked, err = r.ask(ctx, it.Number, commitMessage, prompt)
		if err == nil {
			err = r.unmeddled(ctx, it, before)
		}
		return text, err
	}, func(e Event) { e.Iteration = it.Number; r.emit(e) })
	d.Turn = asked
	it.Delivery = d
	if err != nil {
		it.Delivery.Error = err.Error()
		r.undelivered = err
		if n := len(d.Tasks); n == 0 || d.Tasks[n-1].ExitCode == 0 { // else the end of the task has told it
			r.emit(Event{Kind: EventWarning, Text: err.Error(), Iteration: it.Number})
		}
		return false
	}
	r.undelivered = nil
	return true
}

// unmeddled runs the guardrails again if the agent, asked for a message, changed files.
func (r *run) unmeddled(ctx context.Context, it *Iteration, before state) error {
	after := r.snapshot(ctx, it)
	if it.Passed() && (after.head != before.head || after.work != before.work) {
		r.emit(Event{Kind: EventWarning, Text: "Asked for a commit message, the agent changed files: the guardrails run again.", Iteration: it.Number})
		it.Verdicts = r.check(ctx, it.Number, nil)
		r.snapshot(ctx, it) // what the delivery makes is not the guardrails' doing
	}
	if !it.Passed() || len(it.Verdicts) < len(r.Guardrails) {
		return errors.New("what the agent changed when it was asked for a commit message does not pass the guardrails")
	}
	return nil
}

// commitMessage is what the agent is asked for.
const commitMessage = "a commit message"

// ask puts one question for something to the agent, in a new session.
func (r *run) ask(ctx context.Context, n int, something, question string) (string, *Turn, error) {
	if r.Budget.spent(r.usage) != "" {
		return "", nil, ErrSpent
	}
	p := Prompt{Text: question + "\n", Iteration: n, Attempt: 1}
	p.CostLeft = r.Budget.left(r.usage.Cost.Amount)
	r.emit(Event{Kind: EventPrompt, Text: p.Text, Iteration: n})
	var words strings.Builder
	message := ""
	turn, err := r.Agent.Run(ctx, p, func(e Event) {
		if e.Kind == EventText && !e.Echo && words.Len() < maxAnswer {
			if e.Message != message && words.Len() > 0 {
				words.WriteByte('\n')
			}
			message = e.Message
			words.WriteString(e.Text[:min(len(e.Text), maxAnswer-words.Len())])
		}
		e.Iteration = n
		r.emit(e)
	})
	if err != nil {
		return "", nil, err
	}
	r.usage = r.usage.Add(turn.Usage)
	if turn.Failure != nil {
		return "", &turn, fmt.Errorf("the agent was asked for %s and failed: %s", something, failureText(turn.Failure))
	}
	return strings.ToValidUTF8(words.String(), "\uFFFD"), &turn, nil
}
