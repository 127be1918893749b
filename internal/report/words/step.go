package words

import (
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
)

// StoryRunes bounds the id of a story.
const StoryRunes = 40

// Stepped says that the iteration was one on a task list.
func Stepped(it ralph.Iteration) bool { return it.Step != ralph.Step{} }

// AnyStep says that one of the iterations was.
func AnyStep(list []ralph.Iteration) bool {
	for _, it := range list {
		if Stepped(it) {
			return true
		}
	}
	return false
}

// StepName is what an iteration is for: "implement US-001". Foreign text; empty
// without a task list.
func StepName(s ralph.Step) string {
	switch {
	case s == ralph.Step{}:
		return ""
	case s.Story == "":
		return "no story left"
	}
	return doc.OneLine(s.Mode, 20) + " " + doc.OneLine(s.Story, StoryRunes)
}

// ApprovedUnprotected is the state of a story whose approval could have been forged
// by a program that the review started.
const ApprovedUnprotected = "approved, not protected"

// Step is the step and what became of it: "review US-001: approved".
// unreviewed says that an empty status tells nothing, as in a list without
// reviews, or where it is not known whether there are any. Foreign text.
func Step(it ralph.Iteration, unreviewed bool) string {
	text := StepName(it.Step)
	if it.Step.Story == "" {
		return text
	}
	switch status := it.Settled.Status; it.Step.Mode {
	case ralph.StepReview:
		switch status {
		case ralph.StoryApproved:
			if it.Settled.Unprotected {
				return text + ": " + ApprovedUnprotected
			}
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

// StepTitle names the step of an iteration with its story's title, in one line;
// empty without a task list. Foreign text.
func StepTitle(s ralph.Step) string {
	text := StepName(s)
	if title := doc.OneLine(s.Title, 100); title != "" && s.Story != "" {
		text += ": " + title
	}
	return text
}
