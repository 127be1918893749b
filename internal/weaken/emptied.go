package weaken

import (
	"bytes"
	"fmt"

	"github.com/org/ralph-action/internal/ralph"
)

// emptied tells what of the tests that stay says less than before.
func (k *look) emptied(t *tested) {
	l := t.lang
	for _, at := range fresh(l.trivial, t, false) {
		k.add(rankEmptied, ralph.FindingTests, t.file.Path, t.now.lineOf(at), "trivial assertion", "an assertion"+t.in(at)+" always holds")
	}
	for _, at := range fresh(l.disabled, t, false) {
		k.add(rankEmptied, ralph.FindingTests, t.file.Path, t.now.lineOf(at), "switched off", "code"+t.in(at)+" is switched off by a condition that never holds")
	}
	if t.old == nil {
		return
	}
	before := map[string]testCase{}
	for _, c := range t.before {
		before[c.name] = c
	}
	var fewer []testCase
	for i, c := range t.after {
		was, ok := before[c.name]
		if !ok {
			continue
		}
		delete(before, c.name)
		old, now := t.old.code[was.begin:was.end], t.now.code[c.begin:c.end]
		if bytes.Equal(t.old.text[was.begin:was.end], t.now.text[c.begin:c.end]) || nested(t.after, i) || t.told[c.name] {
			continue
		}
		if line, ok := l.endsEarly(now); ok {
			if _, did := l.endsEarly(old); !did {
				k.add(rankEmptied, ralph.FindingTests, t.file.Path, c.line+line, "early return", "the test "+shown(c.name)+" returns before it has tested everything")
				continue
			}
		}
		switch said := l.saysLess(t, was, c); said {
		case "":
		case "fewer":
			fewer = append(fewer, c)
		default:
			k.add(rankEmptied, ralph.FindingTests, t.file.Path, c.line, "weaker assertion", "the test "+shown(c.name)+" "+said)
		}
	}
	for _, c := range fewer {
		was, is := 0, 0
		for _, b := range t.before {
			if b.name == c.name {
				was = l.count(t.old, b)
				break
			}
		}
		is = l.count(t.now, c)
		k.add(rankFewer, ralph.FindingTests, t.file.Path, c.line, "fewer assertions", fmt.Sprintf("the test %s has %s, and had %d", shown(c.name), plural(is, "assertion"), was))
	}
	k.rows(t)
}

// in names the test a place is in, and marks it as told.
func (t *tested) in(at int) string {
	if i := owner(t.after, at); i >= 0 && t.after[i].at <= at {
		t.told[t.after[i].name] = true
		return " of the test " + shown(t.after[i].name)
	}
	return ""
}

// nested says that a test holds others, which are compared by themselves.
func nested(list []testCase, i int) bool {
	return i+1 < len(list) && list[i+1].at < list[i].end
}

// count is how many assertions a test has.
func (l *language) count(s *source, c testCase) int {
	return len(s.findIn(l.assert, inCode, c.begin, c.end))
}

// saysLess compares the assertions of a test: "fewer" when some are gone and
// nothing took their place, a clause when they say less; else empty.
func (l *language) saysLess(t *tested, was, is testCase) string {
	n, m := l.count(t.old, was), l.count(t.now, is)
	if n == 0 {
		return ""
	}
	oldLines, newLines := linesOf(uncommentedPart(t.old, was)), linesOf(uncommentedPart(t.now, is))
	speaks := map[string]bool{}
	for _, line := range missing(newLines, oldLines) {
		tokens(line, speaks)
	}
	var dropped []byte
	for _, line := range missing(oldLines, newLines) {
		if l.assert.Match(line) {
			dropped = append(append(dropped, line...), '\n')
		}
	}
	if m < n {
		if len(dropped) > 0 && survives(dropped, speaks) || l.helper(t, was, is) {
			return ""
		}
		return "fewer"
	}
	weak := func(s *source, c testCase) int { return len(s.findIn(l.weak, inCode, c.begin, c.end)) }
	if w := weak(t.now, is) - weak(t.old, was); w > 0 && m-weak(t.now, is) < n-weak(t.old, was) && !survives(dropped, speaks) {
		return "asserts less: " + plural(w, "assertion") + " only says that there is something"
	}
	return ""
}

