package driver

import (
	"strings"
	"unicode/utf8"
)

// OneLine folds all white space of foreign text into single spaces and bounds
// it.
func OneLine(s string) string {
	if len(s) > 8*MaxMessage {
		s = s[:8*MaxMessage]
	}
	return Clip(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "), MaxMessage)
}

// Clip bounds s to n characters.
func Clip(s string, n int) string {
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

// Last is the end of s, at most n bytes, beginning with a whole character.
func Last(s string, n int) string {
	if len(s) <= n {
		return s
	}
	i := len(s) - n
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}

// Tail keeps the end of what is written to it.
type Tail struct {
	Limit int
	buf   []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	if len(p) >= t.Limit {
		t.buf = append(t.buf[:0], p[len(p)-t.Limit:]...)
		return len(p), nil
	}
	if over := len(t.buf) + len(p) - t.Limit; over > 0 {
		t.buf = t.buf[:copy(t.buf, t.buf[over:])]
	}
	t.buf = append(t.buf, p...)
	return len(p), nil
}

// String is what was kept, valid and starting with a whole character.
func (t *Tail) String() string { return strings.ToValidUTF8(string(t.buf), "\uFFFD") }

// LastLine is the last line that is not blank, bounded.
func LastLine(s string) string {
	s = strings.TrimSpace(s)
	return OneLine(s[strings.LastIndexByte(s, '\n')+1:])
}
