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
// money, so nobody is asked when nothing will be committed, or when the run is
// over by force.
func (r *run) describe(ctx context.Context, it *Iteration, end *ending) {
	at := r.Policy.Checkpoint || r.Policy.CheckpointAtEnd && end != nil
	if r.Describe == nil || !at || it.Change.Files == 0 || r.unsaved != nil || ctx.Err() != nil || r.stopped() || end != nil && end.outcome != Completed || it.Delivery.Turn != nil {
		return
	}
	text, turn, err := r.ask(ctx, it.Number, r.Describe.Question)
	if turn != nil {
		it.Delivery.Turn = turn
		r.usage = r.usage.Add(turn.Usage)
	}
	if err != nil {
		r.emit(Event{Kind: EventNotice, Text: fmt.Sprintf("No commit message from the agent: %v. Ours stands instead.", err), Iteration: it.Number})
		return
	}
	it.Delivery.Message = r.Describe.Read(text)
}

// accept asks whether what completed the run may count. What must be published
// first is committed by then.
func (r *run) accept(shielded, bounded context.Context, it *Iteration, end *ending) *ending {
	if r.Policy.CheckpointAtEnd {
		r.commit(shielded, it)
	}
	if r.unsaved != nil || bounded.Err() != nil || r.stopped() {
		return end
	}
	verdicts, refusal := r.Accept(bounded, *it)
	it.Verdicts = append(it.Verdicts, verdicts...)
	if refusal != nil {
		return &ending{refusal.Outcome, refusal.Error()}
	}
	if it.Passed() {
		return end
	}
	it.Rejection = RejectedChecks
	return nil
}
