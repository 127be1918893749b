package tasks

import "fmt"

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
	p := Problem{Kind: Transition, Story: visible(l.Stories[i].ID), index: i, reset: stateFields()}
	p.Text = fmt.Sprintf("The review approved story %s while checks fail: %s. It does not count, and the story is to be reviewed again.",
		p.Story, printable(cut(why, maxWhy)))
	p.Line, p.Column = place(l.doc.source, l.stories.items[i].value.at)
	again, err := Read(l.Bytes())
	if err == nil {
		s.putBack(again, p)
		again, err = Read(again.Bytes())
	}
	if err != nil { // it was read before
		return Repaired{List: s.list, Problems: []Problem{p}, Changed: true, Whole: true}
	}
	return Repaired{List: again, Problems: []Problem{p}, Changed: true}
}
