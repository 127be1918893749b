// Package output prints runs: into the log of a workflow, on a terminal, as a dated
// log of attempts.
package output

import (
	"os"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
)

// Options say where and how a local run is printed.
type Options struct {
	Redact *secret.Redactor
	Out    *os.File // where the run is shown
	Stderr *os.File // what is not worth reading, and why a run does not start
	Getenv func(string) string
	Output config.Output
	Lane   bool // the run is a lane, among others beside it: what it came to is told with them
}

// shown takes out of an event what is shown live.
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
	return r.Outcome.Row().Kind == ralph.Misconfigured && r.Rounds() == 0
}

// foreign says that an event's text is somebody else's.
func foreign(k ralph.EventKind) bool {
	switch k {
	case ralph.EventText, ralph.EventToolStart, ralph.EventToolEnd, ralph.EventTodo, ralph.EventProgress, ralph.EventKept, ralph.EventResult:
		return true
	}
	return false
}
