package tasks

import "strings"

// Snapshot is a list as it was before an iteration, held in memory where the
// agent cannot reach it. The zero value knows nothing: with it only schema and
// invariants are checked.
type Snapshot struct {
	Mode  Mode
	Rules Rules
	Story Story // the one the iteration is for; without an ID there is none

	list  *List
	index map[string]int // by id, into list.Stories
}

// Take keeps a list that passes [List.Check] for comparison.
func Take(l *List, r Rules) Snapshot {
	s := Snapshot{Mode: l.Mode(r), Rules: r, list: l, index: make(map[string]int, len(l.Stories))}
	s.Story, _ = l.Next(r)
	for i := range l.Stories {
		s.index[l.Stories[i].ID] = i
	}
	return s
}

// Known says that there is something to compare with.
func (s Snapshot) Known() bool { return s.list != nil }

// List is what was kept; nil when nothing was.
func (s Snapshot) List() *List { return s.list }

// Verify is the one check of what an agent left in tasks.json, for the stop hook
// and for the loop: schema; when it holds, invariants and transitions. No
// problems: the list is legal.
func (s Snapshot) Verify(data []byte) (*List, []Problem) {
	after, err := Read(data)
	if err != nil {
		return nil, schemaProblems(err)
	}
	return after, append(after.Check(s.Rules), s.Transitions(after)...)
}

func (s Snapshot) before(id string) (*Story, bool) {
	i, ok := s.index[id]
	if !ok {
		return nil, false
	}
	return &s.list.Stories[i], true
}

// marked says that feedback claims an approval at the cap. White space before it
// and the case of letters do not hide it.
func marked(feedback string) bool {
	start := strings.TrimSpace(feedback)
	return len(start) >= len(CapMark) && strings.EqualFold(start[:len(CapMark)], CapMark)
}

// atCap says that a story has had all its reviews.
func (s *Story) atCap(r Rules) bool { return r.ReviewCap > 0 && s.ReviewCount >= r.ReviewCap }
