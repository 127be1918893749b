package testintegrity

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/org/ralph-action/internal/ralph"
)

// What lets tests pass whatever the code does, written alike in many languages.
var (
	// notInCI finds what ends a test where it would count.
	notInCI = re(`\bif\b[^\n]*\b(?:is|in|on|IS_|IN_)?(?:CI|GITHUB_ACTIONS|GITLAB_CI|CONTINUOUS_INTEGRATION)\b[^\n]*\s*\b(?:return|next)\b|\breturn[ \t]+if\b[^\n]*\bCI\b`)
	// onlyInCI finds the opposite.
	onlyInCI = re(`!\s*[\w(]|\bnot\b|==\s*(?:""|''|null|nil|None|undefined)|\bis\s+None|\.nil\?|\.is_err\(`)
	// swallows finds failed assertions that are caught and dropped.
	swallows = re(`\bsuppress\([^)\n]*\b(?:AssertionError|BaseException)\b|\bexcept\b[^\n]*\bAssertionError\b[^\n]*:\s*(?:pass|return|continue|\.\.\.)` +
		`|\bcatch\s*\([^)\n]*\b(?:Assert\w+|AssertionError|Expectation\w+|Xunit\w+|ComparisonFailure)\b[^)\n]*\)\s*\{\s*\}` +
		`|\brescue\s+(?:Minitest::Assertion|RSpec::Expectations::\w+|Test::Unit::\w+|Exception)\b[^\n]*\s+(?:nil\s+)?end\b` +
		`|\btry\s*\{(?:[^{}]|\{[^{}]*\})*\b(?:expect|assert)\b(?:[^{}]|\{[^{}]*\})*\}\s*catch\s*(?:\(\s*(?:\w*|\\?Throwable(?:[ \t]+\$?\w+)?)\s*\)\s*)?\{\s*\}`)
	// handler finds the head of one, fails what in it lets a failure through.
	handler = re(`\b(?:catch|except|rescue|suppress)\b[^\n{]*`)
	fails   = re(`(?i)\b(?:re)?(?:throw|raise)|fail|assert|expect|\b(?:done|reject|exit|panic)\b`)
	// exits finds a success that does not ask what the tests found.
	exits = re(`\bprocess\.exitCode\s*=\s*0\b|\bprocess\.exit\(\s*0?\s*\)|\bos\._exit\(\s*0\s*\)|\bexitstatus\s*=\s*0\b|\bexit!?[ \t(]+(?:0|true)\b|\bSystem\.exit\(\s*0\s*\)|\bEnvironment\.Exit(?:Code\s*=\s*|\(\s*)0\b|\bos\.Exit\(\s*0\s*\)|\b_?exit\(\s*(?:0|EXIT_SUCCESS)?\s*\);`)
	// forks finds what makes children.
	forks = re(`\b\w*fork\(`)
	// testPlace finds directories of tests.
	testPlace = re(`(?i)(?:^|[/._-])(?:\w*tests?|specs?)(?:[/._-]|$)`)
	// prepares finds lines that look whether a step before the assertions went well, and
	// those that expect a failure.
	prepares = re(`(?i:expect\w*fail|must be set|env var)|\.Repeat\.Any\(|\.(?:Fatal|Fatalf|Error|Nil)\((?:t, ?)?err\)|\.NoError\(`)
	// expected finds annotations of tests that say which exception is thrown.
	expected = re(`\b[eE]xpected(?:Exceptions?)?\b`)
	matcher  = re(`\.(?:not\.)?to[A-Z._]\w*`)
	call     = re(`\w+[!?]?[ \t]*[({]`)
)

