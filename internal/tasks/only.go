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
		return fmt.Errorf("story %s is not in the list: give one of %s", quote(r.Only), l.ids())
	}
	s := &l.Stories[i]
	if s.done(r) {
		return nil
	}
	done := l.finished(r)
	var open []string
	for _, id := range s.DependsOn {
		if !done[id] {
			open = append(open, id)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return fmt.Errorf("story %s depends on %s, not done yet: finish that first, or choose another story", visible(s.ID), some(open, visible))
}

// ids names the first stories.
func (l *List) ids() string {
	all := make([]string, len(l.Stories))
	for i := range l.Stories {
		all[i] = l.Stories[i].ID
	}
	return some(all, visible)
}
