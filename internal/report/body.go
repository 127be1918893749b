package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
)

// bodyBytes keeps a body below the 65,536 characters a forge accepts.
const bodyBytes = 65_000

// extraBytes is the most that the owner's text may take of it.
const extraBytes = 20_000

// BodyOptions is what the pull request's body needs beyond the record.
type BodyOptions struct {
	// Extra is Markdown of the owner's (the body input), taken as it is; it stands
	// above the record.
	Extra string
	// Marker is the first line, by which the body is known as ours: an HTML
	// comment. Empty: none.
	Marker string
	Closes int // the issue that merging closes; 0: none
	// About is what the body remembers; its issues are closed, too.
	About About
}

// Body is the pull request's body: at most 65,536 characters, cut between
// sections.
func Body(r ralph.Report, o BodyOptions) string {
	o.About = o.About.With(o.Closes)
	m := markdown{r, bounds{prompt: 2000, rows: 25, points: 60, failures: 6, output: 2000, final: 2000, list: 8, line: 300, stories: 60, storyBytes: 12_000, runs: 10, findings: 50, network: 10}}
	return assemble(bodyBytes, []section{
		{"marker", marks(o.Marker, o.About)},
		{"description", ownText(o.Extra)},
		{"issue", m.closings(o.About.Issues)},
		{"outcome", m.outcome("### ")},
		{"publication errors", m.errors()},
		{"what is left to do", m.left()},
		{"findings", m.findings()},
		{"changes left out", m.patch()},
		{"checks", m.checks()},
		{"stories", m.storyTable()},
		{"what was asked", m.asked()},
		{"iterations", m.table()},
		{"history of the branch", m.history()},
		{"agents and models", m.workers()},
		{"what was put back", m.putBack()},
		{"SCM tasks", m.scm()},
		{"guardrail failures", m.guardrailFailures()},
		{"baseline", m.baseline()},
		{"refused addresses", m.network()},
		{"notes", m.notes()},
		{"charts", m.charts()},
		{"the agent's last words", m.final()},
		{"footer", m.footer()},
	})
}

// closing is the line by which merging closes an issue; while a part of what was
// asked may be missing, it names the issue only.
func closing(issue int, part bool) string {
	switch {
	case issue <= 0:
		return ""
	case part:
		return fmt.Sprintf("Part of #%d", issue)
	}
	return fmt.Sprintf("Fixes #%d", issue)
}

// ownText bounds the owner's text at the end of a paragraph, and ends what it
// leaves open, so that the record below it is not swallowed.
func ownText(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\x00", ""), "\uFFFD")
	if len(s) > extraBytes {
		s = s[:extraBytes]
		for !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
		if i := strings.LastIndex(s, "\n\n"); i > 0 {
			s = s[:i]
		}
		s += unended(s) + "\n\n…"
	}
	return s + unended(s)
}

// unended is what ends a code block or an HTML comment that s leaves open.
func unended(s string) string {
	fence, comment := "", false
	for line := range strings.SplitSeq(s, "\n") {
		text := strings.TrimLeft(line, " ")
		if comment {
			comment = !strings.Contains(line, "-->")
			continue
		}
		mark := text[:len(text)-len(strings.TrimLeft(text, text[:min(1, len(text))]))]
		switch {
		case len(line)-len(text) > 3: // indented code
		case fence != "":
			if strings.HasPrefix(mark, fence) && strings.TrimSpace(text[len(mark):]) == "" {
				fence = ""
			}
		case len(mark) >= 3 && (mark[0] == '~' || mark[0] == '`' && !strings.Contains(text[len(mark):], "`")):
			fence = mark
		default:
			comment = strings.HasPrefix(text, "<!--") && !strings.Contains(text, "-->")
		}
	}
	switch {
	case fence != "":
		return "\n" + fence
	case comment:
		return "\n-->"
	}
	return ""
}
