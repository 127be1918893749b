package tasks

import (
	"fmt"
	"slices"

	"github.com/org/ralph-action/internal/lib/printable"
	"github.com/org/ralph-action/internal/tasks/document"
)

// Setup puts back what people set up for the list as a whole, and no iteration
// may change: the commands that check it and its branch. The list is one that
// passed the snapshot's checks.
func (s Snapshot) Setup(l *List) Repaired {
	kept := Repaired{List: l}
	if !s.Known() || s.brief {
		return kept
	}
	was := s.list
	var fields []string
	if l.BranchName != was.BranchName {
		fields = append(fields, "branchName")
	}
	if !slices.Equal(l.VerifyCommands, was.VerifyCommands) {
		fields = append(fields, "verifyCommands")
	}
	if len(fields) == 0 {
		return kept
	}
	r := s.edit(l, func(again *List) {
		for _, name := range fields {
			root := &again.doc.Root
			root.Remove(name)
			if value := was.doc.Root.Member(name); value != nil {
				root.Set(name, *value)
			}
		}
	})
	for _, name := range fields {
		r.Problems = append(r.Problems, Problem{Kind: Transition, index: -1,
			Text: fmt.Sprintf("%s is for the people who set the list up: an iteration cannot change it.", name)})
	}
	return r
}

// edit changes a copy of a list. Should it be no list any more, the snapshot's
// takes its place.
func (s Snapshot) edit(l *List, change func(*List)) Repaired {
	again, err := Read(l.Bytes())
	if err == nil {
		change(again)
		again, err = Read(again.Bytes())
	}
	if err != nil { // it was read before
		return Repaired{List: s.list, Changed: true, Whole: true}
	}
	return Repaired{List: again, Changed: true}
}

// maxWhy bounds the reason of a withdrawal, in runes.
const maxWhy = 500

// Withdraw puts the story that a review iteration approved back to how the
// snapshot has it, because the approval cannot count: why says what speaks
// against it, in one line. The list is one that passed the snapshot's checks.
// Without an approval to withdraw it stays as it is.
func (s Snapshot) Withdraw(l *List, why string) Repaired {
	kept := Repaired{List: l}
	if !s.Known() || s.brief || s.Mode != Review {
		return kept
	}
	t := transitions{Snapshot: s, after: l}
	i := t.choose()
	if i < 0 || l.Stories[i].Status != Approved {
		return kept
	}
	p := Problem{Kind: Transition, Story: Visible(l.Stories[i].ID), index: i, reset: stateFields()}
	p.Text = fmt.Sprintf("The review approved story %s while checks fail: %s. It does not count, and the story is to be reviewed again.",
		p.Story, printable.Visible(printable.Cut(why, maxWhy)))
	p.Line, p.Column = document.Place(l.doc.Source, l.stories.Items[i].Value.At)
	r := s.edit(l, func(again *List) { s.putBack(again, p) })
	r.Problems = []Problem{p}
	return r
}
