package testintegrity

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/ralph"
)

// tested is a file with tests, before and after.
type tested struct {
	file     File
	lang     *language
	old, now *source // nil if there was or is none
	before   []testCase
	after    []testCase
	is       bool            // it is a file of tests after the change
	was      []int           // for each of after the one of before that it was; -1: it is new
	lost     []int           // those of before that none of after was
	parts    [][2]int        // of now, around lines that are new
	told     map[string]bool // names of tests of which something was said
	came     func() [][]byte // lines that are new, without comments
	groups   func() [][2]int // skippedGroups, once
	again    map[int]bool    // those of after that were skipped as often before
	renames  int             // how many new tests may be lost ones that were skipped; -1: not counted
}

// tests compares the tests of all files of a change.
func (k *look) tests() {
	k.pairMoved()
	var all []tested
	for _, f := range k.files {
		was := cmp.Or(f.From, f.Path)
		lang := languageOf(was)
		if lang == nil {
			lang = languageOf(f.Path)
		}
		if lang == nil || fixture.MatchString(f.Path) || !lang.inline && !isTest(was) && !isTest(f.Path) {
			continue
		}
		t := tested{file: f, lang: lang, told: map[string]bool{}, again: map[int]bool{}, renames: -1, is: !f.Deleted && (lang.inline || isTest(f.Path))}
		if !f.Added {
			t.old = lex(f.Old, lang.lexis)
			t.before = lang.cases(t.old)
		}
		if !f.Deleted {
			t.now = lex(f.New, lang.lexis)
			if t.is {
				t.after = lang.cases(t.now)
			}
		}
		if lang.inline && len(t.before)+len(t.after) == 0 {
			continue
		}
		t.came = sync.OnceValue(func() [][]byte { return missing(linesOf(t.now.plain), linesOf(t.old.plain)) })
		t.groups = sync.OnceValue(t.skippedGroups)
		t.pair()
		all = append(all, t)
	}
	k.balance = map[string]int{}
	for _, t := range all {
		for _, line := range linesOf(t.file.Old) {
			k.balance[string(line)]--
		}
		for _, line := range linesOf(t.file.New) {
			k.balance[string(line)]++
		}
	}
	k.news(all)
	for i := range all {
		t := &all[i]
		k.removed(t)
		if t.now != nil && t.is {
			t.parts = t.now.around(func(line []byte) bool { return k.balance[string(line)] > 0 })
			k.skipped(t)
			k.emptied(t)
		}
	}
}

// pairMoved makes one file of tests that was deleted and one of the same subject that
// was added one that was moved, however much of it was written anew.
func (k *look) pairMoved() {
	for i := range k.files {
		f := &k.files[i]
		if !f.Added || !isTest(f.Path) {
			continue
		}
		at := slices.IndexFunc(k.files, func(d File) bool {
			return d.Deleted && k.subject(d.Path) == k.subject(f.Path) && isTest(d.Path) && languageOf(d.Path) == languageOf(f.Path)
		})
		if at >= 0 {
			f.From, f.Old, f.Added = k.files[at].Path, k.files[at].Old, false
			k.files[at] = File{}
		}
	}
	k.files = slices.DeleteFunc(k.files, func(f File) bool { return f.Path == "" })
}

// pair finds for each test the one that it was: of those of its name the one with
// the same body, the rest in order.
func (t *tested) pair() {
	named := map[string][]int{} // of before
	for j, c := range t.before {
		named[c.name] = append(named[c.name], j)
	}
	t.was = slices.Repeat([]int{-1}, len(t.after))
	taken := make([]bool, len(t.before))
	for _, anew := range []bool{false, true} {
		for i, c := range t.after {
			at := slices.IndexFunc(named[c.name], func(j int) bool {
				return t.was[i] < 0 && !taken[j] && (anew || t.same(t.before[j], c))
			})
			if at >= 0 {
				t.was[i] = named[c.name][at]
				taken[t.was[i]] = true
			}
		}
	}
	for j := range t.before {
		if !taken[j] {
			t.lost = append(t.lost, j)
		}
	}
}

