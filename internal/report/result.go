package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// iterationNumber is the number of an iteration, or the first and the last of
// the iterations that its session went on for: "1–4".
func iterationNumber(it ralph.Iteration) string {
	if n := it.Rounds(); n > 1 {
		return fmt.Sprintf("%d–%d", it.Number, it.Number+n-1)
	}
	return strconv.Itoa(it.Number)
}

// roundWords is "4 iterations", or "kept going once" where a stop hook begins no
// iterations; empty when no stop hook had to.
func roundWords(it ralph.Iteration) string {
	if n := it.Rounds(); n > 1 {
		return plural(n, "iteration")
	}
	switch n := kept(it); n {
	case 0:
		return ""
	case 1:
		return "kept going once"
	default:
		return fmt.Sprintf("kept going %d times", n)
	}
}

// kept counts how often a stop hook kept the agent going.
func kept(it ralph.Iteration) int {
	n := 0
	for _, t := range it.Turns {
		n += t.Kept
	}
	return n
}

// result says what an iteration came to; detail is foreign text.
func result(it ralph.Iteration) (icon, text, detail string) {
	if f := it.Last().Failure; f != nil {
		return "❌", strings.ReplaceAll(f.Kind.String(), "-", " "), f.Message
	}
	switch it.Rejection {
	case ralph.NotRejected:
		if it.Marker || it.Settled.Done {
			return "✅", "done", ""
		}
		return "▫️", "went on", ""
	case ralph.RejectedTurn:
		return "❌", "agent failed", ""
	case ralph.RejectedGuardrails:
		return "❌", "guardrails failed", ""
	case ralph.RejectedStopped:
		return "🛑", "stopped", ""
	case ralph.RejectedSCM:
		return "❌", "SCM tasks failed", it.Delivery.Error
	case ralph.RejectedTransition:
		return "⚠️", "changes put back", ""
	case ralph.RejectedStuck:
		return "⚠️", "no verdict that counts", ""
	case ralph.RejectedStoriesLeft:
		return "▫️", stories(it.Settled.Left) + " left", ""
	case ralph.RejectedNoMarker:
		return "▫️", "not done yet", ""
	case ralph.RejectedChecks:
		return "❌", "checks failed", ""
	case ralph.RejectedNoWork:
		return "⚠️", "said done, no work", ""
	default:
		return "▫️", "went on", ""
	}
}
