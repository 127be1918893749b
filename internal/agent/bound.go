package agent

import (
	"strings"
	"unicode/utf8"
)

// oneLine folds all white space of foreign text into single spaces and bounds
// it.
func oneLine(s string) string {
	if len(s) > 8*maxMessage {
		s = s[:8*maxMessage]
	}
	return clip(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "), maxMessage)
}

// clip bounds s to n characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	runes := 0
	for i := range s {
		if runes == n-1 {
			if utf8.RuneCountInString(s[i:]) == 1 {
				return s
			}
			return s[:i] + "…"
		}
		runes++
	}
	return s
}

// last is the end of s, at most n bytes, beginning with a whole character.
func last(s string, n int) string {
	if len(s) <= n {
		return s
	}
	i := len(s) - n
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}

// tail keeps the end of what is written to it.
type tail struct {
	limit int
	buf   []byte
}

func (t *tail) Write(p []byte) (int, error) {
	if len(p) >= t.limit {
		t.buf = append(t.buf[:0], p[len(p)-t.limit:]...)
		return len(p), nil
	}
	if over := len(t.buf) + len(p) - t.limit; over > 0 {
		t.buf = t.buf[:copy(t.buf, t.buf[over:])]
	}
	t.buf = append(t.buf, p...)
	return len(p), nil
}

// String is what was kept, valid and starting with a whole character.
func (t *tail) String() string { return strings.ToValidUTF8(string(t.buf), "\uFFFD") }
