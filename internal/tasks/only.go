package tasks

import (
	"errors"
	"fmt"
	"slices"
)

// CheckOnly says why a list cannot be worked on for the stories that the rules name:
// there is no such story, it is named twice, or it depends on one that is neither done
// nor named before it. Without such stories there is nothing to check.
func (l *List) CheckOnly(r Rules) error {
	var wrong []error
	ids := make([]string, len(l.Stories))
	for i := range l.Stories {
		ids[i] = l.Stories[i].ID
	}
	done := l.finished(r)
	for n, id := range r.Only {
		i := slices.Index(ids, id)
		switch {
		case i < 0:
			wrong = append(wrong, fmt.Errorf("story %s is not in the list: give one of %s", Quote(id), some(ids, Visible)))
			continue
		case slices.Contains(r.Only[:n], id):
			wrong = append(wrong, fmt.Errorf("story %s is given twice", Visible(id)))
		}
		open := slices.DeleteFunc(slices.Clone(l.Stories[i].DependsOn), func(id string) bool { return done[id] || slices.Contains(r.Only[:n], id) })
		if !l.Stories[i].done(r) && len(open) > 0 {
			wrong = append(wrong, fmt.Errorf("story %s depends on %s, not done yet: finish that first, or choose another story", Visible(id), some(open, Visible)))
		}
	}
	return errors.Join(wrong...)
}

// only names the stories that the rules name.
func (r Rules) only() string {
	if len(r.Only) == 1 {
		return "story " + Visible(r.Only[0])
	}
	return "stories " + some(r.Only, Visible)
}
