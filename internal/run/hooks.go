package run

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/hook"
	"github.com/org/ralph-action/internal/agent/prompt"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
)

// hooks are the commands an agent's CLI asks while it works, by event; nil when
// it has no hooks or they would be of no use. They advise: what the loop itself
// sees decides.
func (s *sandboxed) hooks(name string) map[string]string {
	if s.cfg.Mode != config.ModeTasks && s.cfg.Mode != config.ModeSession || !catalog.Of(name).Hooks || s.cfg.Agent.Exact || s.box != nil {
		return nil
	}
	ours := config.ShellWords([]string{s.Self}) + " hook "
	hooks := map[string]string{string(hook.Stop): ours + "stop"}
	if s.cfg.Mode == config.ModeSession {
		hooks[string(hook.Stop)] += " --session " + config.ShellWords([]string{s.sessionState()})
	}
	hooks[string(hook.PostToolUse)] = ours + "post-tool-use"
	hooks[string(hook.SessionStart)] = ours + "session-start"
	if s.isolation == config.IsolationOff {
		hooks[string(hook.PreToolUse)] = ours + "pre-tool-use"
	}
	return hooks
}

// sessionState is the file in which the stop hook keeps count. It lies in a
// private folder of the agent's, who may write anything into it: only the hook
// believes it.
func (s *sandboxed) sessionState() string { return filepath.Join(s.temp.tmp, "ralph-session.json") }

// ultrawork is what stands before each continuation when nothing else is asked
// for.
const ultrawork = "Ultrawork mode: leave nothing half done. Go through the whole task again, find what is missing or unproven, finish it, " +
	"and check it by running it before you claim anything."

// NewSession is the loop that was configured.
func NewSession(loop config.Loop, task string, limit int) hook.Session {
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

// sessions is an agent whose stop hook keeps it going. Without hooks the loop
// resumes its session instead.
type sessions struct {
	cli
	box   *sandboxed
	tools int // called in earlier turns
}

const maxHookTask = 256 << 10 // bytes of the task in the hook's state

// Run hands the hook what is left of the loop, and asks.
func (a *sessions) Run(ctx context.Context, p ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	box := a.box
	limit := 0
	if most := box.cfg.Loop.MaxIterations; most > 0 {
		limit = most - p.Iteration + 1
	}
	state := NewSession(box.cfg.Loop, box.prompt(), limit)
	if len(state.TaskPrompt) > maxHookTask { // the loop has all of it; a continuation repeats its beginning
		state.TaskPrompt = strings.ToValidUTF8(state.TaskPrompt[:maxHookTask], "") + "…"
	}
	state.ToolCallsThisRun, state.Said = a.tools, state.Began // a promise of an earlier process is not remembered
	data, err := state.Encode()
	if err == nil {
		err = box.giveToSandboxUser(box.sessionState(), data)
	}
	if err != nil {
		return ralph.Turn{}, fmt.Errorf("state of the session: %w", err)
	}
	// The hook's count is the agent's to forge; this one is not.
	turning, end := context.WithCancel(ctx)
	defer end()
	stops := 0
	turn, err := a.cli.Run(turning, p, func(e ralph.Event) {
		if e.Kind == ralph.EventKept {
			e.Text = keptBy(p.Iteration+stops, e.Text).String()
			if stops++; limit > 0 && stops >= limit || box.Stop.halted() {
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
		e.Promise, e.Why, e.Status = "rejected", "bypass: less work than min-tool-calls asks for", hook.PromiseRejected
	case !strings.Contains(words, "You attempted to end the loop"):
		e.Why = words
	}
	return e
}

// lastStop is what the log says of the stop that ended an iteration.
func lastStop(it ralph.Iteration) hook.Entry {
	e := hook.Entry{Iteration: it.Number + it.Kept, Promise: "missing", Why: "the completion promise was not output"}
	switch it.Rejection {
	case ralph.NotRejected:
		e.Promise, e.Why, e.Status = "found", "the work is done", hook.PromiseAccepted
	case ralph.RejectedNoWork:
		e.Promise, e.Why, e.Status = "rejected", "bypass: less work than min-tool-calls asks for", hook.PromiseRejected
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

// giveToSandboxUser writes a file that is the agent's.
func (s *sandboxed) giveToSandboxUser(path string, data []byte) error {
	_ = os.Remove(path) // the agent may have put anything there
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if !s.identity.IsZero() && err == nil {
		err = f.Chown(s.identity.UID, s.identity.GID)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// askSession is what a session is told: the task and the rule at its beginning,
// and why it goes on after that.
func (w *work) askSession(ask ralph.Ask) (ralph.Prompt, error) {
	s := NewSession(w.cfg.Loop, w.prompt(), 0)
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
	return prompt.Builder{Task: func() (string, error) { return text, nil }, Completion: w.cfg.Loop.Completion, Bare: true}.Build(ask)
}
