package tasks

import "github.com/org/ralph-action/internal/tasks/document"

// shape makes a file follow the schema, dependencies apart: what is wrong is put
// back, elements that are no story are left out, and stories that disappeared
// before they were done stand where they stood. Those are said.
func (s Snapshot) shape(doc *document.File) []Problem {
	root := &doc.Root
	was := &s.list.doc.Root
	top := listRules()
	root.Single(top.index)
	for _, rule := range top.list {
		if rule.name != fieldStories {
			mendField(root, was, rule)
		}
	}
	known, seen := storyRules(), map[string]bool{}
	stories := root.Member(fieldStories)
	kept := make([]document.Item, 0, len(stories.Items))
	for _, it := range stories.Items {
		n := &it.Value
		if n.Kind != document.Object {
			continue
		}
		n.Single(known.index)
		id := n.Member(fieldID)
		if id == nil || wantID(id) != "" || seen[id.Text] {
			continue
		}
		if s.story(n, known); known.allow(n) {
			seen[id.Text] = true
			kept = append(kept, it)
		}
	}
	stories.Items = kept
	var lost Problems
	s.restore(stories, func(was *Story) bool {
		if !s.stays(was) {
			return false
		}
		lost.add(s.lost(was))
		return true
	})
	return lost.all()
}

// allow reports whether an object has the fields it has to have.
func (known rules) allow(n *document.Node) bool {
	for _, rule := range known.list {
		if v := n.Member(rule.name); v == nil && rule.required || v != nil && rule.want(v) != "" {
			return false
		}
	}
	return true
}

// story mends the fields of a story. A new one that lacks more than its state
// has nothing it could be mended from.
func (s Snapshot) story(n *document.Node, known rules) {
	id := n.Member(fieldID).Text
	i, old := s.index[id]
	was := &document.Node{Kind: document.Object}
	if old {
		was = &s.list.stories.Items[i].Value
	}
	for _, rule := range known.list {
		mendField(n, was, rule)
	}
	for _, field := range stateFields() {
		if n.Member(field) == nil {
			n.Set(field, initial(field))
		}
	}
	notes := n.Member(fieldNotes)
	if n.Member(fieldPasses).Raw != "true" || notes != nil && notes.Kind == document.Text && !blank(notes.Text) {
		return
	}
	// It passes and says nothing about it: the notes it had will do, and
	// without them the passing goes.
	if old && !blank(s.list.Stories[i].Notes) {
		n.Set(fieldNotes, *was.Member(fieldNotes))
		return
	}
	for _, field := range stateFields() {
		s.reset(n, id, field)
	}
}

// mendField puts a field back that is missing or wrong; what was not there
// before is removed.
func mendField(n, was *document.Node, rule rule) {
	now, old := n.Member(rule.name), was.Member(rule.name)
	switch {
	case now == nil && !rule.required, now != nil && rule.want(now) == "":
	case old != nil:
		n.Set(rule.name, *old)
	case now != nil:
		n.Remove(rule.name)
	}
}

// restore puts stories of the snapshot that are missing back: after the one that
// stood before them.
func (s Snapshot) restore(stories *document.Node, wanted func(*Story) bool) {
	at := make(map[string]int, len(stories.Items))
	for i := range stories.Items {
		at[stories.Items[i].Value.Member(fieldID).Text] = i
	}
	byPlace := make([][]document.Node, len(stories.Items)+1)
	missing, before := 0, 0
	for i := range s.list.Stories {
		was := &s.list.Stories[i]
		if j, there := at[was.ID]; there {
			before = j + 1
			continue
		}
		if wanted(was) {
			byPlace[before] = append(byPlace[before], s.list.stories.Items[i].Value.Own())
			missing++
		}
	}
	if missing == 0 {
		return
	}
	places, values := make([]int, 0, missing), make([]document.Node, 0, missing)
	for i, here := range byPlace {
		for _, n := range here {
			places, values = append(places, i), append(values, n)
		}
	}
	stories.Insert(places, values)
	if len(at) == 0 {
		was := s.list.stories
		for i := range stories.Items {
			stories.Items[i].Pre = was.Items[0].Pre
		}
		stories.Raw = was.Raw
	}
}

// depends puts every dependsOn back as it was, with the stories it names. A new
// story depends on nothing.
func (s Snapshot) depends(doc *document.File) {
	stories := doc.Root.Member(fieldStories)
	for i := range stories.Items {
		n := &stories.Items[i].Value
		was := &document.Node{Kind: document.Object}
		if j, old := s.index[n.Member(fieldID).Text]; old {
			was = &s.list.stories.Items[j].Value
		}
		if old := was.Member(fieldDepends); old != nil {
			n.Set(fieldDepends, *old)
		} else {
			n.Remove(fieldDepends)
		}
	}
	s.restore(stories, func(*Story) bool { return true })
}
