package weaken

import (
	"bytes"
	"path"
	"slices"

	"github.com/org/ralph-action/internal/ralph"
)

// What lets tests pass whatever the code does, written alike in many languages.
const (
	// notInCI finds what ends a test where it would count.
	notInCI = `\bif\b[^\n]*\b(?:is|in|on|IS_|IN_)?(?:CI|GITHUB_ACTIONS|GITLAB_CI|CONTINUOUS_INTEGRATION)\b[^\n]*\s*\b(?:return|next)\b|\breturn[ \t]+if\b[^\n]*\bCI\b`
	// onlyInCI finds the opposite.
	onlyInCI = `!\s*[\w(]|\bnot\b|==\s*(?:""|''|null|nil|None|undefined)|\bis\s+None|\.nil\?|\.is_err\(`
	// swallows finds failed assertions that are caught and dropped.
	swallows = `\bsuppress\([^)\n]*\b(?:AssertionError|BaseException)\b|\bexcept\b[^\n]*\bAssertionError\b[^\n]*:\s*(?:pass|return|continue|\.\.\.)` +
		`|\bcatch\s*\([^)\n]*\b(?:Assert\w+|AssertionError|Expectation\w+|Xunit\w+|ComparisonFailure)\b[^)\n]*\)\s*\{\s*\}` +
		`|\brescue\s+(?:Minitest::Assertion|RSpec::Expectations::\w+|Test::Unit::\w+|Exception)\b[^\n]*\s+(?:nil\s+)?end\b` +
		`|\btry\s*\{(?:[^{}]|\{[^{}]*\})*\b(?:expect|assert)\b(?:[^{}]|\{[^{}]*\})*\}\s*catch\s*(?:\(\s*(?:\w*|\\?Throwable(?:[ \t]+\$?\w+)?)\s*\)\s*)?\{\s*\}`
	// exits finds a success that does not ask what the tests found.
	exits = `\bprocess\.exitCode\s*=\s*0\b|\bprocess\.exit\(\s*0?\s*\)|\bos\._exit\(\s*0\s*\)|\bsys\.exit\(\s*0?\s*\)|\bexitstatus\s*=\s*0\b|\bexit!?[ \t(]+(?:0|true)\b|\bSystem\.exit\(\s*0\s*\)|\bEnvironment\.Exit(?:Code\s*=\s*|\(\s*)0\b|\bSystem\.halt\(\s*0?\s*\)|\bos\.Exit\(\s*0\s*\)|\b_?exit\(\s*(?:0|EXIT_SUCCESS)?\s*\);`
	// functions finds functions by the word in front of their name.
	functions = `(?m)^[ \t]*(?:[\w.]+[ \t]+)*?(?:func|function|def|fn|fun)[ \t*]+(?:\([^)\n]*\)[ \t]*|self\.)?(\w+)|^[ \t]*(?:export[ \t]+)?(?:const|let|var)[ \t]+(\w+)[ \t]*=[ \t]*(?:async[ \t]*)?(?:function\b|\()|^[ \t]*(?:(?:public|private|protected|internal|static|final|async|void)[ \t]+)+(?:[\w<>\[\],.?]+[ \t]+)*(\w+)[ \t]*\(`
)

// passes tells what makes tests pass, and helpers of tests that assert less.
func (k *look) passes(t *tested) {
	for _, at := range fresh(k.pattern(notInCI), t, true) {
		if line := t.now.lineOf(at); !k.match(onlyInCI, string(t.now.text[at:t.now.end(line-1)])) {
			k.add(rankSkipped, ralph.FindingTests, t.file.Path, line, "not in CI", "code"+t.in(at)+" does not run in the CI")
		}
	}
	for _, at := range fresh(k.pattern(swallows), t, false) {
		if bytes.Contains(t.now.code[max(0, at-300):t.now.end(t.now.lineOf(at)-1)], []byte("fail(")) || t.lang.indent && bytes.Contains(t.now.code[at:min(len(t.now.code), at+200)], []byte("else:\n")) {
			continue // the assertion is what is tested
		}
		k.add(rankEmptied, ralph.FindingTests, t.file.Path, t.now.lineOf(at), "swallowed", "a failed assertion"+t.in(at)+" is caught and dropped")
	}
	for _, at := range fresh(k.pattern(exits), t, false) {
		if i := owner(t.after, at); t.lang.name == "go" && (i < 0 || t.after[i].name != "TestMain") {
			continue // a program that a test starts
		}
		k.add(rankSilenced, ralph.FindingTests, t.file.Path, t.now.lineOf(at), "exit code", "the process ends with success, whatever the tests found")
	}
	if t.old == nil || len(t.before) == 0 && !k.match(testPlace, path.Dir(t.file.Path)) {
		return
	}
	before, after := k.helpers(t, t.old, t.before), k.helpers(t, t.now, t.after)
	for _, name := range sorted(after) {
		if was, ok := before[name]; ok && !t.told[name] {
			k.saysLess(t, was, after[name], "helper")
		}
	}
}

// helpers are the functions of a file that are no tests, by their names; of those
// of one name the first.
func (k *look) helpers(t *tested, s *source, tests []testCase) map[string]testCase {
	all := map[string]testCase{}
	var ends []int32
	if t.lang.indent {
		ends = s.indentEnds()
	}
	for _, m := range s.findGroups(k.pattern(functions), inCode) {
		var name string
		for i := 2; i < len(m) && name == ""; i += 2 {
			if m[i] >= 0 {
				name = string(s.text[m[i]:m[i+1]])
			}
		}
		c := testCase{name: name, at: m[0], begin: m[1], line: s.lineOf(m[1])}
		if _, had := all[name]; had || name == "" {
			continue
		}
		c.at = m[1]
		c.end = t.lang.bodyEnd(s, &c, len(s.text), ends)
		c.end = max(c.begin, min(c.end, len(s.text), c.begin+maxBody))
		if !slices.ContainsFunc(tests, func(test testCase) bool { return test.begin <= c.end && c.begin <= test.end }) {
			all[name] = c
		}
	}
	return all
}
