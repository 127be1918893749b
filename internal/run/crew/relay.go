package crew

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/ralph"
)

// CLI is an agent, and its command line for people.
type CLI interface {
	ralph.Agent
	Argv(ralph.Prompt) []string
}

// Member is an agent that can work.
type Member struct {
	CLI
	Name string // for people
}

// Name is an agent for people: its name and its model.
func Name(o agent.Options) string { return strings.TrimSpace(o.Name + " " + o.Model) }

// Agents are the agents of a run, as its loop asks them.
type Agents interface {
	ralph.Agent
	// TakeOver has another agent go on after a failure, and says why; false: there is none.
	TakeOver(f *ralph.Failure) (why string, ok bool)
}

// Join joins the agents. Next takes over from the worker, and from the reviewer unless it is the
// reviewer itself; nil: nobody does. A nil reviewer leaves reviews to the worker.
func Join(worker Member, next, reviewer *Member, reviewing func() bool) Agents {
	w := &relay{Member: worker, next: next}
	if reviewer == nil {
		return w
	}
	r := &relay{Member: *reviewer}
	if next == nil || reviewer.Name != next.Name {
		r.next = next
	}
	return &pair{relay: w, reviewer: r, reviewing: reviewing}
}

// relay is an agent, and the one that takes over from it for the rest of the run.
type relay struct {
	Member
	next *Member // nil: nobody, or it has
}

// Run asks the one whose turn it is.
func (r *relay) Run(ctx context.Context, p ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	return r.CLI.Run(ctx, p, emit)
}

// TakeOver hands over, once, and says why.
func (r *relay) TakeOver(f *ralph.Failure) (why string, ok bool) {
	if r.next == nil {
		return "", false
	}
	why = fmt.Sprintf("%s takes over from %s, which failed: %s", r.next.Name, r.Name, cmp.Or(f.Message, f.Kind.String()))
	if f.Kind == ralph.FailureQuota {
		why = fmt.Sprintf("%s takes over from %s, which met its usage limit", r.next.Name, r.Name)
		if !f.RetryAt.IsZero() {
			why += " until " + f.RetryAt.UTC().Format(time.RFC3339)
		}
	}
	r.Member, r.next = *r.next, nil
	return why, true
}

// pair is an agent that works, and another that reviews.
type pair struct {
	*relay
	reviewer  *relay
	reviewing func() bool
}

// turn is the one that the step is for.
func (p *pair) turn() *relay {
	if p.reviewing() {
		return p.reviewer
	}
	return p.relay
}

// Run asks the one that the step is for.
func (p *pair) Run(ctx context.Context, q ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	return p.turn().Run(ctx, q, emit)
}

// TakeOver is that of the one that the step is for.
func (p *pair) TakeOver(f *ralph.Failure) (string, bool) { return p.turn().TakeOver(f) }