func uncommentedPart(s *source, c testCase) []byte {
	out := bytes.Clone(s.text[c.begin:c.end])
	for i, b := range s.comments[c.begin:c.end] {
		if b != ' ' && b != '\n' {
			out[i] = ' '
		}
	}
	return out
}

// helper says that a test calls something by the name of an assertion that it
// did not call before: assertions have moved there.
func (l *language) helper(t *tested, was, is testCase) bool {
	had := map[string]bool{}
	for _, m := range t.old.findIn(l.assert, inCode, was.begin, was.end) {
		had[string(t.old.code[m[0]:m[1]])] = true
	}
	for _, m := range t.now.findIn(l.assert, inCode, is.begin, is.end) {
		if call := t.now.code[m[0]:m[1]]; !had[string(call)] && len(call) > len("assertEquals(") {
			return true
		}
	}
	return false
}

// endsEarly says that a test returns at its top level with code behind, and on
// which of its lines.
func (l *language) endsEarly(body []byte) (line int, ok bool) {
	depth, indent, at := 0, -1, false
	n := 0
	for text := range bytes.Lines(body) {
		trimmed := bytes.TrimSpace(text)
		inner := len(text) - len(bytes.TrimLeft(text, " \t"))
		switch {
		case len(trimmed) == 0:
		case l.indent && n > 0 && indent < 0:
			indent = inner
		}
		if at && len(trimmed) > 0 && trimmed[0] != '}' && trimmed[0] != ')' && !bytes.Equal(trimmed, []byte("end")) {
			return line, true
		}
		if top := depth == 1 && !l.indent || l.indent && inner == indent && n > 0; top && returns(trimmed) {
			at, line = true, n
		}
		if !l.indent {
			depth += bytes.Count(text, []byte("{")) - bytes.Count(text, []byte("}"))
		}
		n++
	}
	return 0, false
}

func returns(line []byte) bool {
	switch string(bytes.TrimSuffix(line, []byte(";"))) {
	case "return", "return 0", "return true", "return nil", "return None", "return Ok(())", "return null", "next", "exit 0", "exit(0)":
		return true
	}
	return false
}

// rows tells the cases that are gone from the tables of a file.
func (k *look) rows(t *tested) {
	if t.lang.row == nil {
		return
	}
	find := func(s *source) [][]byte { return all(t.lang.row, s) }
	was, is := find(t.old), find(t.now)
	if len(is) >= len(was) {
		return
	}
	speaks := map[string]bool{}
	for _, line := range missing(linesOf(uncommented(t.now)), linesOf(t.old.text)) {
		tokens(line, speaks)
	}
	lost := missing(was, is)
	lost = lost[:min(len(lost), maxRows)]
	kept := lost[:0]
	for _, line := range lost {
		if !survives(line, speaks) && k.stays(t, line) {
			kept = append(kept, line)
		}
	}
	if n := min(len(kept), len(was)-len(is)); n > 0 {
		k.add(rankFewer, ralph.FindingTests, t.file.Path, 0, "fewer cases", "tables of tests lost "+plural(n, "case")+", from "+fmt.Sprint(len(was))+" to "+fmt.Sprint(len(is)))
	}
}

// maxRows bounds the rows that are looked for one by one.
const maxRows = 100

// all gives the text of what matches.
func all(re *pattern, s *source) [][]byte {
	var out [][]byte
	for _, m := range s.find(re, inCode) {
		end := m[1]
		if n := bytes.IndexByte(s.text[m[0]:], '\n'); n > 0 && m[0]+n > end {
			end = m[0] + n
		}
		out = append(out, bytes.TrimSpace(s.text[m[0]:end]))
	}
	return out
}

// stays says that the test that a row stood in is still there: a test that is
// gone is told by itself.
func (k *look) stays(t *tested, row []byte) bool {
	at := bytes.Index(t.old.text, row)
	i := owner(t.before, at)
	if i < 0 {
		return true
	}
	for _, c := range t.after {
		if c.name == t.before[i].name {
			return true
		}
	}
	return false
}
