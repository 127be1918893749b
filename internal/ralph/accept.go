package ralph

import (
	"context"
	"fmt"
)

// Describe is how the agent is asked for the message of a commit.
type Describe struct {
	Question string
	Read     func(answer string) string // the message in an answer; empty: there is none
}

// describe asks for the message of the commit that follows. A turn for it costs
// money, so nobody is asked when nothing will be committed, when the agent has said
// what the iteration did, or when the run is over by force.
func (r *run) describe(ctx context.Context, it *Iteration, end *ending) {
	at := r.Policy.Checkpoint || r.Policy.CheckpointAtEnd && end != nil
	if r.Describe == nil || !at || it.Said.Commit != "" || it.Change.Files == 0 || r.unsaved != nil || ctx.Err() != nil || r.stopped() || end != nil && end.outcome != Completed || it.Delivery.Turn != nil {
		return
	}
	text, turn, err := r.ask(ctx, it.Number, commitMessage, r.Describe.Question)
	it.Delivery.Turn = turn
	if err != nil {
		r.emit(Event{Kind: EventNotice, Text: fmt.Sprintf("No commit message from the agent: %v. Ours stands instead.", err), Iteration: it.Number})
		return
	}
	it.Delivery.Message = r.Describe.Read(text)
}

// accept asks whether what completed the run may count. What must be published
// first is committed by then. What nobody could look at is no success.
func (r *run) accept(ctx, shielded, bounded context.Context, it *Iteration, end *ending) *ending {
	if r.Policy.CheckpointAtEnd && r.commit(shielded, it) {
		r.push(shielded, it)
	}
	r.judged = true
	switch {
	case r.unsaved != nil:
		return end
	case ctx.Err() != nil:
		return &ending{Interrupted, "the run was cancelled before the checks of the forge were looked at"}
	case r.stopped():
		return &ending{Interrupted, stopReason}
	case bounded.Err() != nil:
		return &ending{Deadline, timeUsedUp + ", and the checks of the forge were not looked at"}
	}
	verdicts, refusal := r.Accept(bounded, *it)
	it.Verdicts = append(it.Verdicts, verdicts...)
	if refusal != nil {
		return &ending{refusal.Outcome, refusal.Error()}
	}
	if it.Passed() {
		return end
	}
	it.Rejection, r.judged = RejectedChecks, false
	if r.byMail() {
		return r.withdraw() // else the mark would end the next iteration
	}
	return nil
}

// lastWord asks about a run that was complete before anybody was asked to work.
func (r *run) lastWord(ctx, bounded context.Context, end ending) ending {
	if end.outcome != Completed || r.Accept == nil || r.judged {
		return end
	}
	var none Iteration
	if n := len(r.report.Iterations); n > 0 {
		none.Number = r.report.Iterations[n-1].Number
	}
	if judged := r.accept(ctx, ctx, bounded, &none, &end); judged != nil {
		return *judged
	}
	return ending{Blocked, "everything was done before, and the checks of the forge fail"}
}
