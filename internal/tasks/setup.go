package tasks

import (
	"fmt"
	"slices"
)

// Setup puts back what people set up for the list as a whole, and no iteration
// may change: the commands that check it and its branch. The list is one that
// passed the snapshot's checks.
func (s Snapshot) Setup(l *List) Repaired {
	kept := Repaired{List: l}
	if !s.Known() || s.brief {
		return kept
	}
	was := s.list
	var fields []string
	if l.BranchName != was.BranchName {
		fields = append(fields, "branchName")
	}
	if !slices.Equal(l.VerifyCommands, was.VerifyCommands) {
		fields = append(fields, "verifyCommands")
	}
	if len(fields) == 0 {
		return kept
	}
	again, err := Read(l.Bytes())
	if err == nil {
		for _, name := range fields {
			root := &again.doc.root
			root.remove(name)
			if value := was.doc.root.member(name); value != nil {
				root.set(name, *value)
			}
		}
		again, err = Read(again.Bytes())
	}
	r := Repaired{List: again, Changed: true}
	if err != nil { // it was read before
		r.List, r.Whole = was, true
	}
	for _, name := range fields {
		r.Problems = append(r.Problems, Problem{Kind: Transition, index: -1,
			Text: fmt.Sprintf("%s is for the people who set the list up: an iteration cannot change it.", name)})
	}
	return r
}
