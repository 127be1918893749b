package main

import (
	"slices"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

// report is the list as it stands.
func (b *backlog) report() ralph.TaskList {
	if b == nil || b.list == nil {
		return ralph.TaskList{}
	}
	t := ralph.TaskList{
		File: b.folder.Path(tasks.TasksName), Project: b.list.Project,
		SkipReview: b.rules.SkipReview, ReviewCap: b.rules.ReviewCap, Stories: b.list.Report(b.rules),
	}
	for i := range t.Stories {
		t.Stories[i].Iterations = b.worked[t.Stories[i].ID]
	}
	var other []string
	for _, s := range b.list.Stories {
		if was, known := b.asked[s.ID]; known && !slices.Equal(was.AcceptanceCriteria, s.AcceptanceCriteria) {
			other = append(other, oneLine(s.ID))
		}
	}
	if len(other) > 0 {
		b.job.note("The agent changed the acceptance criteria of " + listed(other) + ": compare them with what was asked for.")
	}
	return t
}

// done says that a story is done as the list stands now.
func (b *backlog) done(id string) bool {
	if b == nil || b.list == nil {
		return false
	}
	return slices.ContainsFunc(b.list.Report(b.rules), func(s ralph.Story) bool { return s.ID == id && s.Done })
}