// emptied tells what of the tests and helpers that stay says less than before.
func (k *look) emptied(t *tested) {
	tell := func(rank, at int, rule, text string) {
		k.add(rank, ralph.FindingTests, t.file.Path, t.now.lineOf(at), rule, text)
	}
	for _, at := range k.freshIn(t, t.lang.trivial, inCode) {
		if c := t.around(at); c != nil && t.asserted(at) && t.lang.asserted(t.now, *c) == len(t.lang.trivial.FindAllIndex(t.now.code[c.begin:c.end], -1)) { // nothing else is asserted
			tell(rankEmptied, at, "trivial assertion", "an assertion"+t.in(at)+" always holds")
		}
	}
	for _, at := range k.freshIn(t, t.lang.disabled, inCode) {
		if t.old != nil && len(t.after) > 0 && !t.isNew(at) && !k.cameWith(t, at) {
			tell(rankEmptied, at, "switched off", "code"+t.in(at)+" is switched off by a condition that never holds")
		}
	}
	if !t.lang.inline {
		for _, at := range k.freshIn(t, notInCI, inStrings) {
			if line := t.now.lineOf(at) - 1; !onlyInCI.Match(t.now.text[at:t.now.end(line)]) {
				tell(rankSkipped, at, "not in CI", "code"+t.in(at)+" does not run in the CI")
			}
		}
		failed := sync.OnceValue(func() bool {
			return slices.ContainsFunc(missing(linesOf(t.old.plain), linesOf(t.now.plain)), fails.Match)
		})
		for _, at := range k.freshIn(t, swallows, inCode) {
			if len(t.after) == 0 || bytes.Contains(t.now.code[max(0, at-300):t.now.end(t.now.lineOf(at)-1)], []byte("fail(")) || t.lang.indent && bytes.Contains(t.now.code[at:min(len(t.now.code), at+200)], []byte("else:\n")) || !k.swallowed(t, at, failed) {
				continue // the assertion is what is tested, or it was swallowed before
			}
			tell(rankEmptied, at, "swallowed", "a failed assertion"+t.in(at)+" is caught and dropped")
		}
		for _, at := range k.freshIn(t, exits, inCode) {
			if i := owner(t.after, at); t.lang.name == "go" && (i < 0 || t.after[i].name != "TestMain") {
				continue // a program that a test starts
			}
			if line := t.now.lineAt([]int{at, at}); t.lang.name == "python" && path.Base(t.file.Path) != "conftest.py" && !strings.Contains(line, "atexit") {
				continue // a child that a test starts
			}
			if bytes.HasSuffix(bytes.TrimRight(t.now.code[:at], " \t\n{"), []byte("if (process.exitCode)")) {
				continue // with what they found
			}
			if forks.Match(t.now.code) || strings.Contains(t.file.Path, "bench") || t.old == nil && t.lang.name != "go" && path.Base(t.file.Path) != "conftest.py" {
				continue // a child, a program beside the tests, or a new file, which no other test reads
			}
			tell(rankSilenced, at, "exit code", "the process ends with success, whatever the tests found")
		}
	}
	if t.old == nil {
		return
	}
	for i, c := range t.after {
		if t.was[i] < 0 || nested(t.after, i) || t.told[c.name] {
			continue
		}
		was := t.before[t.was[i]]
		if t.same(was, c) {
			continue
		}
		if line, ok := t.lang.endsEarly(t.now.code[c.begin:c.end]); ok {
			if _, did := t.lang.endsEarly(t.old.code[was.begin:was.end]); !did {
				k.add(rankEmptied, ralph.FindingTests, t.file.Path, c.line+line, "early return", "the test "+shown(c.name)+" returns before it has tested everything")
				continue
			}
		}
		k.saysLess(t, was, c)
	}
}

// swallowed reports whether it is new that an assertion is swallowed at a place: the
// test or the assertion was there before, and the handler was not or, by failed, let failures through.
func (k *look) swallowed(t *tested, at int, failed func() bool) bool {
	block := swallows.Find(t.now.code[at:])
	if t.old == nil || t.isNew(at) {
		lines := linesOf(t.now.text[t.now.begin(max(0, t.now.lineOf(at)-4)):t.now.end(t.now.lineOf(at+len(block))-1)])
		return slices.ContainsFunc(lines, func(line []byte) bool { return t.lang.assert.Match(line) && k.balance[string(line)] <= 0 })
	}
	head := handler.Find(block)
	return bytes.Count(t.now.code, head) > bytes.Count(t.old.code, head) || failed()
}

// around returns the test that a place is in, nil if it is in none.
func (t *tested) around(at int) *testCase {
	if i := owner(t.after, at); i >= 0 && t.after[i].at <= at {
		return &t.after[i]
	}
	return nil
}

// cameWith reports whether the line below a place is new, too.
func (k *look) cameWith(t *tested, at int) bool {
	line := t.now.lineOf(at)
	return line < len(t.now.starts) && k.balance[string(bytes.TrimSpace(t.now.text[t.now.begin(line):t.now.end(line)]))] > 0
}

