package report

import (
	"strings"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
)

// bodyBytes keeps a body below the 65,536 characters a forge accepts.
const bodyBytes = 65_000

// extraBytes is the most that the owner's text may take of it.
const extraBytes = 20_000

// Body is the pull request's body: at most 65,536 characters, cut between
// sections. extra is Markdown of the owner's (the body input, "Fixes #12"),
// stands first and is taken as it is.
func Body(r ralph.Report, extra string) string {
	m := markdown{r, bounds{prompt: 2000, rows: 25, points: 60, failures: 6, output: 2000, final: 2000, list: 8, line: 200, stories: 60, storyBytes: 12_000}}
	return assemble(bodyBytes, []section{
		{"description", ownText(extra)},
		{"outcome", m.outcome("### ")},
		{"publication errors", m.errors()},
		{"what is left to do", m.left()},
		{"stories", m.storyTable()},
		{"what was asked", m.asked()},
		{"iterations", m.table()},
		{"agents and models", m.workers()},
		{"what was put back", m.putBack()},
		{"SCM tasks", m.scm()},
		{"guardrail failures", m.guardrailFailures()},
		{"baseline", m.baseline()},
		{"notes", m.notes()},
		{"charts", m.charts()},
		{"the agent's last words", m.final()},
		{"footer", m.footer()},
	})
}

// ownText bounds the owner's text at the end of a paragraph.
func ownText(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\x00", ""), "\uFFFD")
	if len(s) <= extraBytes {
		return s
	}
	s = s[:extraBytes]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	if i := strings.LastIndex(s, "\n\n"); i > 0 {
		s = s[:i]
	}
	return s + "\n\n…"
}
