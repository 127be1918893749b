package tasks

import (
	"slices"

	"github.com/org/ralph-action/internal/tasks/document"
)

// Repaired is a legal version of what an agent left.
type Repaired struct {
	// List passes every check of the snapshot; only [Stuck] may remain.
	List *List
	// Problems is what was wrong, to be said and fed into the next prompt.
	Problems []Problem
	// Changed says that List differs from what the agent left, and has to be
	// written.
	Changed bool
	// Whole says that nothing of what the agent left could be kept.
	Whole bool
}

// Repair puts back what the agent may not have written: the snapshot's values,
// stories that disappeared, the beginning of a new story. The rest of the file
// stays byte by byte as the agent wrote it. What cannot be read at all is
// replaced by the snapshot, which has to be known. The snapshot of a marker puts
// nothing back.
func (s Snapshot) Repair(data []byte) Repaired {
	list, doc, problems := s.verify(data)
	if s.brief || list != nil && !needsRepair(problems) {
		return Repaired{List: list, Problems: problems}
	}
	if mended, more, ok := s.mend(doc, list, problems); ok {
		return Repaired{List: mended, Problems: more, Changed: true}
	}
	return Repaired{List: s.list, Problems: problems, Changed: true, Whole: true}
}

func needsRepair(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Kind != Stuck })
}

// mend works in rounds, because a problem can hide others: first the shape of
// the file, which is nil if it is not JSON, then what the stories say. left is the list
// that it is, if its shape is right. said grows by what comes to light.
func (s Snapshot) mend(doc *document.File, left *List, said []Problem) (list *List, all []Problem, ok bool) {
	doc, ok = s.begin(doc, left)
	if !ok {
		return nil, said, false
	}
	said = join(said, s.shape(doc))
	const rounds = 4
	for round := range rounds {
		list, problems := s.Verify(doc.Bytes())
		if list != nil && !needsRepair(problems) {
			return list, said, true
		}
		if round > 0 || list != nil {
			said = join(said, problems)
		}
		if list == nil {
			// Dependencies are all that shape leaves.
			s.depends(doc)
			continue
		}
		doc = s.undo(list)
	}
	return nil, said, false
}

// begin is the file to mend. Without a list of stories there is none.
func (s Snapshot) begin(doc *document.File, left *List) (*document.File, bool) {
	if left != nil {
		return s.undo(left), true
	}
	if doc == nil || doc.Root.Kind != document.Object {
		return nil, false
	}
	stories := doc.Root.Member(fieldStories)
	return doc, stories != nil && stories.Kind == document.Array
}

// undo puts the states of stories back, in the list's own document.
func (s Snapshot) undo(list *List) *document.File {
	for _, p := range s.every(list) {
		s.putBack(list, p)
	}
	return list.doc
}

// every is all problems of a list, also those too many to be listed. What a
// change made contradictory is gone with the change, so changes come first.
func (s Snapshot) every(list *List) []Problem {
	t := transitions{Snapshot: s, after: list, chosen: -1}
	t.found.limit = len(list.Stories) * len(stateFields())
	t.moves()
	all := t.found.List
	for i := range list.Stories {
		if len(t.found.List) == 0 && !s.Rules.SkipReview && list.Stories[i].contradiction(s.Rules) != "" {
			all = append(all, Problem{index: i, reset: stateFields()})
		}
	}
	return all
}

// putBack gives the fields of a problem the values they had, or, in a new story,
// those it starts with.
func (s Snapshot) putBack(list *List, p Problem) {
	if p.index < 0 {
		return
	}
	story := &list.stories.Items[p.index].Value
	for _, field := range p.reset {
		s.reset(story, list.Stories[p.index].ID, field)
	}
}

func (s Snapshot) reset(story *document.Node, id, field string) {
	i, known := s.index[id]
	if !known {
		story.Set(field, initial(field))
		return
	}
	story.Set(field, *s.list.stories.Items[i].Value.Member(field))
}

// join adds the problems whose text was not said yet.
func join(said, more []Problem) []Problem {
	seen := make(map[string]bool, len(said))
	for _, p := range said {
		seen[p.Text] = true
	}
	for _, p := range more {
		if !seen[p.Text] && p.Kind != Stuck {
			p.Line, p.Column = 0, 0 // they are places in no file of the agent's
			said = append(said, p)
		}
	}
	return said
}

// Restore is [Snapshot.Repair] for a file that cannot be read at all.
func (s Snapshot) Restore(why error) Repaired {
	p := Problem{Kind: Schema, index: -1, Text: why.Error()}
	if s.brief {
		return Repaired{Problems: []Problem{p}}
	}
	return Repaired{List: s.list, Problems: []Problem{p}, Changed: true, Whole: true}
}
