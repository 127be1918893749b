package tasks

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Read reads tasks.json: at most 8 MiB of JSON with the fields that
// docs/tasks.schema.json describes, ids that are unique, and dependsOn that
// names existing stories without going in a circle. Unknown fields are kept.
// The error is a [*Problems] with everything that is wrong; when the text is
// not JSON, with the first place where it is not.
func Read(data []byte) (*List, error) {
	l, problems := read(data)
	if problems != nil {
		return nil, problems
	}
	return l, nil
}

func read(data []byte) (*List, *Problems) {
	doc, bad := parse(data, maxBytes)
	if bad != nil {
		return nil, &Problems{List: []Problem{*bad}}
	}
	r := reader{doc: doc, story: storyRules()}
	l := r.list()
	r.dependencies(l)
	if len(r.problems.List) > 0 {
		r.places()
		return nil, &r.problems
	}
	return l, nil
}

type reader struct {
	doc      *document
	story    rules
	problems Problems
	at       []uint32 // offsets of the problems
	found    []*node  // of the last object
	none     node
}

// full counts a problem that would not be listed: there may be so many that
// their texts take too long.
func (r *reader) full() bool {
	full := len(r.problems.List) == maxProblems
	if full {
		r.problems.More++
	}
	return full
}

func (r *reader) problem(at uint32, index int, id, text string) {
	r.at = append(r.at, at)
	r.problems.add(Problem{Kind: Schema, Story: id, Text: text, index: index})
}

// places gives the problems their lines, and the order of the file.
func (r *reader) places() {
	order := make([]int, len(r.problems.List))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.at[a], r.at[b]) })
	sorted := make([]Problem, len(order))
	for i, from := range order {
		sorted[i] = r.problems.List[from]
		sorted[i].Line, sorted[i].Column = place(r.doc.source, r.at[from])
	}
	r.problems.List = sorted
}

func (r *reader) list() *List {
	l := &List{doc: r.doc}
	root := &r.doc.root
	if root.kind != object {
		r.problem(root.at, -1, "", "the file is "+show(root)+": give an object with project, branchName, description and userStories")
		return l
	}
	found := r.fields(root, listRules(), -1)
	l.Project, l.BranchName, l.Description = found[0].text, found[1].text, found[2].text
	l.VerifyCommands = found[3].texts()
	l.stories = found[4]
	if l.stories.kind != array {
		return l
	}
	l.Stories = make([]Story, 0, len(l.stories.items))
	seen := make(map[string]int, len(l.stories.items))
	for i := range l.stories.items {
		r.readStory(l, i, seen)
	}
	return l
}

func (r *reader) readStory(l *List, i int, seen map[string]int) {
	n := &l.stories.items[i].value
	if n.kind != object {
		r.wrong(n.at, n, i, " is "+show(n)+": give an object")
		return
	}
	found := r.fields(n, r.story, i)
	s := Story{
		ID: found[0].text, Title: found[1].text, Description: found[2].text, AcceptanceCriteria: found[3].texts(), Priority: found[4].float(),
		Passes: found[5].raw == "true", Status: Status(found[6].text), ReviewCount: int(found[7].float()),
		ReviewFeedback: found[8].text, Notes: found[9].text, DependsOn: found[10].texts(),
	}
	if first, twice := seen[s.ID]; s.ID != "" && twice {
		r.wrong(n.at, n, i, fmt.Sprintf(": Duplicate id, in userStories[%d] and [%d]: give each story an id of its own", first, i))
	} else {
		seen[s.ID] = i
	}
	if s.Passes && blank(s.Notes) {
		r.wrong(found[5].at, n, i, " has passes=true but its notes are empty: write in notes what was done")
	}
	l.Stories = append(l.Stories, s)
}

// fields looks up the known fields of an object; what is missing or wrong is a
// problem, and an empty node. The result is good until the next call.
func (r *reader) fields(n *node, known rules, index int) []*node {
	r.found = slices.Grow(r.found[:0], len(known.list))[:len(known.list)]
	found := r.found
	clear(found)
	for i := range n.items {
		it := &n.items[i]
		k, ok := known.index[it.key]
		if !ok {
			continue
		}
		if found[k] != nil {
			r.wrong(it.at, n, index, ": "+it.key+" is there twice")
		}
		found[k] = &it.value
	}
	for k, rule := range known.list {
		switch {
		case found[k] == nil && rule.required:
			r.wrong(n.at, n, index, ": "+rule.name+" is missing")
			found[k] = &r.none
		case found[k] == nil:
			found[k] = &r.none
		default:
			if want := rule.want(found[k]); want != "" {
				r.wrong(found[k].at, n, index, ": "+rule.name+" is "+show(found[k])+": "+want)
				found[k] = &r.none
			}
		}
	}
	return found
}

// wrong is a problem of a story, which text goes on about, or of the list.
func (r *reader) wrong(at uint32, n *node, index int, text string) {
	if r.full() {
		return
	}
	if index < 0 {
		r.problem(at, -1, "", strings.TrimPrefix(text, ": "))
		return
	}
	if id := n.member(fieldID); id != nil && wantID(id) == "" {
		shown := Visible(id.text)
		r.problem(at, index, shown, "Story "+shown+text)
		return
	}
	r.problem(at, index, "", fmt.Sprintf("userStories[%d]%s", index, text))
}

func (n *node) texts() []string {
	if len(n.items) == 0 {
		return nil
	}
	all := make([]string, len(n.items))
	for i := range n.items {
		all[i] = n.items[i].value.text
	}
	return all
}

func (n *node) float() float64 {
	f, _ := strconv.ParseFloat(n.raw, 64) // checked by wantNumber
	return f
}
