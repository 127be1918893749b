package run

import (
	"io"

	"github.com/org/ralph-action/internal/ralph"
)

// Printer shows a run to people; nothing else prints. Text from the agent, from
// guardrails and from the repository goes through Event and Foreign, which make it
// harmless; Say and Warn may quote such text and make it harmless, too.
type Printer interface {
	Event(ralph.Event)
	Say(line string)
	Aside(line string)                 // not of the log: on stderr, where it is shown on a terminal
	Warn(line string)                  // shown as a warning
	Fail(title, line string)           // why the run does not start: one problem
	Signal(line string)                // that the run was asked to stop: for people, not for what reads the output
	Foreign(of string) io.WriteCloser  // live output of one setup command or guardrail
	Display() io.WriteCloser           // what a display filter makes of the agent's output
	Section(title string) (end func()) // folds what follows, where folding exists
	Finish(ralph.Report)               // the last word
}
