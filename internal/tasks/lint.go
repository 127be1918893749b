package tasks

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/lib/nearest"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks/document"
)

// templateBranch is the branch in the template of tasks.json.
const templateBranch = "ralph/feature-name"

// Lint finds what [Read] lets pass and a person should still know: a branchName
// that is no name of a branch, acceptance criteria without words, a template
// that nobody filled in, a field that is likely misspelled. It looks as far as it gets at files that Read refuses,
// too, in the order of the file.
func Lint(data []byte) []Problem {
	doc, bad := parse(data, maxBytes)
	if bad != nil || doc.Root.Kind != document.Object {
		return nil
	}
	var found Problems
	say := func(k Kind, at uint32, id, text string) {
		p := Problem{Kind: k, Story: id, Text: text, index: -1}
		if len(found.List) < maxProblems {
			p.Line, p.Column = document.Place(doc.Source, at)
		}
		found.add(p)
	}
	if n := doc.Root.Member("branchName"); n != nil && n.Kind == document.Text {
		if err := ralph.CheckBranch(n.Text); err != nil {
			say(Naming, n.At, "", "branchName "+Quote(n.Text)+" is no name of a branch: "+err.Error())
		}
	}
	if untouched(doc) {
		say(Unfinished, doc.Root.At, "", "the template is not filled in yet: say in project, branchName and userStories what is to be done")
		return found.all()
	}
	misspelled := func(n *document.Node, known rules, id, of string) {
		names := slices.Sorted(maps.Keys(known.index))
		for i := range n.Items {
			it := &n.Items[i]
			if _, ok := known.index[it.Key]; ok {
				continue
			}
			if meant := nearest.Of(it.Key, names); meant != "" && meant != fieldID && n.Member(meant) == nil {
				say(Unfinished, it.At, id, Quote(it.Key)+of+" is no field of ralph's: did you mean "+meant+"?")
			}
		}
	}
	misspelled(&doc.Root, listRules(), "", "")
	stories, known := doc.Root.Member(fieldStories), storyRules()
	if n := doc.Root.Member("branchName"); n != nil && n.Text == templateBranch {
		say(Unfinished, n.At, "", "branchName is still "+templateBranch+", as in the template: give the branch of this work")
	}
	if stories == nil || stories.Kind != document.Array {
		return found.all()
	}
	for i := range stories.Items {
		n := &stories.Items[i].Value
		id, criteria := n.Member(fieldID), n.Member("acceptanceCriteria")
		if id == nil || wantID(id) != "" {
			continue
		}
		shown := Visible(id.Text)
		misspelled(n, known, shown, " of story "+shown)
		if criteria == nil {
			continue
		}
		for k := range criteria.Items {
			if c := &criteria.Items[k].Value; criteria.Kind == document.Array && c.Kind == document.Text && blank(c.Text) {
				say(Unfinished, c.At, shown, "Story "+shown+" has an acceptance criterion without words: say what can be checked")
			}
		}
		if s, c := n.Member(fieldStatus), n.Member(fieldCount); s != nil && c != nil && s.Text == Approved.String() && c.Raw == "0" {
			say(Unfinished, c.At, shown, "Story "+shown+" is approved and has reviewCount 0: no review has approved it. Set reviewStatus to needs_review and passes to false to have it reviewed")
		}
		if title := n.Member("title"); title != nil && title.Kind == document.Text && blank(title.Text) {
			say(Unfinished, title.At, shown, "Story "+shown+" has no title: it is what commits are named after")
		}
	}
	return found.all()
}

// untouched reports whether a list is the template, its branch apart.
func untouched(doc *document.File) bool {
	data, err := templates.ReadFile("templates/" + TasksName)
	if err != nil {
		return false
	}
	template, bad := parse(data, maxBytes)
	return bad == nil && bytes.Equal(anyBranch(doc), anyBranch(template))
}

// anyBranch is a document without white space and its branch. It leaves the
// document as it is.
func anyBranch(doc *document.File) []byte {
	var b bytes.Buffer
	var write func(n *document.Node)
	write = func(n *document.Node) {
		b.WriteByte(byte(n.Kind))
		for i := range n.Items {
			b.WriteString(n.Items[i].Raw)
			if n.Items[i].Key != "branchName" {
				write(&n.Items[i].Value)
			}
		}
		b.WriteString(strings.TrimSpace(n.Raw))
	}
	write(&doc.Root)
	return b.Bytes()
}
