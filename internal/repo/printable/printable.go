// Package printable shows foreign text on one line.
package printable

import "strings"

// Line makes foreign text one bounded printable line; the end is kept.
func Line(s string, limit int) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 || c == '\ufffd' {
			return ' '
		}
		return c
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > limit {
		s = "…" + string(r[len(r)-limit:])
	}
	return s
}
