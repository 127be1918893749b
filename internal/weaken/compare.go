package weaken

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// tested is a file with tests, before and after.
type tested struct {
	file     File
	lang     *language
	old, now *source // nil where there is none
	before   []testCase
	after    []testCase
	is       bool // it is a file of tests after the change
	bodies   map[string]bool
	told     map[string]bool // names of tests of which something was said
}

// tests compares the tests of all files of a change.
func (k *look) tests() {
	var all []tested
	gone := map[string]bool{} // subjects of code that is deleted
	for _, f := range k.files {
		if f.Deleted && !k.isTest(f.Path) {
			gone[subject(f.Path)] = true
		}
	}
	for _, f := range k.files {
		was := f.Path
		if f.From != "" {
			was = f.From
		}
		lang := k.languages.of(was)
		if lang == nil {
			lang = k.languages.of(f.Path)
		}
		if lang == nil || !lang.inline && !k.isTest(was) && !k.isTest(f.Path) {
			continue
		}
		t := tested{file: f, lang: lang, told: map[string]bool{}, is: !f.Deleted && (lang.inline || k.isTest(f.Path))}
		if !f.Added {
			t.old = k.source(f.Old, lang)
			t.before = lang.cases(t.old)
		}
		if !f.Deleted {
			t.now = k.source(f.New, lang)
			if t.is {
				t.after = lang.cases(t.now)
			}
		}
		if lang.inline && len(t.before)+len(t.after) == 0 {
			continue
		}
		all = append(all, t)
	}
	fresh, moved := elsewhere(all)
	for i := range all {
		t := &all[i]
		k.removed(t, fresh, moved, gone)
		if t.now != nil && t.is {
			k.silenced(t)
			k.emptied(t)
		}
	}
}

// isTest says that a file holds tests, by its name.
func (k *look) isTest(name string) bool {
	lang := k.languages.of(name)
	return lang != nil && lang.tests.MatchString(name)
}

// elsewhere gives what tests speak of that are new or were changed, and the
// names of tests that are new in a file.
func elsewhere(all []tested) (fresh, moved map[string]bool) {
	fresh, moved = map[string]bool{}, map[string]bool{}
	for _, t := range all {
		bodies, names := map[string]bool{}, map[string]bool{}
		for _, c := range t.before {
			bodies[string(t.old.text[c.begin:c.end])], names[c.name] = true, true
		}
		for _, c := range t.after {
			if !names[c.name] {
				moved[t.lang.name+"\x00"+c.name] = true
			}
			if body := t.now.text[c.begin:c.end]; !names[c.name] || !bodies[string(body)] {
				tokens(body, fresh)
				tokens([]byte(c.name), fresh)
			}
		}
		if t.now == nil {
			continue
		}
		var old []byte
		if t.old != nil {
			old = t.old.text
		}
		for _, line := range missing(linesOf(uncommented(t.now)), linesOf(old)) { // tables stand outside of tests, too
			tokens(line, fresh)
		}
	}
	return fresh, moved
}

// uncommented is a text without its comments.
func uncommented(s *source) []byte {
	out := bytes.Clone(s.text)
	for i, c := range s.comments {
		if c != ' ' && c != '\n' {
			out[i] = ' '
		}
	}
	return out
}

// removed tells the tests that are gone.
func (k *look) removed(t *tested, fresh, moved, gone map[string]bool) {
	names := map[string]bool{}
	for _, c := range t.after {
		names[c.name] = true
	}
	var lost []testCase
	for _, c := range t.before {
		switch {
		case names[c.name], moved[t.lang.name+"\x00"+c.name]:
		case survives(t.old.text[c.begin:c.end], fresh): // under another name, or as a row of a table
		default:
			lost = append(lost, c)
		}
		names[c.name] = true // once each
	}
	f := t.file
	switch {
	case f.Deleted && gone[subject(f.Path)]:
		// The code that they tested went with them.
	case f.Deleted && (len(lost) > 0 || len(t.before) == 0 && len(t.old.find(t.lang.assert, inCode)) > 0):
		text := "a file of tests was deleted"
		if len(lost) > 0 {
			text = fmt.Sprintf("a file with %s was deleted", plural(len(lost), "test"))
		}
		k.add(rankDeleted, ralph.FindingTests, f.Path, 0, "test file deleted", text+"; make sure that what it tested is tested elsewhere, or is gone")
	case f.Deleted:
	case !t.is && len(t.before) > 0:
		k.add(rankDeleted, ralph.FindingTests, f.Path, 0, "test file renamed", "a file with "+plural(len(t.before), "test")+" was moved from "+shown(f.From)+" to a name under which no test runner looks for tests")
	default:
		k.eachNamed(lost, func(names string, n, _ int) {
			k.add(rankRemoved, ralph.FindingTests, f.Path, 0, "test removed", plural(n, "test")+" removed: "+names)
		})
	}
}

