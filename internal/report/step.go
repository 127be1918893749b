package report

import (
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
)

const storyRunes = 40 // of a story's id

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
	return doc.OneLine(s.Mode, 20) + " " + doc.OneLine(s.Story, storyRunes)
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
	case ralph.StepReview:
		switch status {
		case ralph.StoryApproved:
			return text + ": approved"
		case ralph.StoryChangesRequested:
			return text + ": changes requested"
		}
		return text + ": no verdict"
	case ralph.StepImplement:
		if status == "" && !unreviewed {
			return text + ": not finished"
		}
	case ralph.StepFix:
		if status != ralph.StoryNeedsReview {
			return text + ": not finished"
		}
	}
	return text
}

// stepTitle names the step of an iteration with its story's title, in one line;
// empty without a task list. Foreign text.
func stepTitle(s ralph.Step) string {
	text := stepName(s)
	if title := doc.OneLine(s.Title, 100); title != "" && s.Story != "" {
		text += ": " + title
	}
	return text
}

// putBack lists the newest of what iterations wrote into the task list and may
// not.
func (m record) putBack() doc.Section {
	var lines []doc.Text
	for _, it := range m.Iterations {
		for _, p := range it.Settled.Problems {
			lines = append(lines, doc.Line("Iteration "+iterationNumber(it)+" (", doc.Foreign(stepName(it.Step), 80), "): ", doc.Foreign(p, m.line)))
		}
	}
	if len(lines) == 0 {
		return doc.Section{}
	}
	shown := lines[max(0, len(lines)-m.list):]
	s := doc.Section{
		Title:  doc.Line("Changes to the task list that were put back"),
		Blocks: append([]doc.Block{doc.Para("An iteration may change only the story that it is for, and only as its step allows.")}, doc.Bulleted(shown)...),
	}
	if n := len(lines) - len(shown); n > 0 {
		s.Blocks = append(s.Blocks, doc.Soft(plural(n, "earlier one")+" left out here; report.json has them all."))
	}
	return s
}
