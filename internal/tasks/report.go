package tasks

import (
	"github.com/org/ralph-action/internal/lib/printable"
	"github.com/org/ralph-action/internal/ralph"
)

// Bounds of foreign text in a report, in runes.
const maxTitle, maxFeedback = 300, 4000

// Report is the stories as the report has them, in the order of the file. Their
// texts are cut, and not escaped.
func (l *List) Report(r Rules) []ralph.Story {
	all := make([]ralph.Story, len(l.Stories))
	for i := range l.Stories {
		s := &l.Stories[i]
		all[i] = ralph.Story{
			ID: s.ID, Title: printable.Cut(s.Title, maxTitle), Passes: s.Passes, Status: string(s.Status), Reviews: s.ReviewCount,
			Feedback: printable.Cut(s.ReviewFeedback, maxFeedback), AutoApproved: s.AutoApproved(), Done: s.done(r),
		}
	}
	return all
}
