// Package printable makes foreign text fit to be shown.
package printable

import (
	"strings"
	"unicode"
)

// Clean returns text for one line: at most n runes, and a space for each one that
// cannot be printed, such as a line break or what moves a cursor.
func Clean(s string, n int) string {
	var b strings.Builder
	for _, r := range s {
		if n == 0 {
			b.WriteString("…")
			break
		}
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			r = ' '
		}
		b.WriteRune(r)
		n--
	}
	return b.String()
}
