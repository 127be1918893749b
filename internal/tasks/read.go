package tasks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/tasks/document"
)

// Read reads tasks.json: at most 8 MiB of JSON with the fields that
// docs/tasks.schema.json describes, ids that are unique, and dependsOn that
// names existing stories without going in a circle. Unknown fields are kept.
// The error is a [*Problems] with everything that is wrong; when the text is
// not JSON, with the first place where it is not.
func Read(data []byte) (*List, error) {
	l, _, problems := read(data)
	if problems != nil {
		return nil, problems
	}
	return l, nil
}

// read gives the document of what is no list, too, if it is JSON.
func read(data []byte) (*List, *document.File, *Problems) {
	doc, bad := parse(data, maxBytes)
	if bad != nil {
		return nil, nil, &Problems{List: []Problem{*bad}}
	}
	r := reader{doc: doc, story: storyRules()}
	l := r.list()
	r.dependencies(l)
	if len(r.problems.List) > 0 {
		r.places()
		return nil, doc, &r.problems
	}
	return l, doc, nil
}

// maxBytes bounds tasks.json.
const maxBytes = 8 << 20

// parse reads a file of at most so many bytes.
func parse(data []byte, most int) (*document.File, *Problem) {
	doc, err := document.Parse(data, most)
	if err != nil {
		return nil, &Problem{Kind: Schema, index: -1, Line: err.Line, Column: err.Column, Text: err.Text}
	}
	return doc, nil
}

type reader struct {
	doc      *document.File
	story    rules
	problems Problems
	at       []uint32         // offsets of the problems
	found    []*document.Node // of the last object
	none     document.Node
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
		sorted[i].Line, sorted[i].Column = document.Place(r.doc.Source, r.at[from])
	}
	r.problems.List = sorted
}

func (r *reader) list() *List {
	l := &List{doc: r.doc}
	root := &r.doc.Root
	if root.Kind != document.Object {
		r.problem(root.At, -1, "", "the file is "+show(root)+": give an object with project, branchName, description and userStories")
		return l
	}
	found := r.fields(root, listRules(), -1)
	l.Project, l.BranchName, l.Description = found[0].Text, found[1].Text, found[2].Text
	l.VerifyCommands = found[3].Texts()
	l.stories = found[4]
	if l.stories.Kind != document.Array {
		return l
	}
	l.Stories = make([]Story, 0, len(l.stories.Items))
	seen := make(map[string]int, len(l.stories.Items))
	for i := range l.stories.Items {
		r.readStory(l, i, seen)
	}
	return l
}

func (r *reader) readStory(l *List, i int, seen map[string]int) {
	n := &l.stories.Items[i].Value
	if n.Kind != document.Object {
		r.wrong(n.At, n, i, " is "+show(n)+": give an object")
		return
	}
	found := r.fields(n, r.story, i)
	s := Story{
		ID: found[0].Text, Title: found[1].Text, Description: found[2].Text, AcceptanceCriteria: found[3].Texts(), Priority: found[4].Float(),
		Passes: found[5].Raw == "true", Status: Status(found[6].Text), ReviewCount: int(found[7].Float()),
		ReviewFeedback: found[8].Text, Notes: found[9].Text, DependsOn: found[10].Texts(), Touches: found[11].Texts(),
	}
	if first, twice := seen[s.ID]; s.ID != "" && twice {
		r.wrong(n.At, n, i, fmt.Sprintf(": Duplicate id, in userStories[%d] and [%d]: give each story an id of its own", first, i))
	} else {
		seen[s.ID] = i
	}
	if s.Passes && blank(s.Notes) {
		r.wrong(found[5].At, n, i, " has passes=true but its notes are empty: write in notes what was done")
	}
	l.Stories = append(l.Stories, s)
}

// fields looks up the known fields of an object; what is missing or wrong is a
// problem, and an empty node. The result is good until the next call.
func (r *reader) fields(n *document.Node, known rules, index int) []*document.Node {
	r.found = slices.Grow(r.found[:0], len(known.list))[:len(known.list)]
	found := r.found
	clear(found)
	for i := range n.Items {
		it := &n.Items[i]
		k, ok := known.index[it.Key]
		if !ok {
			continue
		}
		if found[k] != nil {
			r.wrong(it.At, n, index, ": "+it.Key+" is there twice")
		}
		found[k] = &it.Value
	}
	for k, rule := range known.list {
		switch {
		case found[k] == nil && rule.required:
			r.wrong(n.At, n, index, ": "+rule.name+" is missing")
			found[k] = &r.none
		case found[k] == nil:
			found[k] = &r.none
		default:
			if want := rule.want(found[k]); want != "" {
				r.wrong(found[k].At, n, index, ": "+rule.name+" is "+show(found[k])+": "+want)
				found[k] = &r.none
			}
		}
	}
	return found
}

// wrong is a problem of a story, which text goes on about, or of the list.
func (r *reader) wrong(at uint32, n *document.Node, index int, text string) {
	if r.full() {
		return
	}
	if index < 0 {
		r.problem(at, -1, "", strings.TrimPrefix(text, ": "))
		return
	}
	if id := n.Member(fieldID); id != nil && wantID(id) == "" {
		shown := Visible(id.Text)
		r.problem(at, index, shown, "Story "+shown+text)
		return
	}
	r.problem(at, index, "", fmt.Sprintf("userStories[%d]%s", index, text))
}
