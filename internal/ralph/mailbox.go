package ralph

// Mailbox is how an agent speaks other than by its words: marks in its task
// folder. 002-05, 002-16
type Mailbox interface {
	// Done says that the task is marked as done. An error ends the run as invalid.
	Done() (bool, error)
	// Withdraw takes the mark back: the guardrails do not agree.
	Withdraw() error
	// Waiting says that the agent asked, in the turn that just ended or by a mark,
	// not to be started again for now; why is what it waits for.
	Waiting(t Turn) (why string, waits bool)
}

// byMail says that completion is a mark in the mailbox.
func (r *run) byMail() bool {
	return r.Mailbox != nil && r.Policy.Completion.Kind == CompletionDoneFile
}

// alreadyDone looks for the mark before a turn. Guardrails that were red on the
// untouched tree do not agree with it.
func (r *run) alreadyDone() *ending {
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
	if n > 0 {
		verdicts = r.report.Iterations[n-1].Verdicts
	}
	switch {
	case len(failed(verdicts)) > 0:
		return r.withdraw()
	case n == 0:
		return &ending{Completed, "the task was marked as done before the first iteration"}
	}
	return &ending{Completed, "the task was marked as done between two iterations"}
}

// readMail looks for marks after a turn. An agent that waits has said so
// whatever the guardrails say.
func (r *run) readMail(it *Iteration) *ending {
	done, err := r.Mailbox.Done()
	if err != nil {
		return &ending{Invalid, err.Error()}
	}
	if it.Marker = done; done {
		if !it.Passed() {
			return r.withdraw()
		}
		return nil
	}
	if why, waits := r.Mailbox.Waiting(it.Last()); waits {
		return &ending{Waiting, "the agent asked not to be started again: " + why}
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
