package tasks

import (
	"strings"

	"github.com/org/ralph-action/internal/tasks/document"
)

// Snapshot is a list as it was before an iteration, held in memory where the
// agent cannot reach it. The zero value knows nothing: with it only schema and
// invariants are checked.
type Snapshot struct {
	Mode  Mode
	Rules Rules
	Story Story // the one the iteration is for; without an ID there is none

	list  *List
	index map[string]int // by id, into list.Stories
	still bool           // no iteration runs: nothing may move at all
	brief bool           // read from a marker: list has no document, its stories have a state only, without feedback
}

// Take keeps a list that passes [List.Check] for comparison.
func Take(l *List, r Rules) Snapshot {
	s := compare(l, r)
	s.Mode = l.Mode(r)
	s.Story, _ = l.Next(r)
	return s
}

// Between keeps a list for the time when no iteration runs, in which a process
// that the agent left behind may write to it. No state may change, reviews
// skipped or not, and no story disappear; stories may be added at the start
// state, and other text be edited.
func Between(l *List, r Rules) Snapshot {
	s := compare(l, r)
	s.still = true
	return s
}

func compare(l *List, r Rules) Snapshot {
	s := Snapshot{Rules: r, list: l, index: make(map[string]int, len(l.Stories))}
	for i := range l.Stories {
		s.index[l.Stories[i].ID] = i
	}
	return s
}

// closed reports whether some stories, or all, may not be touched by anybody.
func (s Snapshot) closed() bool { return s.still || len(s.Rules.Only) > 0 }

// Known reports whether there is something to compare with.
func (s Snapshot) Known() bool { return s.list != nil }

// List is what was kept; nil when nothing was, or only what a marker tells.
func (s Snapshot) List() *List {
	if s.brief {
		return nil
	}
	return s.list
}

// Verify is the one check of what an agent left in tasks.json, for the stop hook
// and for the loop: schema; when it holds, invariants and transitions. No
// problems: the list is legal.
func (s Snapshot) Verify(data []byte) (*List, []Problem) {
	after, _, problems := s.verify(data)
	return after, problems
}

func (s Snapshot) verify(data []byte) (*List, *document.File, []Problem) {
	after, doc, problems := read(data)
	if problems != nil {
		return nil, doc, problems.all()
	}
	return after, doc, append(after.Check(s.Rules), s.Transitions(after)...)
}

func (s Snapshot) before(id string) (*Story, bool) {
	i, ok := s.index[id]
	if !ok {
		return nil, false
	}
	return &s.list.Stories[i], true
}

// marked reports whether feedback claims an approval at the cap. White space before it
// and the case of letters do not hide it.
func marked(feedback string) bool {
	start := strings.TrimSpace(feedback)
	return len(start) >= len(CapMark) && strings.EqualFold(start[:len(CapMark)], CapMark)
}

// atCap reports whether a story has had all its reviews.
func (s *Story) atCap(r Rules) bool { return r.ReviewCap > 0 && s.ReviewCount >= r.ReviewCap }
