package tasks

import (
	"iter"
	"slices"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks/document"
)

// Status is where a story stands in the review cycle.
type Status string

// The states of a story.
const (
	Open             Status = "" // null in the file: not implemented yet
	NeedsReview      Status = ralph.StoryNeedsReview
	ChangesRequested Status = ralph.StoryChangesRequested
	Approved         Status = ralph.StoryApproved
)

// String is the status as JSON shows it, without quotes.
func (s Status) String() string {
	if s == Open {
		return "null"
	}
	return string(s)
}

// Mode is what an iteration is for.
type Mode string

// The modes of an iteration.
const (
	Implement Mode = ralph.StepImplement
	Review    Mode = ralph.StepReview
	ReviewFix Mode = ralph.StepFix
)

// Rules are what a list is held to.
type Rules struct {
	// ReviewCap is after how many reviews a story is approved whatever is left
	// to say. 0: never.
	ReviewCap int
	// SkipReview leaves the review cycle out: a story is done when it passes.
	SkipReview bool
	// Only are the stories to work on, by id and in order; without one all of them. What is next
	// and what is left is then said of these, and no other may change state or
	// disappear.
	Only []string
}

// covers reports whether the work is about a story.
func (r Rules) covers(id string) bool { return len(r.Only) == 0 || slices.Contains(r.Only, id) }

// List is a task list that has the right schema. It is not changed by anything.
type List struct {
	Project     string
	BranchName  string
	Description string
	// VerifyCommands are the agent's to edit as the whole file is: who runs
	// them as checks takes them from the list the run began with.
	VerifyCommands []string
	Stories        []Story

	doc     *document.File
	stories *document.Node // the array of the stories, in doc
}

// Story is a user story.
type Story struct {
	ID                 string
	Title              string
	Description        string
	AcceptanceCriteria []string
	Priority           float64 // the lowest number comes first, as in a numbered list
	Passes             bool
	Status             Status
	ReviewCount        int
	ReviewFeedback     string
	Notes              string
	DependsOn          []string
	Touches            []string // patterns of package glob: what it will likely change
}

// Bytes is the file that the list was read from.
func (l *List) Bytes() []byte { return l.doc.Bytes() }

// done reports whether nothing is left to do for a story.
func (s *Story) done(r Rules) bool {
	return s.Passes && (r.SkipReview || s.Status == Approved)
}

// covered yields the stories that the work is about.
func (l *List) covered(r Rules) iter.Seq[*Story] {
	return func(yield func(*Story) bool) {
		for i := range l.Stories {
			if s := &l.Stories[i]; r.covers(s.ID) && !yield(s) {
				return
			}
		}
	}
}

// Done reports whether every story passes and, unless reviews are skipped, is
// approved.
func (l *List) Done(r Rules) bool {
	some := false
	for s := range l.covered(r) {
		if !s.done(r) {
			return false
		}
		some = true
	}
	return some
}

// Mode is what the next iteration is for: feedback is dealt with before anything
// is reviewed, and reviews come before new work.
func (l *List) Mode(r Rules) Mode {
	mode, r := Implement, l.turn(r)
	for s := range l.covered(r) {
		switch {
		case r.SkipReview:
			return Implement
		case s.Status == ChangesRequested:
			return ReviewFix
		case s.Status == NeedsReview:
			mode = Review
		}
	}
	return mode
}

// Next is the story of the next iteration: of those that its mode is for, and
// that depend on nothing unfinished, the one with the lowest priority number;
// among equals the first in the file. Without one, ok is false.
func (l *List) Next(r Rules) (story Story, ok bool) {
	mode := l.Mode(r)
	done := l.finished(r)
	r = l.turn(r)
	for s := range l.covered(r) {
		if (!ok || s.Priority < story.Priority) && s.fits(mode, r) && (mode != Implement || s.ready(done)) {
			story, ok = *s, true
		}
	}
	return story, ok
}

// turn is the rules for the story whose turn it is: those that are named are worked on one
// after the other, in their order.
func (l *List) turn(r Rules) Rules {
	for _, id := range r.Only {
		if i := slices.IndexFunc(l.Stories, func(s Story) bool { return s.ID == id }); i >= 0 && !l.Stories[i].done(r) {
			r.Only = []string{id}
			break
		}
	}
	return r
}

// Ready are the stories that are not done and depend on nothing unfinished, in
// the order of the file.
func (l *List) Ready(r Rules) []Story {
	var ready []Story
	done := l.finished(r)
	for s := range l.covered(r) {
		if !s.done(r) && s.ready(done) {
			ready = append(ready, *s)
		}
	}
	return ready
}

// fits reports whether an iteration of the mode may choose the story.
func (s *Story) fits(mode Mode, r Rules) bool {
	switch {
	case r.SkipReview:
		return !s.Passes
	case mode == ReviewFix:
		return s.Status == ChangesRequested
	case mode == Review:
		return s.Status == NeedsReview
	}
	return s.Status == Open && !s.Passes
}

// ready reports whether everything the story depends on is done.
func (s *Story) ready(done map[string]bool) bool {
	return !slices.ContainsFunc(s.DependsOn, func(id string) bool { return !done[id] })
}

func (l *List) finished(r Rules) map[string]bool {
	done := make(map[string]bool, len(l.Stories))
	for i := range l.Stories {
		if l.Stories[i].done(r) {
			done[l.Stories[i].ID] = true
		}
	}
	return done
}
