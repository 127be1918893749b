package actions

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// MaxLine is how many bytes of one line of foreign text are shown.
const MaxLine = 16 << 10

// prefix stands before every line of foreign text. The runner takes "::" for a
// command only where nothing but white space precedes it, and people see who
// is speaking.
const prefix = "│ "

// Defuse turns one line of foreign text into one that the runner shows and
// never obeys: prefixed, sanitized, without "##[". What the runner accepts is
// in actions/runner, ActionCommand.cs: "::name::" after any leading white
// space, "##[name]" anywhere.
func Defuse(line []byte) []byte {
	return append([]byte(prefix), unbracket(Sanitize(line))...)
}

// defuseOwn is Defuse for our own words, which may quote foreign ones: the
// prefix only where the line would be a command.
func defuseOwn(line []byte) []byte {
	line = unbracket(Sanitize(line))
	if bytes.HasPrefix(bytes.TrimSpace(line), []byte("::")) {
		line = append([]byte(prefix), line...)
	}
	return line
}

// unbracket breaks the runner's older command form, which is found anywhere in
// a line.
func unbracket(line []byte) []byte {
	return bytes.ReplaceAll(line, []byte("##["), []byte("## ["))
}

// Sanitize makes one line of foreign text safe to show on a terminal: colours
// and cursor movements are dropped; control characters (tab excepted), invalid
// UTF-8 and characters that are invisible or change the reading direction
// become U+FFFD. The result shares memory with line when nothing changed.
func Sanitize(line []byte) []byte {
	i := plain(line)
	if i == len(line) {
		return line
	}
	out := make([]byte, 0, len(line)+utf8.UTFMax)
	out = append(out, line[:i]...)
	for i < len(line) {
		if n := sequence(line[i:]); n > 0 {
			i += n
			continue
		}
		r, size := utf8.DecodeRune(line[i:])
		switch {
		case r == '\ufe0f' || r == '\ufe0e': // only chooses how an emoji is drawn
		case hidden(r):
			out = utf8.AppendRune(out, utf8.RuneError)
		default: // invalid UTF-8 is RuneError already
			out = utf8.AppendRune(out, r)
		}
		i += size
		n := plain(line[i:])
		out = append(out, line[i:i+n]...)
		i += n
	}
	return out
}

// plain counts the leading bytes that are printable ASCII or tabs.
func plain(line []byte) int {
	for i, c := range line {
		if (c < ' ' && c != '\t') || c >= 0x7f {
			return i
		}
	}
	return len(line)
}

// sequence is the length of a control sequence (ECMA-48 CSI: colours, cursor)
// at the start of the line, 0 if there is none. Other escapes carry text (OSC,
// DCS) that must not vanish from a log, so only their control characters go.
func sequence(line []byte) int {
	const longest = 64
	if len(line) < 3 || line[0] != 0x1b || line[1] != '[' {
		return 0
	}
	for i, c := range line[2:min(len(line), longest)] {
		switch {
		case c >= 0x40 && c <= 0x7e:
			return i + 3
		case c < 0x20 || c > 0x7e:
			return 0
		}
	}
	return 0
}

// hidden reports whether a character cannot be seen, or changes how others are.
func hidden(r rune) bool {
	switch {
	case r == '\t':
		return false
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector):
		return true // Cf: zero-width, bidi, tag characters, soft hyphen, BOM
	}
	switch r {
	case '\u034f', '\u115f', '\u1160', '\u17b4', '\u17b5', '\u3164', '\uffa0': // joiner and fillers
		return true
	}
	return r >= 0xe0000 && r <= 0xe007f // the unassigned ones among the tags
}