// isNew reports whether a place is in a new test.
func (t *tested) isNew(at int) bool {
	i := owner(t.after, at)
	return i >= 0 && t.after[i].at <= at && t.was[i] < 0
}

// asserted counts the assertions of a test, an exception that its annotation expects
// among them.
func (l *language) asserted(s *source, c testCase) int {
	return len(l.assert.FindAllIndex(s.code[c.begin:c.end], -1)) + len(expected.FindAllIndex(s.code[c.at:c.begin], -1))
}

// asserted reports whether a place is in a test that asserted something before.
func (t *tested) asserted(at int) bool {
	i := owner(t.after, at)
	if i < 0 || t.was[i] < 0 {
		return false
	}
	was := t.before[t.was[i]]
	return t.lang.asserted(t.old, was) > len(t.lang.trivial.FindAllIndex(t.old.code[was.begin:was.end], -1))
}

// in names the test a place is in, and marks it as told.
func (t *tested) in(at int) string {
	c := t.around(at)
	if c == nil {
		return ""
	}
	t.told[c.name] = true
	return " of the test " + shown(c.name)
}

// nested reports whether a test holds others, which are compared by themselves.
func nested(list []testCase, i int) bool {
	return i+1 < len(list) && list[i+1].at < list[i].end
}

// saysLess tells a test whose assertions are all gone, where none came into its file.
func (k *look) saysLess(t *tested, was, is testCase) {
	l := t.lang
	n, m := l.asserted(t.old, was), l.asserted(t.now, is)
	if n == 0 || m > 0 || slices.ContainsFunc(t.came(), l.assert.Match) {
		return
	}
	oldLines, newLines := linesOf(t.old.plain[was.begin:was.end]), linesOf(t.now.plain[is.begin:is.end])
	speaks := map[string]bool{} // of what is new in it
	for _, line := range missing(newLines, oldLines) {
		tokens(line, speaks)
	}
	var dropped [][]byte
	for _, line := range missing(oldLines, newLines) {
		said := matcher.ReplaceAll(l.assert.ReplaceAll(line, []byte(" ")), []byte(" ")) // by whatever assertion
		again := slices.ContainsFunc(newLines, func(other []byte) bool { return bytes.Equal(line, other) })
		if l.assert.Match(line) && !prepares.Match(line) && k.balance[string(line)] < 0 && !again && !survives(said, speaks) {
			dropped = append(dropped, line)
		}
	}
	moved := survives(bytes.Join(dropped, []byte("\n")), k.spoken)
	if len(dropped) > 0 && !moved && !t.calls(was, is) && !k.recoded(l) && k.gained[l] == 0 {
		k.add(rankFewer, ralph.FindingTests, t.file.Path, is.line, "no assertions", "the test "+shown(is.name)+" asserts nothing any more, and had "+plural(n, "assertion"))
	}
}

// calls reports whether a test calls something that it did not call before: what
// it asserted may be asserted there.
func (t *tested) calls(was, is testCase) bool {
	had := map[string]bool{}
	for _, m := range call.FindAll(t.old.code[was.begin:was.end], -1) {
		had[string(m)] = true
	}
	return slices.ContainsFunc(call.FindAll(t.now.code[is.begin:is.end], -1), func(m []byte) bool { return !had[string(m)] })
}

// endsEarly reports whether a test returns at its top level with code behind, and on
// which of its lines.
func (l *language) endsEarly(body []byte) (line int, ok bool) {
	depth, indent, at := 0, -1, false
	n, headed := 0, false // headed: the line above is that of a condition whose body has no brackets
	for text := range bytes.Lines(body) {
		trimmed := bytes.TrimSpace(text)
		inner := indentOf(text)
		if l.indent && n > 0 && indent < 0 && len(trimmed) > 0 {
			indent = inner
		}
		if at && len(trimmed) > 0 && trimmed[0] != '}' && trimmed[0] != ')' && !bytes.Equal(trimmed, []byte("end")) {
			return line, true
		}
		if top := depth == 1 && !l.indent || l.indent && inner == indent && n > 0; top && !headed && returns(trimmed) {
			at, line = true, n
		}
		headed = !l.indent && onCondition.Match(trimmed) && bytes.HasSuffix(trimmed, []byte(")"))
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
