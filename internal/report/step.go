package report

import (
	"github.com/org/ralph-action/internal/ralph"
)

// The modes of a step and the states of a story, as a ralph.Backlog names them.
const (
	stepImplement = "implement"
	stepReview    = "review"
	stepFix       = "review-fix"

	needsReview      = "needs_review"
	changesRequested = "changes_requested"
	approved         = "approved"
)

const storyRunes = 40 // of a story's id

// approvedUnprotected is the state of a story whose approval could have been forged
// by a program that the review started.
const approvedUnprotected = "approved, not protected"

// stepped says that the iteration was one on a task list.
func stepped(it ralph.Iteration) bool { return it.Step != ralph.Step{} }

// anyStep says that one of the iterations was.
func anyStep(list []ralph.Iteration) bool {
	for _, it := range list {
		if stepped(it) {
			return true
		}
	}
	return false
}

// stepName is what an iteration is for: "implement US-001". Foreign text; empty
// without a task list.
func stepName(s ralph.Step) string {
	switch {
	case s == ralph.Step{}:
		return ""
	case s.Story == "":
		return "no story left"
	}
	return oneLine(s.Mode, 20) + " " + oneLine(s.Story, storyRunes)
}

// stepWords is the step and what became of it: "review US-001: approved".
// unreviewed says that an empty status tells nothing, as in a list without
// reviews, or where it is not known whether there are any. Foreign text.
func stepWords(it ralph.Iteration, unreviewed bool) string {
	text := stepName(it.Step)
	if it.Step.Story == "" {
		return text
	}
	switch status := it.Settled.Status; it.Step.Mode {
	case stepReview:
		switch status {
		case approved:
			if it.Settled.Unprotected {
				return text + ": " + approvedUnprotected
			}
			return text + ": approved"
		case changesRequested:
			return text + ": changes requested"
		}
		return text + ": no verdict"
	case stepImplement:
		if status == "" && !unreviewed {
			return text + ": not finished"
		}
	case stepFix:
		if status != needsReview {
			return text + ": not finished"
		}
	}
	return text
}

// stepTitle names the step of an iteration with its story's title, in one line;
// empty without a task list. Foreign text.
func stepTitle(s ralph.Step) string {
	text := stepName(s)
	if title := oneLine(s.Title, 100); title != "" && s.Story != "" {
		text += ": " + title
	}
	return text
}

// putBack is what one iteration wrote into the task list and may not.
type putBack struct {
	Number string
	Step   string // foreign text, as is Text
	Text   string
}

// allPutBack lists what was put back, in order.
func allPutBack(r ralph.Report) []putBack {
	var list []putBack
	for _, it := range r.Iterations {
		for _, p := range it.Settled.Problems {
			list = append(list, putBack{iterationNumber(it), stepName(it.Step), p})
		}
	}
	return list
}

const (
	putBackTitle = "Changes to the task list that were put back"
	putBackWords = "An iteration may change only the story that it is for, and only as its step allows."
)

// putBack lists the newest of what was put back.
func (m markdown) putBack() string {
	all := allPutBack(m.Report)
	if len(all) == 0 {
		return ""
	}
	shown := all[max(0, len(all)-m.list):]
	lines := make([]string, 0, len(shown))
	for _, p := range shown {
		lines = append(lines, "Iteration "+p.Number+" ("+inline(p.Step, 80)+"): "+inline(p.Text, m.line))
	}
	text := "### " + putBackTitle + "\n\n" + putBackWords + "\n\n" + bullets(lines)
	if n := len(all) - len(shown); n > 0 {
		text += "\n_" + plural(n, "earlier one") + " left out here; report.json has them all._\n"
	}
	return text
}