// same reports whether a test is what it was.
func (t *tested) same(was, is testCase) bool {
	return bytes.Equal(t.old.text[was.begin:was.end], t.now.text[is.begin:is.end])
}

// news notes the words of lines and tests that are new in tests of the change, and
// counts tests. One that is in another file now is a changed one, neither new nor lost.
func (k *look) news(all []tested) {
	k.gained, k.codeOut = map[*language]int{}, map[*language]bool{}
	k.fresh, k.spoken, k.silent = map[string]bool{}, map[string]bool{}, map[string]bool{}
	moved := map[string]int{} // how often the name of a test is new
	for i := range all {
		t, touched := &all[i], false
		for i, c := range t.after {
			switch {
			case t.was[i] < 0:
				moved[id(t, c)]++
				k.gained[t.lang]++
				k.counts.Added++
			case t.same(t.before[t.was[i]], c):
				continue
			default:
				k.counts.Changed++
			}
			touched = true
			tokens(t.now.text[c.begin:c.end], k.fresh)
			tokens([]byte(c.name), k.fresh)
		}
		if touched || len(t.lost) > 0 {
			k.counts.Files++
		}
		if t.now == nil {
			continue
		}
		for _, line := range missing(linesOf(t.now.plain), linesOf(t.file.Old)) { // tables stand outside of tests, too
			if !t.lang.inline {
				k.came++
			}
			tokens(line, k.fresh)
			tokens(line, k.spoken)
		}
	}
	for _, f := range k.files {
		if lang := languageOf(f.Path); lang == nil && (testPlace.MatchString(path.Dir(f.Path)) || fixture.MatchString(f.Path)) || lang != nil && lang.inline && isTest(f.Path) && !slices.ContainsFunc(all, func(t tested) bool { return t.file.Path == f.Path }) {
			k.came += len(missing(linesOf(f.New), linesOf(f.Old)))
		}
	}
	for i := range all {
		t := &all[i]
		t.lost = slices.DeleteFunc(t.lost, func(at int) bool {
			name := id(t, t.before[at])
			if moved[name]--; moved[name] < 0 {
				k.counts.Deleted++
				return false
			}
			k.silent[name] = k.silent[name] || t.wasSilent(t.before[at])
			k.counts.Added--
			k.counts.Changed++
			return true
		})
	}
}

// id is what a test has that is in another file now.
func id(t *tested, c testCase) string { return t.lang.name + "\x00" + c.name }

// skippedGroups returns where tests, groups and classes stand that are skipped as a whole.
func (t *tested) skippedGroups() [][2]int {
	const far = 300 // bytes to the body
	s, groups, ends := t.old, [][2]int(nil), t.old.indentEnds()
	for _, m := range t.lang.skip {
		for _, at := range find(m.re, s, inCode) {
			line, text, end := s.lineOf(at[1]-1)-1, s.lineAt(at), len(s.code)
			switch {
			case onCondition.MatchString(text):
				continue
			case strings.HasPrefix(text, "pytestmark"):
			case t.lang.indent && strings.HasPrefix(text, "@"): // above a class
				end = int(ends[min(line+1, len(ends)-1)])
			case t.lang.indent:
				end = int(ends[line])
			default:
				end = s.closing(at[1] + max(0, bytes.IndexAny(s.code[at[1]:min(len(s.code), at[1]+far)], "{};")))
			}
			groups = append(groups, [2]int{at[1], end})
		}
	}
	return groups
}

// wasSilent reports whether a test stood in what was skipped as a whole.
func (t *tested) wasSilent(c testCase) bool {
	return slices.ContainsFunc(t.groups(), func(group [2]int) bool { return group[0] <= c.begin && c.begin < group[1] })
}

