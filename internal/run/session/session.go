// Package session is one session of an agent that is kept going: by its stop hook, whose count is
// the agent's to forge and is not believed, else by a prompt that goes on.
package session

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/hook"
	"github.com/org/ralph-action/internal/agent/prompt"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run/crew"
)

// ultrawork is what stands before each continuation when nothing else is asked
// for.
const ultrawork = "Ultrawork mode: leave nothing half done. Go through the whole task again, find what is missing or unproven, finish it, " +
	"and check it by running it before you claim anything."

// New is the loop that was configured.
func New(loop config.Loop, task string, limit int) hook.Session {
	s := hook.NewSession(task, loop.Completion.Token, limit, time.Now())
	s.MinToolCalls = loop.MinToolCalls
	if loop.AcceptNoWork {
		s.OnPromiseNoWork = hook.Accept
	}
	if loop.Ultrawork {
		s.Ultrawork = cmp.Or(loop.UltraworkPrompt, ultrawork)
	}
	return s
}

// Agent is an agent whose stop hook keeps it going. Without hooks the loop resumes its session
// instead.
type Agent struct {
	crew.CLI
	Loop   config.Loop
	Task   string
	State  string                               // file in which the hook keeps count, in a folder of the agent's
	Give   func(path string, data []byte) error // writes a file of the agent's
	Halted func() bool                          // whether the run is to end after what is running

	tools int // called in earlier turns
}

const maxHookTask = 256 << 10 // bytes of the task in the hook's state

// Run hands the hook what is left of the loop, and asks.
func (a *Agent) Run(ctx context.Context, p ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	limit := 0
	if most := a.Loop.MaxIterations; most > 0 {
		limit = most - p.Iteration + 1
	}
	state := New(a.Loop, a.Task, limit)
	if len(state.TaskPrompt) > maxHookTask { // the loop has all of it; a continuation repeats its beginning
		state.TaskPrompt = strings.ToValidUTF8(state.TaskPrompt[:maxHookTask], "") + "…"
	}
	state.ToolCallsThisRun, state.Said = a.tools, state.Began // a promise of an earlier process is not remembered
	data, err := state.Encode()
	if err == nil {
		err = a.Give(a.State, data)
	}
	if err != nil {
		return ralph.Turn{}, fmt.Errorf("state of the session: %w", err)
	}
	// The hook's count is the agent's to forge; this one is not.
	turning, end := context.WithCancel(ctx)
	defer end()
	stops := 0
	turn, err := a.CLI.Run(turning, p, func(e ralph.Event) {
		if e.Kind == ralph.EventKept {
			e.Text = keptBy(p.Iteration+stops, e.Text).String()
			if stops++; limit > 0 && stops >= limit || a.Halted() {
				end() // what was running has finished; it was no stop to go on from
				return
			}
		}
		emit(e)
	})
	if turning.Err() != nil && ctx.Err() == nil {
		turn.Failure, turn.Kept = nil, stops-1
	}
	a.tools += turn.Tools
	return turn, err
}

// keptBy is what the log says of a stop that the hook blocked, by its words.
func keptBy(n int, words string) hook.Entry {
	e := hook.Entry{Iteration: n, Promise: "missing", Why: "the completion promise was not output"}
	switch {
	case strings.Contains(words, "Promise detected, but no tool calls/work were performed"):
		e.Promise, e.Why, e.Status = "rejected", "too little work (bypass): less than min-tool-calls asks for", hook.PromiseRejected
	case !strings.Contains(words, "You attempted to end the loop"):
		e.Why = words
	}
	return e
}

// LastStop is what the log says of the stop that ended an iteration.
func LastStop(it ralph.Iteration) hook.Entry {
	e := hook.Entry{Iteration: it.Number + it.Kept, Promise: "missing", Why: "the completion promise was not output"}
	switch it.Rejection {
	case ralph.NotRejected:
		e.Promise, e.Why, e.Status = "found", "the work is done", hook.PromiseAccepted
	case ralph.RejectedNoWork:
		e.Promise, e.Why, e.Status = "rejected", "too little work (bypass): less than min-tool-calls asks for", hook.PromiseRejected
	case ralph.RejectedTurn:
		e.Why = "the agent failed"
	case ralph.RejectedStopped:
		if e.Why = "the run was asked to stop"; it.Marker {
			e.Promise = "found"
		}
	case ralph.RejectedGuardrails:
		e.Why = "guardrails failed"
		if it.Marker {
			e.Promise, e.Status = "rejected", hook.PromiseRejected
		}
	}
	return e
}

// Ask is what a session is told: the task and the rule at its beginning,
// and why it goes on after that.
func Ask(loop config.Loop, task string, ask ralph.Ask) (ralph.Prompt, error) {
	s := New(loop, task, 0)
	text := s.Start()
	if ask.Iteration > 1 {
		switch ask.Rejection {
		case ralph.RejectedNoMarker:
			text = s.Missing()
		case ralph.RejectedNoWork:
			text = s.Rejected()
		case ralph.RejectedTurn:
			text = s.Failed([]string{"The session ended early. What you changed is still in place: look at it first, then go on."})
		case ralph.RejectedGuardrails:
			text = s.Failed([]string{"These checks have to pass before the task counts as done, whatever was claimed; they are named below. Mend the cause; do not weaken the checks."})
		}
		if ask.Resume == "" { // a session of its own has to be told the rule
			text += "\n\n" + s.Start()
		}
	}
	return prompt.Builder{Task: func() (string, error) { return text, nil }, Completion: loop.Completion, Bare: true}.Build(ask)
}
