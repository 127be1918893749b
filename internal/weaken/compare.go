package weaken

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
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
	is       bool           // it is a file of tests after the change
	was      []int          // for each of after the one of before that it was; -1: it is new
	lost     []int          // those of before that none of after was
	gone     map[string]int // lines that are in the file less often than before
	bodies   map[string]bool
	left     map[string]bool // lines of files that are deleted
	told     map[string]bool // names of tests of which something was said
}

// pair finds for each test the one that it was: of those of its name the one with
// the same body, the rest in order.
func (t *tested) pair() {
	t.was = make([]int, len(t.after))
	same, named := map[string][]int{}, map[string][]int{} // of before, in order
	paired := map[int]bool{}
	body := func(s *source, c testCase) string { return c.name + "\x00" + string(s.text[c.begin:c.end]) }
	for i, c := range t.before {
		same[body(t.old, c)] = append(same[body(t.old, c)], i)
	}
	for i, c := range t.after {
		t.was[i] = -1
		if list := same[body(t.now, c)]; len(list) > 0 {
			t.was[i], same[body(t.now, c)] = list[0], list[1:]
			paired[list[0]] = true
		}
	}
	for i, c := range t.before {
		if !paired[i] {
			named[c.name] = append(named[c.name], i)
		}
	}
	for i, c := range t.after {
		if list := named[c.name]; t.was[i] < 0 && len(list) > 0 {
			t.was[i], named[c.name] = list[0], list[1:]
		}
	}
	for _, list := range named {
		t.lost = append(t.lost, list...)
	}
	slices.Sort(t.lost)
}

// tests compares the tests of all files of a change.
func (k *look) tests() {
	var all []tested
	k.pairMoved()
	gone, left := map[string]bool{}, map[string]bool{} // subjects of code that is deleted, lines of all that is
	for _, f := range k.files {
		if f.Deleted && k.isTest(f.Path) {
			for _, line := range linesOf(f.Old) {
				left[string(line)] = true
			}
		}
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
		t := tested{file: f, lang: lang, left: left, told: map[string]bool{}, is: !f.Deleted && (lang.inline || k.isTest(f.Path))}
		if !f.Added {
			t.old = k.testSource(f.Old, lang)
			t.before = lang.cases(t.old)
		}
		if !f.Deleted {
			t.now = k.testSource(f.New, lang)
			if t.is {
				t.after = lang.cases(t.now)
			}
		}
		if lang.inline && len(t.before)+len(t.after) == 0 {
			continue
		}
		t.pair()
		all = append(all, t)
	}
	fresh, moved := elsewhere(all)
	for i := range all {
		t := &all[i]
		k.removed(t, fresh, moved, gone)
		if t.now != nil && t.is {
			k.silenced(t)
			k.emptied(t)
			if !t.lang.inline {
				k.passes(t)
			}
		}
	}
}

// pairMoved makes one file of tests that was deleted and one of its name that was
// added one that was moved, however much of it was written anew.
func (k *look) pairMoved() {
	stem := func(f File) string { return strings.TrimSuffix(path.Base(f.Path), path.Ext(f.Path)) }
	for i := range k.files {
		f := &k.files[i]
		if !f.Added || !k.isTest(f.Path) {
			continue
		}
		at := slices.IndexFunc(k.files, func(d File) bool {
			return d.Deleted && stem(d) == stem(*f) && k.isTest(d.Path) && k.languages.of(d.Path) == k.languages.of(f.Path)
		})
		if at < 0 {
			continue
		}
		f.From, f.Old, f.Added = k.files[at].Path, k.files[at].Old, false
		k.files[at].Path, k.files[at].Deleted, k.files[at].Old = "", false, nil
	}
	k.files = slices.DeleteFunc(k.files, func(f File) bool { return f.Path == "" })
}

// testSource is a source of tests without those that other tests run.
func (k *look) testSource(text []byte, lang *language) *source {
	s := k.source(text, lang)
	if lang.class != nil {
		s = s.withoutFixtures(lang.class)
	}
	return s
}

// renamed reports whether a new test of the file has the name of another one and
// something before or behind it.
func (t *tested) renamed(name string) bool {
	const shortest = 8 // names that are the beginning of any other say nothing
	plain := func(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }
	name = plain(name)
	for i, c := range t.after {
		if other := plain(c.name); t.was[i] < 0 && len(name) >= shortest && len(other) >= shortest && (strings.HasPrefix(other, name) || strings.HasSuffix(other, name) || strings.HasPrefix(name, other)) {
			return true
		}
	}
	return false
}

// vanished reports whether a text speaks of something that the code no longer has:
// a word of five letters or more that the change took out of all code that is no test.
func (k *look) vanished(text []byte) bool {
	if k.dropped == nil {
		k.dropped = map[string]bool{}
		now := map[string]bool{}
		for _, f := range k.files {
			if lang := k.languages.of(f.Path); lang != nil && !k.isTest(f.Path) {
				tokens(k.untested(f.Old, lang), k.dropped)
				tokens(k.untested(f.New, lang), now)
			}
		}
		maps.DeleteFunc(k.dropped, func(word string, _ bool) bool { return len(word) < 5 || now[word] })
	}
	words := map[string]bool{}
	tokens(text, words)
	for word := range words {
		if k.dropped[word] {
			return true
		}
	}
	return false
}