// removed tells the tests that are gone.
func (k *look) removed(t *tested) {
	var lost []testCase
	stays := map[string]bool{}
	for _, c := range t.after {
		stays[c.name] = true
	}
	each := sync.OnceValue(func() bool { return slices.ContainsFunc(t.came(), multiplies.Match) }) // one does for many now
	for _, i := range t.lost {
		c := t.before[i]
		again := survives(t.old.text[c.begin:c.end], k.fresh) // under another name, or as a row of a table
		if !again && !t.old.empty(c) && !t.idle(c) && !t.wasSilent(c) && (!stays[c.name] || !each()) {
			lost = append(lost, c)
		}
	}
	size := 0
	for _, c := range lost {
		size += t.old.lineOf(c.end) - c.line
	}
	if 2*k.gained[t.lang] >= len(lost) || k.came > 0 && 2*k.came >= size || k.recoded(t.lang) && (len(t.after) > 0 || !k.outlived(t) || k.dropped(t, lost)) {
		lost = nil // others took their place, or the behaviour may be gone
	}
	f := t.file
	switch {
	case f.Deleted && slices.ContainsFunc(k.files, func(code File) bool {
		return code.Deleted && !isTest(code.Path) && k.subject(code.Path) == k.subject(f.Path)
	}):
		// The code that they tested went with them.
	case f.Deleted && len(lost) > 0:
		k.add(rankDeleted, ralph.FindingTests, f.Path, 0, "test file deleted", "a file with "+plural(len(lost), "test")+" was deleted; make sure that what it tested is tested elsewhere, or is gone")
	case f.Deleted:
	case !t.is && len(t.before) > 0:
		k.add(rankDeleted, ralph.FindingTests, f.Path, 0, "test file renamed", "a file with "+plural(len(t.before), "test")+" was moved from "+shown(f.From)+" to a name under which no test runner looks for tests")
	case len(lost) > 0:
		k.add(rankRemoved, ralph.FindingTests, f.Path, 0, "test removed", plural(len(lost), "test")+" removed: "+namesOf(lost))
	}
}

// multiplies finds what makes many tests of one.
var multiplies = re(`\beach\b|[pP]arametri[sz]e|DataProvider|TestCaseSource`)

// idle reports whether a test did not run before, or asserted nothing that may fail.
func (t *tested) idle(c testCase) bool {
	body := t.old.code[c.begin:c.end]
	if t.lang.asserted(t.old, c) == 0 && (strings.HasSuffix(strings.ToLower(c.name), "compiles") || t.lang.name != "ruby" && !call.Match(body)) {
		return true
	}
	if t.lang.asserted(t.old, c) == 1 && t.lang.trivial.Match(body) {
		return true
	}
	first := t.old.skip(t.old.end(t.old.lineOf(c.begin) - 1)) // of its body
	head := t.old.code[c.at:max(c.begin, min(t.old.end(t.old.lineOf(first)-1), c.end))]
	return !onCondition.Match(head) && slices.ContainsFunc(t.lang.skip, func(m mark) bool { return m.re.Match(head) })
}

