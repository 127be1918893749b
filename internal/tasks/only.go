package tasks

import (
	"fmt"
	"slices"
)

// CheckOnly says why a list cannot be worked on for the one story that the rules
// name: there is no such story, or it depends on one that is not done. Without
// such a story there is nothing to check.
func (l *List) CheckOnly(r Rules) error {
	if r.Only == "" {
		return nil
	}
	i := slices.IndexFunc(l.Stories, func(s Story) bool { return s.ID == r.Only })
	if i < 0 {
		var ids []string
		for _, s := range l.Stories {
			ids = append(ids, s.ID)
		}
		return fmt.Errorf("story %s is not in the list: give one of %s", Quote(r.Only), some(ids, Visible))
	}
	s := &l.Stories[i]
	done := l.finished(r)
	open := slices.DeleteFunc(slices.Clone(s.DependsOn), func(id string) bool { return done[id] })
	if s.done(r) || len(open) == 0 {
		return nil
	}
	return fmt.Errorf("story %s depends on %s, not done yet: finish that first, or choose another story", Visible(s.ID), some(open, Visible))
}
