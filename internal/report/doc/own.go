package doc

import (
	"strings"
	"unicode/utf8"
)

// Own is Markdown of the owner's, cut to limit bytes at the end of a paragraph. What it
// leaves open is ended, so that what stands below it is not swallowed.
func Own(s string, limit int) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\x00", ""), "\uFFFD")
	if len(s) > limit {
		s = s[:limit]
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