// untested is a text without the tests in it.
func (k *look) untested(text []byte, lang *language) []byte {
	if !lang.inline {
		return text
	}
	s := k.source(text, lang)
	out := bytes.Clone(text)
	for _, c := range lang.cases(s) {
		blank(out[c.at:c.end])
	}
	return out
}

// isTest says that a file holds tests, by its name.
func (k *look) isTest(name string) bool {
	lang := k.languages.of(name)
	return lang != nil && lang.tests.MatchString(name)
}

// elsewhere gives what tests speak of that are new or were changed, and how
// often the name of a test is new in a file.
func elsewhere(all []tested) (fresh map[string]bool, moved map[string]int) {
	fresh, moved = map[string]bool{}, map[string]int{}
	for _, t := range all {
		for i, c := range t.after {
			body := t.now.text[c.begin:c.end]
			if t.was[i] < 0 {
				moved[t.lang.name+"\x00"+c.name]++
			} else if was := t.before[t.was[i]]; string(t.old.text[was.begin:was.end]) == string(body) {
				continue
			}
			tokens(body, fresh)
			tokens([]byte(c.name), fresh)
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
func (k *look) removed(t *tested, fresh map[string]bool, moved map[string]int, gone map[string]bool) {
	var lost []testCase
	for _, i := range t.lost {
		c := t.before[i]
		switch name := t.lang.name + "\x00" + c.name; {
		case moved[name] > 0:
			moved[name]--
		case survives(t.old.text[c.begin:c.end], fresh): // under another name, or as a row of a table
		case k.vanished(t.old.text[c.begin:c.end]), t.renamed(c.name):
		case len(bytes.TrimSpace(t.old.code[c.begin:c.end])) < len("();"): // it was only planned
		default:
			lost = append(lost, c)
		}
	}
	if added := len(t.after) + len(t.lost) - len(t.before); added >= len(t.lost) {
		lost = nil // as many tests took their place
	}
	f := t.file
	switch {
	case f.Deleted && gone[subject(f.Path)]:
		// The code that they tested went with them.
	case f.Deleted && len(lost) > 0:
		k.add(rankDeleted, ralph.FindingTests, f.Path, 0, "test file deleted", "a file with "+plural(len(lost), "test")+" was deleted; make sure that what it tested is tested elsewhere, or is gone")
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
	more := 0
	for _, m := range t.lang.skip {
		more += len(t.find(m.re, t.now, m.text)) - len(t.find(m.re, t.old, m.text))
	}
	for _, m := range t.lang.skip {
		for _, at := range fresh(m.re, t, m.text) {
			if more--; more < 0 { // it stands for one of another kind
				return
			}
			line := t.now.lineOf(at)
			i := owner(t.after, at)
			if strings.HasPrefix(m.rule, "->") { // stands behind its test
				i = sort.Search(len(t.after), func(i int) bool { return t.after[i].at > at }) - 1
			}
			conditional := k.conditional(t, at)
			if i < 0 {
				if !conditional { // else a helper of tests asks for what it needs
					k.add(rankSkipped, ralph.FindingTests, t.file.Path, line, m.rule, "tests are skipped from here on, or the whole file is")
				}
				continue
			}
			c := t.after[i]
			t.told[c.name] = true
			switch fresh := t.was[i] < 0 && !t.wasMoved(c); {
			case fresh && conditional: // it needs something that is not everywhere
			case fresh && bytes.ContainsAny(t.now.code[min(at, c.at):c.at], "{;"): // it is that of something between
			case fresh && len(bytes.TrimSpace(t.now.code[c.begin:c.end])) < len("();"): // it is only planned
			case fresh:
				k.add(rankNewSkipped, ralph.FindingTests, t.file.Path, line, m.rule, "the new test "+shown(c.name)+" is skipped from the beginning")
			case conditional:
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
	body := string(bytes.TrimSpace(t.now.text[c.begin:c.end]))
	return len(body) > len("();") && t.bodies[body]
}

// onCondition finds what a mark or the head of a block says that depends on
// something.
const onCondition = `(?i:skip|run|disabled|enabled)_?(?i:if|unless|when|on|for)|\b(?:if|elif|unless|else|catch|except|rescue|case|when|switch)\b|\bassum\w+|importorskip|\?:|\bRequires[A-Z]`

// conditional reports whether what a mark at a place says depends on a condition:
// its own, or that of a block around it.
func (k *look) conditional(t *tested, at int) bool {
	s, re := t.now, k.pattern(onCondition)
	line := s.lineOf(at) - 1
	if re.Match(s.code[max(s.begin(line), at-200):min(s.end(line), at+200)]) {
		return true
	}
	const furthest = 4000
	if t.lang.indent {
		width := func(line int) int {
			text := s.code[s.begin(line):s.end(line)]
			return len(text) - len(bytes.TrimLeft(text, " \t"))
		}
		for inner, up := width(line), line-1; up >= 0 && inner > 0 && line-up < 100; up-- {
			if text := s.code[s.begin(up):s.end(up)]; len(bytes.TrimSpace(text)) > 0 && width(up) < inner {
				if inner = width(up); re.Match(text) {
					return true
				}
			}
		}
		return false
	}
	blocks := 0
	for i, depth := at-1, 0; i >= max(0, at-furthest) && blocks < 6; i-- {
		switch s.code[i] {
		case '}':
			depth++
		case '{':
			if depth--; depth < 0 {
				depth = 0
				blocks++
				if re.Match(s.code[max(s.begin(s.lineOf(i)-1), i-200):i]) {
					return true
				}
			}
		}
	}
	return false
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
