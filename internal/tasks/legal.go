package tasks

import (
	"errors"
	"fmt"
	"slices"
)

// Legal is the list in a file, which the error calls by its name, or everything that is wrong
// with it as one error.
func (r Rules) Legal(name string, data []byte) (*List, error) {
	list, problems := Snapshot{Rules: r}.Verify(data)
	var all []error
	for _, one := range problems {
		all = append(all, errors.New(one.String()))
	}
	if len(all) > 0 {
		return nil, fmt.Errorf("%s is not a valid task list:\n%w", name, errors.Join(all...))
	}
	return list, nil
}

// Story is the story with an id; nil if the list has none.
func (l *List) Story(id string) *Story {
	if i := slices.IndexFunc(l.Stories, func(s Story) bool { return s.ID == id }); i >= 0 {
		return &l.Stories[i]
	}
	return nil
}

// Asks reports whether two versions of a story ask for the same work.
func (s *Story) Asks(other *Story) bool {
	return s.Title == other.Title && s.Description == other.Description &&
		slices.Equal(s.AcceptanceCriteria, other.AcceptanceCriteria) && slices.Equal(s.DependsOn, other.DependsOn)
}
