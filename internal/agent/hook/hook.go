package hook

import (
	"fmt"
	"io"

	"github.com/org/ralph-action/internal/agent/hook/shellguard"
	"github.com/org/ralph-action/internal/lib/printable"
)

// Hook is what is known outside of the CLI's input when it asks. The zero value
// approves every stop, and watches commands and context all the same.
type Hook struct {
	Stop    StopFacts
	Monitor Monitor
	Guard   shellguard.Guard
}

// Answer reads the input of one event and answers it. It never fails: an input
// that cannot be used, or a panic in a check, is an approval with a warning.
func (h Hook) Answer(event Event, stdin io.Reader) Answer {
	in, err := ReadInput(stdin)
	return h.Reply(event, in, err)
}

// Reply answers an event whose input was read with ReadInput, as it was
// returned. It fails as little as Answer.
func (h Hook) Reply(event Event, in Input, err error) (answer Answer) {
	defer func() {
		if r := recover(); r != nil {
			answer = Answer{Event: event, Warnings: []string{printable.Clean(fmt.Sprintf("hook %s gave up: %v", event, r), 500)}}
		}
	}()
	var warnings []string
	if err != nil {
		warnings = append(warnings, printable.Clean(err.Error(), 500))
	}
	switch {
	case err != nil && in.SessionID == "":
		// Nothing to go by.
		return Answer{Event: event, Warnings: warnings}
	case in.Event != "" && in.Event != string(event):
		// SubagentStop ends no session; anything else is a hook wired wrongly.
		warnings = append(warnings, fmt.Sprintf("hook %s was called for the event %q", event, printable.Clean(in.Event, 40)))
		return Answer{Event: event, Warnings: warnings}
	}
	switch event {
	case Stop:
		answer = h.Stop.decide(in)
	case PreToolUse:
		answer = guard(h.Guard, in)
	case PostToolUse:
		answer = h.Monitor.answer(in)
	case SessionStart:
		answer = h.Monitor.clear(in)
	}
	answer.Event = event
	answer.Warnings = append(warnings, answer.Warnings...)
	return answer
}
