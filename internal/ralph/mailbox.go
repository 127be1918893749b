package ralph

import "context"

// Mailbox is how an agent speaks other than by its words: marks in its task
// folder.
type Mailbox interface {
	// Done says that the task is marked as done. An error ends the run as invalid.
	Done() (bool, error)
	// Withdraw takes the mark back: the guardrails do not agree.
	Withdraw() error
	// Waiting says that the agent asked, in the turn that just ended or by a mark,
	// not to be started again for now; why is what it waits for.
	Waiting(t Turn) (why string, waits bool)
}

// marks is what the mailbox held after a turn.
type marks struct {
	done  bool
	waits string // what for; empty: it does not wait
	err   error
}

// speak says that the agent left a mark: no retry is called for.
func (m marks) speak() bool { return m.done || m.waits != "" || m.err != nil }

// byMail says that completion is a mark in the mailbox.
func (r *run) byMail() bool {
	return r.Mailbox != nil && r.Policy.Completion.Kind == CompletionDoneFile
}

// look empties the mailbox after a turn. Done beats waiting.
func (r *run) look(t Turn) marks {
	if r.Mailbox == nil {
		return marks{}
	}
	if r.byMail() {
		if done, err := r.Mailbox.Done(); done || err != nil {
			return marks{done: done, err: err}
		}
	}
	if why, waits := r.Mailbox.Waiting(t); waits {
		return marks{waits: "the agent asked not to be started again: " + why}
	}
	return marks{}
}

// alreadyDone looks for the mark before a turn. Guardrails judge it: those of the
// untouched tree before the first iteration, where they ran.
func (r *run) alreadyDone(ctx context.Context) *ending {
	if !r.byMail() {
		return nil
	}
	done, err := r.Mailbox.Done()
	switch {
	case err != nil:
		return &ending{Invalid, err.Error()}
	case !done:
		return nil
	}
	n := len(r.report.Iterations)
	verdicts := r.baseline
	if n > 0 || len(verdicts) < len(r.Guardrails) {
		verdicts = r.check(ctx, n, nil)
	}
	switch {
	case len(failed(verdicts)) > 0 || len(verdicts) < len(r.Guardrails):
		r.emit(Event{Kind: EventWarning, Text: "The task was marked as done, and guardrails failed: the mark is taken back.", Iteration: n})
		return r.withdraw()
	case n == 0:
		return &ending{Completed, "the task was marked as done before the first iteration"}
	}
	return &ending{Completed, "the task was marked as done between two iterations"}
}

// answer is the ending that marks ask for. An agent that waits has said so
// whatever the guardrails say.
func (r *run) answer(it *Iteration, m marks) *ending {
	switch {
	case m.err != nil:
		return &ending{Invalid, m.err.Error()}
	case m.waits != "":
		return &ending{Waiting, m.waits}
	}
	if it.Marker = m.done; m.done && !it.Passed() {
		return r.withdraw()
	}
	return nil
}

// withdraw takes the mark back. What cannot be taken back would end the next
// iteration unseen.
func (r *run) withdraw() *ending {
	if err := r.Mailbox.Withdraw(); err != nil {
		return &ending{Invalid, err.Error()}
	}
	return nil
}
