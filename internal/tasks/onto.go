package tasks

import (
	"bytes"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/tasks/document"
)

// Onto is another version of the list with what this one says of the stories that the
// rules cover, and with the stories that only this one has, each behind the one it
// follows here. All else stays byte by byte as the other version has it, so that git
// can merge what jobs beside each other make of one list. Should that be no list, it is
// this one. What since has and the other version lacks was taken out there; nil: nothing.
func (l *List) Onto(other *List, r Rules, since *List) *List {
	again, err := Read(other.Bytes())
	if err != nil {
		return l
	}
	mine := compare(l, r)
	for i := range again.Stories {
		id := again.Stories[i].ID
		if j, there := mine.index[id]; there && r.covers(id) {
			again.stories.Items[i].Value.Take(&l.stories.Items[j].Value)
		}
	}
	mine.restore(again.stories, func(s *Story) bool {
		return since == nil || !slices.ContainsFunc(since.Stories, func(old Story) bool { return old.ID == s.ID })
	})
	if again, err = Read(again.Bytes()); err != nil {
		return l
	}
	return again
}

// Reopen is the list with one of the stories that are done and that the rules cover
// given back for changes, with all its reviews to come: the last one. What was left at the
// cap stays in its feedback. Without such a story the list stays as it is.
func (l *List) Reopen(r Rules, feedback string) *List {
	last := -1
	for i := range l.Stories {
		if s := &l.Stories[i]; r.covers(s.ID) && s.done(r) {
			last = i
		}
	}
	if last < 0 {
		return l
	}
	if l.Stories[last].AutoApproved() {
		feedback += "\n\n" + l.Stories[last].ReviewFeedback
	}
	if r.SkipReview {
		return l.Return(l.Stories[last].ID, Open, "", "")
	}
	return l.Return(l.Stories[last].ID, ChangesRequested, feedback, "")
}

// Return is the list with a story given back in some state, with all its reviews to come. It
// keeps its own notes, else has these: who fixes it need not write any.
func (l *List) Return(id string, status Status, feedback, notes string) *List {
	again, err := Read(l.Bytes())
	i := slices.IndexFunc(l.Stories, func(s Story) bool { return s.ID == id })
	if err != nil || i < 0 {
		return l
	}
	story := &again.stories.Items[i].Value
	for _, field := range stateFields() {
		story.Set(field, initial(field))
	}
	if status != Open {
		story.Set(fieldStatus, document.Node{Kind: document.Text, Raw: document.Quoted(string(status))})
	}
	story.Set(fieldFeedback, document.Node{Kind: document.Text, Raw: document.Quoted(feedback)})
	if notes != "" && blank(l.Stories[i].Notes) {
		story.Set(fieldNotes, document.Node{Kind: document.Text, Raw: document.Quoted(notes)})
	}
	if again, err = Read(again.Bytes()); err != nil {
		return l
	}
	return again
}

// Touching finds two of some stories that git cannot merge changes of, each from
// another branch, because no line lies between them. ok is false if there are none.
func (l *List) Touching(ids map[string]bool) (a, b string, ok bool) {
	end := 0 // the line at which the members of a end
	for i := range l.stories.Items {
		n := &l.stories.Items[i].Value
		if b = l.Stories[i].ID; !ids[b] {
			continue
		}
		if first, _ := document.Place(l.doc.Source, n.Items[0].At); a != "" && first-end < 2 {
			return a, b, true
		}
		var text bytes.Buffer
		n.Write(&text)
		start, _ := document.Place(l.doc.Source, n.At)
		a, end = b, start+bytes.Count(text.Bytes(), []byte("\n"))-strings.Count(n.Raw, "\n")
	}
	return "", "", false
}
