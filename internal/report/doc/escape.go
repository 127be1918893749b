package doc

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// Joiner is put where a forge would otherwise see a mention, a reference or an
// address. It is invisible, so the text stays readable.
const Joiner = "\u200d"

var ansiSequence = lazyregexp.New(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])`)

// Clean makes foreign text printable: valid UTF-8, \n as the only line end, and
// no escape sequences, control, bidirectional, zero-width, tag or other
// invisible characters.
func Clean(s string) string {
	if isPlain(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = ansiSequence.ReplaceAllString(s, "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r >= ' ' && r <= '~', r > '\u00A0' && r < '\u0300' && r != '\u00AD': // most text, without a search
			return r
		case r == '\n' || r == '\t' || r == '\uFE0F': // the last makes emoji colourful
			return r
		case r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			return -1
		}
		return r
	}, s)
}

// Visible is s with everything shown that hides or disguises text: a control
// character as its picture, a bidirectional, zero-width or other invisible one by its
// number. Colours of a terminal are left out; \n and \t stay.
func Visible(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for _, r := range colours.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "") {
		switch {
		case r == '\n' || r == '\t' || r == '\uFE0F':
			b.WriteRune(r)
		case r < ' ':
			b.WriteRune('\u2400' + r)
		case r == 0x7f:
			b.WriteRune('\u2421')
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			fmt.Fprintf(&b, "⟦U+%04X⟧", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

var colours = lazyregexp.New(`\x1b\[[0-9;:]*m`)

// isPlain reports whether s is printable Latin text with \n and \t.
func isPlain(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= ' ' && c <= '~', c == '\n', c == '\t':
		case c < utf8.RuneSelf:
			return false
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			if r <= '\u00A0' || r >= '\u0300' || r == '\u00AD' {
				return false
			}
			i += size - 1
		}
	}
	return true
}

// Head is the cleaned beginning of s, at most limit runes; cut reports whether
// something is missing. Its cost does not grow with s.
func Head(s string, limit int) (text string, cut bool) {
	if n := limit * utf8.UTFMax; len(s) > n {
		s, cut = s[:n], true
	}
	first, more := FirstRunes(Clean(s), limit)
	return first, cut || more
}

// Tail is the cleaned end of s, at most limit runes.
func Tail(s string, limit int) (text string, cut bool) {
	if n := limit * utf8.UTFMax; len(s) > n {
		s, cut = s[len(s)-n:], true
	}
	s = Clean(s)
	if len(s) <= limit {
		return s, cut
	}
	at := len(s)
	for range limit {
		if at == 0 {
			return s, cut
		}
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return s[at:], cut || at > 0
}

// FirstRunes is at most the first n runes of s; more reports whether there are others.
func FirstRunes(s string, n int) (first string, more bool) {
	if len(s) <= n {
		return s, false
	}
	for i := range s {
		if n == 0 {
			return s[:i], true
		}
		n--
	}
	return s, false
}

// OneLine is s cleaned, on one line, at most limit runes with a mark where it
// was cut.
func OneLine(s string, limit int) string {
	s, cut := Head(s, 4*limit)
	s = strings.Join(strings.Fields(s), " ")
	if _, more := FirstRunes(s, limit); more || cut {
		s, _ = FirstRunes(s, limit-1)
		return strings.TrimRight(s, " ") + "…"
	}
	return s
}

// Defuse breaks what a forge acts upon: @mentions and mail addresses, #12 and
// GH-12 and !12 references (and with them every closing keyword), and bare
// addresses.
func Defuse(s string) string {
	var b strings.Builder
	digit := func(i int) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }
	for i := range len(s) {
		c := s[i]
		b.WriteByte(c)
		switch {
		case c == '@',
			(c == '#' || c == '!') && digit(i+1),
			c == '-' && digit(i+1) && i >= 2 && strings.EqualFold(s[i-2:i], "gh"),
			c == ':' && strings.HasPrefix(s[i+1:], "//"),
			(c == 'w' || c == 'W') && i >= 2 && strings.EqualFold(s[i-2:i], "ww") && strings.HasPrefix(s[i+1:], "."):
			b.WriteString(Joiner)
		}
	}
	return b.String()
}

// inline is s as plain words inside a Markdown paragraph, list item, heading
// or table cell: one line, no markup, no HTML, no links.
func inline(s string, limit int) string {
	s = Defuse(OneLine(s, limit))
	number := len(s) - len(strings.TrimLeft(s, "0123456789"))
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; c {
		case '&', '<', '>', '|':
			b.WriteString(entity(c))
			continue
		case '\\', '`', '*', '_', '[', ']', '#', '!', '~', '$':
			b.WriteByte('\\')
		case '-', '+', '=', ':': // a list, a heading's underline, a table's rule
			if i == 0 {
				b.WriteByte('\\')
			}
		case '.', ')': // a numbered list
			if i == number && number > 0 {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// code is s as a code span inside a Markdown paragraph or table cell; empty
// when there is nothing to show.
func code(s string, limit int) string {
	s = OneLine(s, limit)
	if s == "" {
		return ""
	}
	if !strings.ContainsAny(s, "`|") {
		return "`" + s + "`"
	}
	// A backtick may need a longer fence and a pipe ends a table's cell, so
	// such a text is spelled out in a form that means the same everywhere.
	return "<code>" + spelled(Defuse(s)) + "</code>"
}

// spelled writes whatever Markdown or HTML could act upon as entities.
func spelled(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_[]#!~$|<>&:@\"'", r) {
			b.WriteString(entity(byte(r)))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func entity(c byte) string { return "&#" + strconv.Itoa(int(c)) + ";" }

// htmlText is s as one line of text inside an HTML element of a Markdown
// document. Markdown does not apply there, but not every forge agrees on where
// such an element ends.
func htmlText(s string, limit int) string { return spelled(Defuse(OneLine(s, limit))) }

// fence is s as a Markdown code block that nothing inside can close.
func fence(s string) string {
	run, longest := 0, 0
	for i := range len(s) {
		if s[i] == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	ticks := strings.Repeat("`", max(3, longest+1))
	return ticks + "text\n" + strings.Trim(s, "\n") + "\n" + ticks + "\n"
}

// link is a Markdown link; label is Markdown already. An address that is no
// plain web address gives the label alone.
func link(label, address string) string {
	address = WebAddress(address)
	if address == "" {
		return label
	}
	return "[" + label + "](" + address + ")"
}

// WebAddress is address when it is an http or https URL with a host and
// without credentials, with everything encoded that could end a Markdown link
// or an HTML attribute; else empty.
func WebAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil || len(address) > 2048 {
		return ""
	}
	var b strings.Builder
	for i := range len(address) {
		c := address[i]
		if c <= ' ' || c > '~' || strings.IndexByte("()<>[]\"'`|\\*@", c) >= 0 {
			b.WriteString("%" + strings.ToUpper(strconv.FormatInt(int64(c)+256, 16)[1:]))
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
