package weaken

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

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
	t.gone = map[string]int{}
	for _, line := range missing(linesOf(uncommented(t.old)), linesOf(uncommented(t.now))) {
		t.gone[string(line)]++
	}
	for i, c := range t.after {
		if t.was[i] < 0 || nested(t.after, i) || t.told[c.name] {
			continue
		}
		was := t.before[t.was[i]]
		if bytes.Equal(t.old.text[was.begin:was.end], t.now.text[c.begin:c.end]) {
			continue
		}
		if line, ok := l.endsEarly(t.now.code[c.begin:c.end]); ok {
			if _, did := l.endsEarly(t.old.code[was.begin:was.end]); !did {
				k.add(rankEmptied, ralph.FindingTests, t.file.Path, c.line+line, "early return", "the test "+shown(c.name)+" returns before it has tested everything")
				continue
			}
		}
		k.saysLess(t, was, c, "test")
	}
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

// saysLess compares the assertions of a test: whether some are gone and nothing
// took their place, or one of them says less about the same thing.
func (k *look) saysLess(t *tested, was, is testCase, what string) {
	l := t.lang
	n, m := l.count(t.old, was), l.count(t.now, is)
	if n == 0 {
		return
	}
	oldLines, newLines := linesOf(uncommentedPart(t.old, was)), linesOf(uncommentedPart(t.now, is))
	var weak [][]byte
	speaks := map[string]bool{} // of all that is new but weak assertions
	others := 0                 // new assertions
	for _, line := range missing(newLines, oldLines) {
		if l.assert.Match(line) {
			others++
		}
		if l.weak.Match(line) {
			weak = append(weak, line)
			continue
		}
		tokens(line, speaks)
	}
	var dropped [][]byte
	negated := k.pattern(`(?i)not_?(?:equal|same)|!==?|\bis not\b|\brefute`)
	matcher := k.pattern(`\.(?:not\.)?to[A-Z._]\w*`)
	for _, line := range missing(oldLines, newLines) {
		said := matcher.ReplaceAll(l.assert.ReplaceAll(line, []byte(" ")), []byte(" ")) // by whatever assertion
		again := slices.ContainsFunc(newLines, func(other []byte) bool { return bytes.Equal(line, other) })
		if l.assert.Match(line) && !k.match(prepares, string(line)) && t.gone[string(line)] > 0 && !again && !survives(said, speaks) && !k.vanished(line) {
			dropped = append(dropped, line)
		}
	}
	for _, line := range weak {
		if len(t.now.findIn(l.weak, inCode, is.begin, is.end)) > len(t.old.findIn(l.weak, inCode, was.begin, was.end)) && slices.ContainsFunc(dropped, func(old []byte) bool { return !l.weak.Match(old) && !negated.Match(old) && l.about(line, old) }) {
			k.add(rankEmptied, ralph.FindingTests, t.file.Path, is.line, "weaker assertion", "the "+what+" "+shown(is.name)+" asserts less: only that there is something, where it compared")
			return
		}
	}
	if m < n && (others == 0 || 2*m < n) && len(dropped) > 0 && !survives(bytes.Join(dropped, []byte("\n")), speaks) && !k.calls(t, was, is) {
		k.add(rankFewer, ralph.FindingTests, t.file.Path, is.line, "fewer assertions", fmt.Sprintf("the %s %s has %s, and had %d", what, shown(is.name), plural(m, "assertion"), n))
	}
}

// prepares finds lines that look whether a step before the assertions went well.
const prepares = `\.(?:Fatal|Fatalf|Error|NoError|Nil)\((?:t, ?)?err\)`

// about reports whether an assertion is about what another one was about: the
// words of it that are not the assertion's own stand there, too.
func (l *language) about(weak, other []byte) bool {
	if rest := l.weak.ReplaceAll(weak, []byte(" ")); len(bytes.TrimSpace(rest)) > 0 {
		weak = rest
	}
	words := func(line []byte) []string {
		return strings.FieldsFunc(string(line), func(r rune) bool { return r < utf8.RuneSelf && !isWord(byte(r)) })
	}
	had, n := words(other), 0
	for _, word := range words(weak) {
		lower := strings.ToLower(word)
		if strings.Contains(lower, "assert") || strings.Contains(lower, "expect") || strings.HasPrefix(lower, "tobe") || strings.HasPrefix(lower, "be_") || contains(fillers, lower) {
			continue
		}
		if n++; !slices.Contains(had, word) {
			return false
		}
	}
	return n > 0
}

// fillers are words of assertions that say nothing of what they are about.
const fillers = " to be not is none null nil this self should exist some ok isinstance any "

func uncommentedPart(s *source, c testCase) []byte {
	out := bytes.Clone(s.text[c.begin:c.end])
	for i, b := range s.comments[c.begin:c.end] {
		if b != ' ' && b != '\n' {
			out[i] = ' '
		}
	}
	return out
}

// calls reports whether a test calls something that it did not call before: what
// it asserted may be asserted there.
func (k *look) calls(t *tested, was, is testCase) bool {
	call := k.pattern(`\w+[!?]?[ \t]*[({]`)
	had := map[string]bool{}
	for _, m := range call.FindAll(t.old.code[was.begin:was.end], -1) {
		had[string(m)] = true
	}
	return slices.ContainsFunc(call.FindAll(t.now.code[is.begin:is.end], -1), func(m []byte) bool { return !had[string(m)] })
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