// eachNamed gathers tests into one finding: at most five names.
func (k *look) eachNamed(list []testCase, tell func(names string, n, line int)) {
	if len(list) == 0 {
		return
	}
	var names []string
	for i, c := range list {
		if i == 5 {
			names = append(names, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		names = append(names, shown(c.name))
	}
	tell(strings.Join(names, ", "), len(list), list[0].line)
}

// silenced tells the marks that keep tests from running.
func (k *look) silenced(t *tested) {
	before := map[string]bool{}
	for _, c := range t.before {
		before[c.name] = true
	}
	for _, m := range t.lang.skip {
		for _, at := range fresh(m.re, t, m.text) {
			line := t.now.lineOf(at)
			i := owner(t.after, at)
			if strings.HasPrefix(m.rule, "->") { // stands behind its test
				i = sort.Search(len(t.after), func(i int) bool { return t.after[i].at > at }) - 1
			}
			if i < 0 {
				k.add(rankSkipped, ralph.FindingTests, t.file.Path, line, m.rule, "tests are skipped from here on, or the whole file is")
				continue
			}
			c := t.after[i]
			t.told[c.name] = true
			switch {
			case !before[c.name] && !t.wasMoved(c):
				k.add(rankNewSkipped, ralph.FindingTests, t.file.Path, line, m.rule, "the new test "+shown(c.name)+" is skipped from the beginning")
			case t.conditional(at, c):
				k.add(rankSkipped, ralph.FindingTests, t.file.Path, line, m.rule, "the test "+shown(c.name)+" is skipped under a condition now")
			default:
				k.add(rankSkipped, ralph.FindingTests, t.file.Path, line, m.rule, "the test "+shown(c.name)+" is skipped now, or does not count")
			}
		}
	}
	if t.lang.only != nil {
		for _, at := range fresh(t.lang.only, t, false) {
			k.add(rankOnly, ralph.FindingTests, t.file.Path, t.now.lineOf(at), "only", "only this test or group runs now: every other one of the file is silent")
		}
	}
}

// wasMoved says that a test stood under another name with the same body.
func (t *tested) wasMoved(c testCase) bool {
	if t.bodies == nil {
		t.bodies = map[string]bool{}
		for _, b := range t.before {
			t.bodies[string(bytes.TrimSpace(t.old.text[b.begin:b.end]))] = true
		}
	}
	return t.bodies[string(bytes.TrimSpace(t.now.text[c.begin:c.end]))]
}

// conditional says that a mark stands in a block inside its test.
func (t *tested) conditional(at int, c testCase) bool {
	if at < c.begin {
		return bytes.Contains(t.now.code[at:min(len(t.now.code), at+40)], []byte("If")) || bytes.Contains(t.now.code[at:min(len(t.now.code), at+40)], []byte("skipif"))
	}
	const furthest = 20_000
	depth := 0
	for _, b := range t.now.code[max(c.begin, at-furthest):at] {
		switch b {
		case '{':
			depth++
		case '}':
			depth--
		}
	}
	if t.lang.indent {
		line := t.now.lineOf(at) - 1
		if line == 0 {
			return false
		}
		above := bytes.TrimSpace(t.now.text[t.now.starts[line-1]:t.now.starts[line]])
		return bytes.HasPrefix(above, []byte("if ")) || bytes.HasPrefix(above, []byte("unless "))
	}
	return depth > 1
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
