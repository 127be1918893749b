package logs

import (
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/words"
)

// StartTitle names an iteration that starts: "Iteration 2 of 10", and with a task
// list ": review US-001" after it. Foreign text is on one line and cut.
func StartTitle(e ralph.Event) string {
	title := IterationTitle(e.Iteration, e.Max)
	if step := words.StepName(e.Step); step != "" {
		title += ": " + step
	}
	return title
}
