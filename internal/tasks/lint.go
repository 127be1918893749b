package tasks

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/lib/nearest"
	"github.com/org/ralph-action/internal/ralph"
)

// templateBranch is the branch in the template of tasks.json.
const templateBranch = "ralph/feature-name"

// Lint finds what [Read] lets pass and a person should still know: a branchName
// that is no name of a branch, acceptance criteria without words, a template
// that nobody filled in, a field that is likely misspelled. It looks as far as it gets at files that Read refuses,
// too, in the order of the file.
func Lint(data []byte) []Problem {
	doc, bad := parse(data, maxBytes)
	if bad != nil || doc.root.kind != object {
		return nil
	}
	var found Problems
	say := func(k Kind, at uint32, id, text string) {
		p := Problem{Kind: k, Story: id, Text: text, index: -1}
		if len(found.List) < maxProblems {
			p.Line, p.Column = place(doc.source, at)
		}
		found.add(p)
	}
	if n := doc.root.member("branchName"); n != nil && n.kind == text {
		if err := ralph.CheckBranch(n.text); err != nil {
			say(Naming, n.at, "", "branchName "+Quote(n.text)+" is no name of a branch: "+err.Error())
		}
	}
	if untouched(doc) {
		say(Unfinished, doc.root.at, "", "the template is not filled in yet: say in project, branchName and userStories what is to be done")
		return found.all()
	}
	misspelled := func(n *node, known rules, id, of string) {
		names := slices.Sorted(maps.Keys(known.index))
		for i := range n.items {
			it := &n.items[i]
			if meant := nearest.Of(it.key, names); meant != "" && meant != fieldID && n.member(meant) == nil {
				say(Unfinished, it.at, id, Quote(it.key)+of+" is no field of ralph's: did you mean "+meant+"?")
			}
		}
	}
	misspelled(&doc.root, listRules(), "", "")
	stories, known := doc.root.member(fieldStories), storyRules()
	if n := doc.root.member("branchName"); n != nil && n.text == templateBranch {
		say(Unfinished, n.at, "", "branchName is still "+templateBranch+", as in the template: give the branch of this work")
	}
	if stories == nil || stories.kind != array {
		return found.all()
	}
	for i := range stories.items {
		n := &stories.items[i].value
		id, criteria := n.member(fieldID), n.member("acceptanceCriteria")
		if id == nil || wantID(id) != "" {
			continue
		}
		shown := Visible(id.text)
		misspelled(n, known, shown, " of story "+shown)
		if criteria == nil {
			continue
		}
		for k := range criteria.items {
			if c := &criteria.items[k].value; criteria.kind == array && c.kind == text && blank(c.text) {
				say(Unfinished, c.at, shown, "Story "+shown+" has an acceptance criterion without words: say what can be checked")
			}
		}
		if s, c := n.member(fieldStatus), n.member(fieldCount); s != nil && c != nil && s.text == Approved.String() && c.raw == "0" {
			say(Unfinished, c.at, shown, "Story "+shown+" is approved and has reviewCount 0: no review has approved it. Set reviewStatus to needs_review and passes to false to have it reviewed")
		}
		if title := n.member("title"); title != nil && title.kind == text && blank(title.text) {
			say(Unfinished, title.at, shown, "Story "+shown+" has no title: it is what commits are named after")
		}
	}
	return found.all()
}

// untouched reports whether a list is the template, its branch apart.
func untouched(doc *document) bool {
	data, err := templates.ReadFile("templates/" + TasksName)
	if err != nil {
		return false
	}
	template, bad := parse(data, maxBytes)
	return bad == nil && bytes.Equal(anyBranch(doc), anyBranch(template))
}

// anyBranch is a document without white space and its branch. It leaves the
// document as it is.
func anyBranch(doc *document) []byte {
	var b bytes.Buffer
	var write func(n *node)
	write = func(n *node) {
		b.WriteByte(byte(n.kind))
		for i := range n.items {
			b.WriteString(n.items[i].raw)
			if n.items[i].key != "branchName" {
				write(&n.items[i].value)
			}
		}
		b.WriteString(strings.TrimSpace(n.raw))
	}
	write(&doc.root)
	return b.Bytes()
}
