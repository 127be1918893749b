package tasks

import (
	"bytes"
	"slices"
	"strings"
)

// Onto is another version of the list with what this one says of the stories that the
// rules cover, and with the stories that only this one has, each behind the one it
// follows here. All else stays byte by byte as the other version has it, so that git
// can merge what jobs beside each other make of one list. Should that be no list, it is
// this one.
func (l *List) Onto(other *List, r Rules) *List {
	again, err := Read(other.Bytes())
	if err != nil {
		return l
	}
	mine := compare(l, r)
	for i := range again.Stories {
		id := again.Stories[i].ID
		if j, there := mine.index[id]; there && r.covers(id) {
			again.stories.items[i].value.take(&l.stories.items[j].value)
		}
	}
	mine.restore(again.stories, func(*Story) bool { return true })
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
	again, err := Read(l.Bytes())
	if err != nil || last < 0 {
		return l
	}
	if l.Stories[last].AutoApproved() {
		feedback += "\n\n" + l.Stories[last].ReviewFeedback
	}
	story := &again.stories.items[last].value
	for _, field := range stateFields() {
		story.set(field, initial(field))
	}
	if !r.SkipReview {
		story.set(fieldStatus, node{kind: text, raw: quoted(string(ChangesRequested))})
		story.set(fieldFeedback, node{kind: text, raw: quoted(feedback)})
	}
	if again, err = Read(again.Bytes()); err != nil {
		return l
	}
	return again
}

// take gives an object the members of another one, and leaves those as they are written
// that say the same, or that the other one lacks.
func (n *node) take(from *node) {
	for i := range from.items {
		it := &from.items[i]
		if old := n.member(it.key); old == nil || !old.equal(&it.value) {
			n.set(it.key, it.value)
		}
	}
}

// equal reports whether two values say the same, however they are written.
func (n *node) equal(m *node) bool {
	if n.kind != m.kind || len(n.items) != len(m.items) {
		return false
	}
	switch n.kind {
	case text:
		return n.text == m.text
	case array:
		return slices.EqualFunc(n.items, m.items, func(a, b item) bool { return a.value.equal(&b.value) })
	case object:
		return !slices.ContainsFunc(n.items, func(it item) bool {
			other := m.member(it.key)
			return other == nil || !it.value.equal(other)
		})
	}
	return n.raw == m.raw
}

// Touching finds two of some stories that git cannot merge changes of, each from
// another branch, because no line lies between them. ok is false if there are none.
func (l *List) Touching(ids map[string]bool) (a, b string, ok bool) {
	end := 0 // the line at which the members of a end
	for i := range l.stories.items {
		n := &l.stories.items[i].value
		if b = l.Stories[i].ID; !ids[b] {
			continue
		}
		if first, _ := place(l.doc.source, n.items[0].at); a != "" && first-end < 2 {
			return a, b, true
		}
		var text bytes.Buffer
		n.write(&text)
		start, _ := place(l.doc.source, n.at)
		a, end = b, start+bytes.Count(text.Bytes(), []byte("\n"))-strings.Count(n.raw, "\n")
	}
	return "", "", false
}
