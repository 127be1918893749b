package main

import (
	"io"

	"github.com/org/ralph-action/internal/ralph"
)

// Only the printers print. Whatever comes from the agent, from guardrails and
// from the repository passes event or guest, where it is made harmless; say and
// warn may quote such text and make it harmless too.
type printer interface {
	event(ralph.Event)
	say(line string)
	aside(line string) // not of the log: on stderr, where it is shown on a terminal
	warn(line string)
	fail(line string)                  // what keeps the run from starting
	signal(line string)                // that the run was asked to stop: for people, not for what reads the output
	guest() io.WriteCloser             // live output of one setup command or guardrail
	display() io.WriteCloser           // what a display filter makes of the agent's output
	section(title string) (end func()) // folds what follows, where folding exists
	finish(ralph.Report)               // the last word
}

// shown takes out of an event what guest has shown live.
func shown(e ralph.Event) ralph.Event {
	if e.Kind == ralph.EventGuardrailEnd && e.Verdict != nil {
		v := *e.Verdict
		v.Output = ""
		e.Verdict = &v
	}
	if e.Kind == ralph.EventTaskEnd && e.Task != nil {
		t := *e.Task
		t.Output = ""
		e.Task = &t
	}
	return e
}

// unstarted reports whether a run ended before its first iteration over what it
// was asked for: what is said of it is an error message then, and no output.
func unstarted(r ralph.Report) bool {
	switch r.Outcome {
	case ralph.Invalid, ralph.PlanMissing, ralph.PromptInvalid:
		return r.Rounds() == 0
	}
	return false
}

// foreign says that an event's text is somebody else's.
func foreign(k ralph.EventKind) bool {
	switch k {
	case ralph.EventText, ralph.EventToolStart, ralph.EventToolEnd, ralph.EventTodo, ralph.EventProgress, ralph.EventKept, ralph.EventResult:
		return true
	}
	return false
}
