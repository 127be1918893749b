// Package printable makes foreign text fit to be shown.
package printable

import (
	"strconv"
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

// Visible returns text that reads better without quotes, such as a path, with a mark for each
// rune that cannot be printed.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// Quote returns text in quotes, escaped and cut after n runes.
func Quote(s string, n int) string {
	if short := Cut(s, n); len(short) < len(s) {
		return strconv.Quote(short) + "…"
	}
	return strconv.Quote(s)
}

// Cut returns the first n runes of a text.
func Cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
