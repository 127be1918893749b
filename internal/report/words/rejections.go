package words

import (
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// Rejection is why an iteration did not complete the run, in the words of each
// document. {left}, {failing} and {marker} stand for facts of the iteration.
type Rejection struct {
	icon, result string // of the table
	Status       string // of the session log, in brackets; empty: nothing to say
	Verbose      string
	Left         string // of what is left to do; empty: other lines tell it
}

// Rejections are those that a document words.
func Rejections() map[ralph.Rejection]Rejection {
	return map[ralph.Rejection]Rejection{
		ralph.RejectedTurn:        {"❌", "agent failed", "", "the agent failed", ""},
		ralph.RejectedStopped:     {"🛑", "stopped", "stopped before every check", "the run was stopped", "The run was stopped before every check had its say."},
		ralph.RejectedGuardrails:  {"❌", "guardrails failed", "guardrails failed: {failing}", "{failing guardrails} failed", ""},
		ralph.RejectedSCM:         {"❌", "SCM tasks failed", "the SCM tasks failed", "the SCM tasks failed", "The SCM tasks failed"},
		ralph.RejectedTransition:  {"⚠️", "changes put back", "changes to the task list were put back", "the task list was changed as the step does not allow", "The last iteration changed the task list as it may not; it was put back."},
		ralph.RejectedStuck:       {"⚠️", "no verdict that counts", "the review came to no verdict that counts", "the review came to no verdict that counts", "The last review came to no verdict that counts."},
		ralph.RejectedStoriesLeft: {"▫️", "{left} left", "{left} left", "{left} left", ""},
		ralph.RejectedNoMarker:    {"▫️", "not done yet", "", "{marker} was not found", "The agent did not say that it was done."},
		ralph.RejectedChecks:      {"❌", "checks failed", "the checks of the pushed commit failed", "the checks of the pushed commit failed", "The checks of the pushed commit failed."},
		ralph.RejectedNoWork:      {"⚠️", "said done, no work", "said to be complete without any work", "{marker} was found, but no sign of work", "The agent said that it was done, but there is no sign of work."},
	}
}

// Told puts the facts of an iteration into the words of its rejection.
func Told(words string, it ralph.Iteration, marker string) string {
	_, failing := guardrails(it.Verdicts)
	return strings.NewReplacer(
		"{left}", Stories(it.Settled.Left), "{marker}", marker,
		"{failing}", fmt.Sprintf("%d of %d", len(failing), len(it.Verdicts)),
		"{failing guardrails}", fmt.Sprintf("%d of %s", len(failing), Plural(len(it.Verdicts), "guardrail")),
	).Replace(words)
}

// Result says what an iteration came to; detail is foreign text.
func Result(it ralph.Iteration) (icon, text, detail string) {
	if f := it.Last().Failure; f != nil {
		return "❌", strings.ReplaceAll(f.Kind.String(), "-", " "), f.Message
	}
	if it.Rejection == ralph.NotRejected && (it.Marker || it.Settled.Done) {
		return "✅", "done", ""
	}
	why, found := Rejections()[it.Rejection]
	switch {
	case !found:
		return "▫️", "went on", ""
	case it.Rejection == ralph.RejectedSCM:
		detail = it.Delivery.Error
	}
	return why.icon, Told(why.result, it, ""), detail
}
