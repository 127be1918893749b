package tasks

// shape makes a file follow the schema, dependencies apart: what is wrong is put
// back, elements that are no story are left out, and stories that disappeared
// before they were done stand where they stood. Those are said.
func (s Snapshot) shape(doc *document) []Problem {
	root := &doc.root
	was := &s.list.doc.root
	top := listRules()
	root.single(top.index)
	for _, rule := range top.list {
		if rule.name != fieldStories {
			mendField(root, was, rule)
		}
	}
	known, seen := storyRules(), map[string]bool{}
	stories := root.member(fieldStories)
	kept := make([]item, 0, len(stories.items))
	for _, it := range stories.items {
		n := &it.value
		if n.kind != object {
			continue
		}
		n.single(known.index)
		id := n.member(fieldID)
		if id == nil || wantID(id) != "" || seen[id.text] {
			continue
		}
		if s.story(n, known); n.follows(known) {
			seen[id.text] = true
			kept = append(kept, it)
		}
	}
	stories.items = kept
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

// follows reports whether an object has the fields it has to have.
func (n *node) follows(known rules) bool {
	for _, rule := range known.list {
		if v := n.member(rule.name); v == nil && rule.required || v != nil && rule.want(v) != "" {
			return false
		}
	}
	return true
}

// story mends the fields of a story. A new one that lacks more than its state
// has nothing it could be mended from.
func (s Snapshot) story(n *node, known rules) {
	id := n.member(fieldID).text
	i, old := s.index[id]
	was := &node{kind: object}
	if old {
		was = &s.list.stories.items[i].value
	}
	for _, rule := range known.list {
		mendField(n, was, rule)
	}
	for _, field := range stateFields() {
		if n.member(field) == nil {
			n.set(field, initial(field))
		}
	}
	notes := n.member(fieldNotes)
	if n.member(fieldPasses).raw != "true" || notes != nil && notes.kind == text && !blank(notes.text) {
		return
	}
	// It passes and says nothing about it: the notes it had will do, and
	// without them the passing goes.
	if old && !blank(s.list.Stories[i].Notes) {
		n.set(fieldNotes, *was.member(fieldNotes))
		return
	}
	for _, field := range stateFields() {
		s.reset(n, id, field)
	}
}

// mendField puts a field back that is missing or wrong; what was not there
// before is removed.
func mendField(n, was *node, rule rule) {
	now, old := n.member(rule.name), was.member(rule.name)
	switch {
	case now == nil && !rule.required, now != nil && rule.want(now) == "":
	case old != nil:
		n.set(rule.name, *old)
	case now != nil:
		n.remove(rule.name)
	}
}

// restore puts stories of the snapshot that are missing back: after the one that
// stood before them.
func (s Snapshot) restore(stories *node, wanted func(*Story) bool) {
	at := make(map[string]int, len(stories.items))
	for i := range stories.items {
		at[stories.items[i].value.member(fieldID).text] = i
	}
	byPlace := make([][]node, len(stories.items)+1)
	missing, before := 0, 0
	for i := range s.list.Stories {
		was := &s.list.Stories[i]
		if j, there := at[was.ID]; there {
			before = j + 1
			continue
		}
		if wanted(was) {
			byPlace[before] = append(byPlace[before], s.list.stories.items[i].value.own())
			missing++
		}
	}
	if missing == 0 {
		return
	}
	places, values := make([]int, 0, missing), make([]node, 0, missing)
	for i, here := range byPlace {
		for _, n := range here {
			places, values = append(places, i), append(values, n)
		}
	}
	stories.insert(places, values)
	if len(at) == 0 {
		was := s.list.stories
		for i := range stories.items {
			stories.items[i].pre = was.items[0].pre
		}
		stories.raw = was.raw
	}
}

// depends puts every dependsOn back as it was, with the stories it names. A new
// story depends on nothing.
func (s Snapshot) depends(doc *document) {
	stories := doc.root.member(fieldStories)
	for i := range stories.items {
		n := &stories.items[i].value
		was := &node{kind: object}
		if j, old := s.index[n.member(fieldID).text]; old {
			was = &s.list.stories.items[j].value
		}
		if old := was.member(fieldDepends); old != nil {
			n.set(fieldDepends, *old)
		} else {
			n.remove(fieldDepends)
		}
	}
	s.restore(stories, func(*Story) bool { return true })
}
