package taskdir

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// oneLine makes text of others safe to show: one line of at most most runes,
// without control or direction characters.
func oneLine(text string, most int) string {
	text = cut(text, utf8.UTFMax*most)
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError
	}), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return text
}

// cut keeps at most so many bytes, and no half rune.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for back := range min(most, utf8.UTFMax-1) + 1 {
		if utf8.RuneStart(text[most-back]) {
			return text[:most-back]
		}
	}
	return text[:most] // it was no text
}
