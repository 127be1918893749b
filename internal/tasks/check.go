package tasks

import (
	"fmt"

	"github.com/org/ralph-action/internal/tasks/document"
)

// CapMark begins the feedback of a story that was approved because its reviews
// were used up.
const CapMark = "[AUTO-APPROVED AT CAP]"

// AutoApproved reports whether a story was approved because its reviews were used up,
// by what its reviewer wrote: people should look at it.
func (s *Story) AutoApproved() bool { return s.Status == Approved && marked(s.ReviewFeedback) }

// Check finds stories whose state contradicts itself. With reviews skipped there
// is nothing to contradict.
func (l *List) Check(r Rules) []Problem {
	if r.SkipReview {
		return nil
	}
	var found Problems
	for i := range l.Stories {
		s := &l.Stories[i]
		if text := s.contradiction(r); text != "" {
			found.add(Problem{Kind: Invariant, Story: Visible(s.ID), Text: text, index: i, reset: stateFields()})
		}
	}
	for i := range found.List {
		p := &found.List[i]
		p.Line, p.Column = document.Place(l.doc.Source, l.stories.Items[p.index].Value.At)
	}
	return found.all()
}

func (s *Story) contradiction(r Rules) string {
	id := Visible(s.ID)
	switch {
	case s.Passes && s.Status != Approved:
		return fmt.Sprintf("Story %s has passes=true but reviewStatus is '%s', not 'approved'. Only review iterations may approve stories. "+
			"Set passes back to false or complete the review cycle.", id, s.Status)
	case s.Status == Approved && !s.Passes:
		return fmt.Sprintf("Story %s has reviewStatus 'approved' but passes=false. The two are out of sync: an approved story passes.", id)
	case s.Status == ChangesRequested && blank(s.ReviewFeedback):
		return fmt.Sprintf("Story %s has reviewStatus 'changes_requested' but reviewFeedback is empty. Feedback required: say what has to change.", id)
	case r.ReviewCap > 0 && s.ReviewCount > r.ReviewCap+1:
		return fmt.Sprintf("Story %s has reviewCount %d, which no story reaches with a review cap of %d. Set it back to the number of its reviews.",
			id, s.ReviewCount, r.ReviewCap)
	}
	return ""
}

// all is the list, with a last line for what is left out.
func (p *Problems) all() []Problem {
	if p.More == 0 {
		return p.List
	}
	last := p.List[len(p.List)-1]
	return append(p.List, Problem{Kind: last.Kind, index: -1, Text: fmt.Sprintf("and %d more", p.More)})
}