// namesOf lists at most five tests.
func namesOf(list []testCase) string {
	var names []string
	for i, c := range list {
		if i == 5 {
			names = append(names, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		names = append(names, shown(c.name))
	}
	return strings.Join(names, ", ")
}

// recoded reports whether the change took something out of code of the language,
// comments and imports left out, or changed its order: what a test asked for may be
// gone on purpose then.
func (k *look) recoded(lang *language) bool {
	recoded, known := k.codeOut[lang]
	if !known {
		code := func(text []byte) [][]byte {
			return slices.DeleteFunc(linesOf(untested(text, lang)), remark.Match)
		}
		recoded = slices.ContainsFunc(k.files, func(f File) bool {
			command := f.Deleted && bytes.HasPrefix(f.Old, []byte("#!")) && languageOf(f.Path) == nil
			return (command || languageOf(f.Path) == lang) && !isTest(f.Path) && !testPlace.MatchString(path.Dir(f.Path)) && !follows(code(f.Old), code(f.New))
		})
		k.codeOut[lang] = recoded
	}
	return recoded
}

// follows reports whether all lines of a stand in b, in their order.
func follows(a, b [][]byte) bool {
	for _, line := range b {
		if len(a) > 0 && bytes.Equal(a[0], line) {
			a = a[1:]
		}
	}
	return len(a) == 0
}

// remark finds lines that are comments or imports, and those of signs alone.
var remark = re(`^(?://|#(?:\s|$)|/\*|\*|import\b|from\b|using\b|use\b|package\b|\W*$)`)

// outlived reports whether the code that a file of tests without tests was about, by
// its name, stays nearly as it was: in the change, or in the base where such code stands.
func (k *look) outlived(t *tested) bool {
	if t.lang.inline {
		return false
	}
	name := cmp.Or(t.file.From, t.file.Path)
	known := false
	for _, f := range k.files {
		if languageOf(f.Path) != t.lang || isTest(f.Path) || k.subject(f.Path) != k.subject(name) {
			continue
		}
		known = true
		old := linesOf(f.Old)
		if gone := missing(old, linesOf(f.New)); !f.Deleted && !f.Added && len(gone) <= max(5, len(old)/10) {
			return true
		}
	}
	if known {
		return false
	}
	m := testName.FindStringSubmatch(path.Base(name))
	if m == nil || k.options.Base == nil {
		return false
	}
	return slices.ContainsFunc(codeDirs(path.Dir(name)), func(dir string) bool {
		const most = 200 // files that are looked for in all
		code := path.Join(dir, m[1]+m[2])
		k.asked++
		return code != name && k.asked <= most && len(k.options.Base(code)) > 0
	})
}

// dropped reports whether the code that a file of tests is about, by its name, has lost
// something that tests call.
func (k *look) dropped(t *tested, tests []testCase) bool {
	calls := func(code []byte) map[string]bool {
		names := map[string]bool{}
		for _, m := range call.FindAll(code, -1) {
			names[string(m)] = true
		}
		return names
	}
	return slices.ContainsFunc(k.files, func(f File) bool {
		if languageOf(f.Path) != t.lang || isTest(f.Path) || k.subject(f.Path) != k.subject(cmp.Or(t.file.From, t.file.Path)) {
			return false
		}
		had, has := calls(lex(f.Old, t.lang.lexis).code), calls(lex(f.New, t.lang.lexis).code)
		maps.DeleteFunc(had, func(name string, _ bool) bool { return has[name] })
		return slices.ContainsFunc(tests, func(c testCase) bool { return overlap(calls(t.old.code[c.begin:c.end]), had) })
	})
}

// codeDirs returns where code may stand whose tests stand in a directory.
func codeDirs(dir string) []string {
	dirs := []string{dir}
	parts := strings.Split(dir, "/")
	for i, part := range parts {
		if !contains(" test tests spec specs __tests__ Tests unit ", part) {
			continue
		}
		dirs = append(dirs, path.Join(slices.Concat(parts[:i], parts[i+1:])...))
		for _, code := range []string{"src", "lib", "app", "main"} {
			dirs = append(dirs, path.Join(slices.Concat(parts[:i], []string{code}, parts[i+1:])...))
		}
	}
	return dirs[:min(len(dirs), 16)]
}

// untested is a text without the tests in it.
func untested(text []byte, lang *language) []byte {
	if !lang.inline {
		return text
	}
	s := lex(text, lang.lexis)
	return s.without(lang.cases(s))
}

// skipped tells the marks that keep tests from running.
func (k *look) skipped(t *tested) {
	more := sync.OnceValue(func() int { // marks of all kinds
		n := 0
		for _, m := range t.lang.skip {
			n += len(find(m.re, t.now, inCode)) - len(find(m.re, t.old, inCode))
		}
		return n
	})
	told := 0
	for _, m := range t.lang.skip {
		for _, at := range k.freshIn(t, m.re, inCode) {
			if told++; told > more() { // it stands for one of another kind
				return
			}
			line := t.now.lineOf(at)
			if name := t.inherited(at); name != "" {
				if t.old != nil {
					k.add(rankSkipped, ralph.FindingTests, t.file.Path, line, m.rule, "the inherited test "+shown(name)+" is skipped now, or does not count")
				}
				continue
			}
			i := owner(t.after, at)
			if strings.HasPrefix(m.rule, "->") { // stands behind its test
				i = sort.Search(len(t.after), func(i int) bool { return t.after[i].at > at }) - 1
			}
			conditional := t.conditional(i, at)
			own := t.now.code[t.now.begin(line-1):at]
			if conditional && (assigned.Match(own) || t.rewritten()) {
				continue // it is told where it is used; or in which of many new lines it stood is a guess
			}
			if i < 0 {
				tests := t.lang.name != "go" && len(t.after) > 0 || path.Base(t.file.Path) == "conftest.py"
				if tests && !conditional && !bytes.Contains(t.now.code[t.now.begin(max(0, line-4)):at], []byte("return ")) { // else a helper of tests asks for what it needs, or makes marks
					k.add(rankSkipped, ralph.FindingTests, t.file.Path, line, m.rule, "tests are skipped from here on, or the whole file is")
				}
				continue
			}
			c := t.after[i]
			switch isNew := t.was[i] < 0; {
			case t.lang.name == "go" && at < c.at: // it stands in something between
			case t.rows(at): // of a table
			case t.lang.indent && at > c.begin && !conditional && t.inner(c, at): // of what it tests
			case !strings.HasPrefix(m.rule, "->") && t.inOtherWords(i):
			case !isNew && conditional && t.conditions(t.old, t.before[t.was[i]]) > t.conditions(t.now, c): // it stood in it
			case !isNew && conditional && t.counterpart(i): // a new one runs where it does not
			case !isNew && t.old.empty(t.before[t.was[i]]): // it tested nothing
			case isNew && conditional: // it needs something that is not everywhere
			case isNew && bytes.ContainsAny(t.now.code[min(at, c.at):c.at], "{;"): // it is that of something between
			case isNew && t.old == nil && len(t.after) > 5: // it came with others from elsewhere
			case isNew && (m.new || t.now.empty(c) || at > c.begin && nothingElse.Match(t.now.code[min(t.now.endOf(at), c.end):c.end])): // it is only planned, or does not apply
			case isNew && t.lang.name == "rust" && slices.ContainsFunc(t.before, func(c testCase) bool { return t.marks(t.old, c) > 0 }): // a CI that runs ignored tests runs it, too
			case isNew && ofSkips.MatchString(c.name): // a skip is what it tests
			case isNew && (k.silent[id(t, c)] || bytes.Contains(t.now.text, []byte("--ignored")) && bytes.Contains(t.now.text, []byte(c.name+`"`))): // it was before, or is a child of another test
			case isNew && example.MatchString(t.file.Path):
			case isNew && t.renamed(): // it was skipped before
			case isNew:
				t.told[c.name] = true
				k.add(rankNewSkipped, ralph.FindingTests, t.file.Path, line, m.rule, "the new test "+shown(c.name)+" is skipped from the beginning")
			case conditional:
				t.told[c.name] = true
				k.add(rankSkipped, ralph.FindingTests, t.file.Path, line, m.rule, "the test "+shown(c.name)+" is skipped under a condition now")
			default:
				t.told[c.name] = true
				k.add(rankSkipped, ralph.FindingTests, t.file.Path, line, m.rule, "the test "+shown(c.name)+" is skipped now, or does not count")
			}
		}
	}
	if t.lang.only != nil {
		for _, at := range k.freshIn(t, t.lang.only, inCode) {
			if own := t.now.code[t.now.begin(t.now.lineOf(at)-1):at]; bytes.IndexByte(own, '?') >= 0 || chosen.Match(own) {
				continue // it depends on what somebody sets
			}
			k.add(rankOnly, ralph.FindingTests, t.file.Path, t.now.lineOf(at), "only", "only this test or group runs now: every other one of the file is silent")
		}
	}
}

// overrides finds methods that take the place of inherited ones.
var overrides = re(`(?m)\boverride\b|@Override\b`)

// inherited names the test of another class that a mark stands above.
func (t *tested) inherited(at int) string {
	if t.lang.attribute == nil || t.now.code[at] != '@' && t.now.code[at] != '[' {
		return ""
	}
	name, begin, ok := t.now.declared(at)
	if !ok || !overrides.Match(t.now.code[at:begin]) || slices.ContainsFunc(t.after, func(c testCase) bool { return c.begin == begin }) {
		return ""
	}
	return name
}

// counterpart reports whether the test behind another is a new one whose name begins
// with that of the other, and is skipped at times, too.
func (t *tested) counterpart(i int) bool {
	next := i + 1
	return next < len(t.after) && t.was[next] < 0 && strings.HasPrefix(t.after[next].name, t.after[i].name) && t.marks(t.now, t.after[next]) > 0
}

// chosen finds what stands in front of a mark that becomes a value under a condition.
var chosen = re(`\bif\s*\(.*\)\s*\w+\s*=\s*$`)

// onCondition finds what a mark or the head of a block says that depends on
// something.
var onCondition = re(`(?i:skip|run|disabled|enabled)[_.]?(?i:if|unless|when|on|for)|\b(?:if|elif|unless|else|catch|except|rescue|case|when|switch|try)\b|cfg_attr|\bassum\w+|importorskip|\?:|\s\?\s|(?m:^[ \t]*[?:][ \t])|\bRequires[A-Z]`)

// nothingElse finds the end of a test in which nothing stands behind a skip, ofSkips
// tests of what skips.
var (
	nothingElse = re(`^[\s;})]*(?:end\s*)*$`)
	ofSkips     = re(`(?i)skip|x_?fail`)
)

// argument finds a condition that is an argument of a mark.
var argument = re(`\bcondition[ \t]*=|\bsys\.|\bplatform\b|\bxfail\(\s*(?:not\s+)?(?:[a-z]\w*|[A-Z_]{2}\w*)\s*[,)]`)

// assigned finds what stands in front of a mark that only gets a name.
var assigned = re(`^[ \t]*(?:(?:(?:var|let|const)[ \t]+)?[\w.]+[ \t]*=[^=]|[?:][ \t])`)

// rewritten reports whether so many lines of a file are gone that it was written anew.
func (t *tested) rewritten() bool {
	const many = 20
	return t.old != nil && len(missing(linesOf(t.old.plain), linesOf(t.now.plain))) > many
}

// conditional reports whether what a mark in a test says depends on a condition: that
// of its line, or of the head of a block in one of the lines above.
func (t *tested) conditional(i, at int) bool {
	const above = 10
	const far = 300 // bytes of a line: in one that a tool wrote, marks by the thousand may stand
	s := t.now
	line := s.lineOf(at) - 1
	from := s.begin(max(0, line-above))
	if i >= 0 && t.after[i].at <= at {
		from = max(from, t.after[i].at)
	}
	own := s.code[s.begin(line):s.end(line)]
	until := min(s.end(line), at+far)
	if open := bytes.IndexByte(s.code[at:until], '('); open >= 0 && t.lang.name != "js" { // arguments on more lines; there the test is one
		until = max(until, min(s.closing(at+open), at+far))
	}
	if onCondition.Match(s.code[max(s.begin(line), at-far):until]) || argument.Match(s.code[at:until]) {
		return true
	}
	for text := range bytes.Lines(s.code[min(from, s.begin(line)):s.begin(line)]) {
		if indentOf(text) < indentOf(own) && onCondition.Match(text[:min(len(text), far)]) {
			return true
		}
	}
	return false
}

// rows reports whether a mark is that of a row in a table of cases.
func (t *tested) rows(at int) bool {
	const above = 3
	line := t.now.lineOf(at) - 1
	return bytes.Contains(t.now.code[t.now.begin(max(0, line-above)):at], []byte("param(")) || bytes.HasSuffix(bytes.TrimSpace(t.now.code[t.now.begin(line):at]), []byte("marks="))
}

// inner reports whether a place is in a block within a test.
func (t *tested) inner(c testCase, at int) bool {
	indent := func(line int) int { return indentOf(t.now.code[t.now.begin(line):t.now.end(line)]) }
	first := t.now.lineOf(t.now.skip(c.begin)) - 1 // of its body, or where its name ends
	for first < t.now.lineOf(at)-1 && indent(first) <= indent(c.line-1) {
		first++
	}
	return indent(t.now.lineOf(at)-1) > indent(first)
}

// marks counts those that skip a test, in its beginning and above it.
func (t *tested) marks(s *source, c testCase) int {
	const below = 3000
	from, to := s.above(c), min(c.end, c.begin+below)
	n := 0
	for _, m := range t.lang.skip {
		n += len(m.re.FindAllIndex(s.code[from:to], -1))
	}
	return n
}

// above is where what stands above a test begins, without a blank line between.
func (s *source) above(c testCase) int {
	const most = 300
	from := max(0, c.at-most)
	return from + 1 + bytes.LastIndex(s.code[from:c.at], []byte("\n\n"))
}

// inOtherWords reports whether a test that stays was skipped as often before.
func (t *tested) inOtherWords(i int) bool {
	again, known := t.again[i]
	if !known {
		if t.was[i] >= 0 {
			had := t.marks(t.old, t.before[t.was[i]])
			again = had > 0 && had >= t.marks(t.now, t.after[i])
		}
		t.again[i] = again
	}
	return again
}

// renamed reports whether a new test may be one that is gone and was skipped.
func (t *tested) renamed() bool {
	if t.renames < 0 {
		t.renames = 0
		for _, i := range t.lost {
			if t.marks(t.old, t.before[i]) > 0 {
				t.renames++
			}
		}
	}
	if t.renames == 0 {
		return false
	}
	t.renames--
	return true
}

// conditions counts those in a test and above it.
func (t *tested) conditions(s *source, c testCase) int {
	return len(ifs.FindAllIndex(s.code[s.above(c):c.end], -1))
}

var ifs = re(`\b(?:if|unless)\b|#\[cfg\(`)

// inCode and inStrings are the parts of a source where patterns are looked for.
func inCode(s *source) []byte    { return s.code }
func inStrings(s *source) []byte { return s.plain }

// find returns where a pattern stands in a source, imports and what only concerns an
// interpreter of Rust left out.
func find(re *lazyregexp.Regexp, s *source, in func(*source) []byte) [][]int {
	if s == nil {
		return nil
	}
	return slices.DeleteFunc(re.FindAllIndex(in(s), maxCases), func(m []int) bool {
		line := s.lineAt(m)
		return strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "from ") || strings.HasPrefix(line, "#[cfg_attr(miri,")
	})
}

// freshIn lists where a pattern stands in the new text, as often as it stands
// there more often than in the old. Lines that stood there before, or stand no more
// in another file of tests, are not it.
func (k *look) freshIn(t *tested, re *lazyregexp.Regexp, in func(*source) []byte) []int {
	if !slices.ContainsFunc(t.parts, func(part [2]int) bool { return re.Match(in(t.now)[part[0]:part[1]]) }) {
		return nil
	}
	isNew := func(m []int) bool { // one of its lines is
		first, last := t.now.lineOf(m[0])-1, t.now.lineOf(m[1]-1)-1
		return slices.ContainsFunc(linesOf(t.now.text[t.now.begin(first):t.now.end(last)]), func(line []byte) bool { return k.balance[string(line)] > 0 })
	}
	of := func(s *source, list []testCase, m []int) string { // its test, and its line
		if i := owner(list, m[1]-1); i >= 0 {
			return list[i].name + "\x00" + s.lineAt(m)
		}
		return s.lineAt(m)
	}
	was, is := find(re, t.old, in), find(re, t.now, in)
	had := map[string]int{}
	for _, m := range was {
		had[of(t.old, t.before, m)]++
	}
	var out []int
	for _, m := range is {
		if id := of(t.now, t.after, m); had[id] > 0 {
			had[id]--
			continue
		}
		if !isNew(m) || len(out) >= len(is)-len(was) {
			continue
		}
		at := m[0]
		for at < m[1]-1 && !isWord(t.now.code[at]) && t.now.code[at] != '@' && t.now.code[at] != '#' && t.now.code[at] != '[' {
			at++
		}
		out = append(out, at)
	}
	return out
}
