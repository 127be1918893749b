package run

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/ralph"
)

// relay is an agent, and the one that takes over from it for the rest of the
// run.
type relay struct {
	cli
	name     string // for people
	next     cli    // nil: nobody, or it has
	nextName string
}

// Run asks the one whose turn it is.
func (r *relay) Run(ctx context.Context, p ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	return r.cli.Run(ctx, p, emit)
}

// takeOver hands over, once, and says why.
func (r *relay) takeOver(f *ralph.Failure) (why string, ok bool) {
	if r.next == nil {
		return "", false
	}
	why = fmt.Sprintf("%s takes over from %s, which failed: %s", r.nextName, r.name, cmp.Or(f.Message, f.Kind.String()))
	if f.Kind == ralph.FailureQuota {
		why = fmt.Sprintf("%s takes over from %s, which met its usage limit", r.nextName, r.name)
		if !f.RetryAt.IsZero() {
			why += " until " + f.RetryAt.UTC().Format(time.RFC3339)
		}
	}
	r.cli, r.name, r.next = r.next, r.nextName, nil
	return why, true
}

// checkFallback is checkAgent for the agent that would take over.
func (s *sandboxed) checkFallback(ctx context.Context, o agent.Options, worker *relay) error {
	o, ok := s.fallback(o)
	if !ok {
		return nil
	}
	o = s.network.ThroughKeyProxy(o)
	next, err := s.newAgent(ctx, o)
	if err != nil {
		return err
	}
	worker.next, worker.nextName = s.apart(next, o, "fallback", false), agentName(o)
	return nil
}

// fallbackInput is the input that asked for a fallback.
func (p *plan) fallbackInput() string {
	if p.cfg.Agent.Fallback == "" {
		return "fallback-model"
	}
	return "fallback-agent"
}

// jitter makes a wait longer by up to a quarter, and by at most ten seconds.
func jitter(wait time.Duration) time.Duration {
	return rand.N(min(wait/4, 10*time.Second) + 1)
}
