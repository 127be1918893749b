package agent

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds how deeply values may nest before a line counts as
// malformed; the streams of today's CLIs stay below 20.
const maxDepth = 200

// scanner walks over JSON once, without building anything: what it hands out
// are slices of the input. Strings are skipped with bytes.IndexByte, so a
// megabyte of tool output costs microseconds. After the first thing that is
// malformed, or the end of input that broke off, bad is set and nothing more is
// handed out; what came before stays handed out.
type scanner struct {
	b   []byte
	i   int
	bad bool
}

// at says that the next value starts with the byte c.
func (s *scanner) at(c byte) bool {
	s.i = space(s.b, s.i)
	return s.i < len(s.b) && s.b[s.i] == c
}

func (s *scanner) eat(c byte) bool {
	if !s.at(c) {
		return false
	}
	s.i++
	return true
}

// value consumes the next value. One the input breaks off in is handed out as
// far as it goes.
func (s *scanner) value() []byte {
	s.i = space(s.b, s.i)
	start, end := s.i, skip(s.b, s.i, 0)
	if end < 0 {
		s.bad, end = true, len(s.b)
	}
	s.i = end
	return s.b[start:end]
}

// object consumes an object; member must consume the value of each key.
func (s *scanner) object(member func(key []byte)) {
	s.list('{', '}', func() {
		s.i = space(s.b, s.i)
		end := skipString(s.b, s.i)
		if end < 0 {
			s.bad = true
			return
		}
		key := s.b[s.i+1 : end-1]
		s.i = end
		if !s.eat(':') || space(s.b, s.i) == len(s.b) {
			s.bad = true
			return
		}
		member(key)
	})
}

// array consumes an array; element must consume each value.
func (s *scanner) array(element func()) { s.list('[', ']', element) }

func (s *scanner) list(opening, closing byte, item func()) {
	if !s.eat(opening) {
		s.bad = true
		return
	}
	for first := true; ; first = false {
		switch {
		case first && s.eat(closing):
			return
		case first:
		case s.eat(closing):
			return
		case !s.eat(','):
			s.bad = true
			return
		}
		if item(); s.bad {
			return
		}
	}
}

// members calls yield for each member of an object and says whether b is one,
// whole and with nothing behind it.
func members(b []byte, yield func(key, value []byte)) bool {
	s := scanner{b: b}
	s.object(func(key []byte) { yield(key, s.value()) })
	return !s.bad && space(b, s.i) == len(b)
}

// fields picks members of an object by name.
func fields(b []byte, names ...string) map[string][]byte {
	found := make(map[string][]byte, len(names))
	members(b, func(key, value []byte) {
		for _, name := range names {
			if string(key) == name {
				found[name] = value
			}
		}
	})
	return found
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// skip returns the index behind the value at i, or -1.
func skip(b []byte, i, depth int) int {
	if i >= len(b) || depth > maxDepth {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i, depth)
	case 't':
		return skipLiteral(b, i, "true")
	case 'f':
		return skipLiteral(b, i, "false")
	case 'n':
		return skipLiteral(b, i, "null")
	default:
		return skipNumber(b, i)
	}
}

func skipNested(b []byte, i, depth int) int {
	end := b[i] + 2 // ']' and '}' stand two behind their openers in ASCII
	isObject := b[i] == '{'
	i = space(b, i+1)
	if i < len(b) && b[i] == end {
		return i + 1
	}
	for {
		if isObject {
			i = space(b, i)
			if i = skipString(b, i); i < 0 {
				return -1
			}
			if i = space(b, i); i >= len(b) || b[i] != ':' {
				return -1
			}
			i++
		}
		if i = skip(b, space(b, i), depth+1); i < 0 {
			return -1
		}
		if i = space(b, i); i >= len(b) {
			return -1
		}
		if b[i] == end {
			return i + 1
		}
		if b[i] != ',' {
			return -1
		}
		i++
	}
}

// skipString returns the index behind the closing quote of the string at i. A
// quote ends the string when an even number of backslashes stands before it.
func skipString(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	start := i + 1
	for i = start; ; i++ {
		j := bytes.IndexByte(b[i:], '"')
		if j < 0 {
			return -1
		}
		i += j
		k := i
		for k > start && b[k-1] == '\\' {
			k--
		}
		if (i-k)%2 == 0 {
			return i + 1
		}
	}
}

func skipLiteral(b []byte, i int, literal string) int {
	if !bytes.HasPrefix(b[i:], []byte(literal)) {
		return -1
	}
	return i + len(literal)
}

func skipNumber(b []byte, i int) int {
	start := i
	for i < len(b) && (b[i] >= '0' && b[i] <= '9' || b[i] == '-' || b[i] == '+' || b[i] == '.' || b[i] == 'e' || b[i] == 'E') {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

// inner is what stands between the quotes of a string; ok is false for any
// other value. The closing quote may be missing in a partial value.
func inner(value []byte) (raw []byte, ok bool) {
	if len(value) == 0 || value[0] != '"' {
		return nil, false
	}
	end := len(value) - 1
	if end == 0 || value[end] != '"' {
		return value[1:], true
	}
	k := end
	for k > 1 && value[k-1] == '\\' {
		k--
	}
	if (end-k)%2 == 1 { // it broke off behind an escaped quote
		return value[1:], true
	}
	return value[1:end], true
}

// str is the text of a string value, at most limit bytes of it; "" for any
// other value.
func str(value []byte, limit int) string {
	raw, _ := inner(value)
	return plain(raw, limit)
}

// plain is the text behind raw, the inside of a JSON string, at most limit
// bytes of it.
func plain(raw []byte, limit int) string {
	if len(raw) <= limit && bytes.IndexByte(raw, '\\') < 0 {
		return valid(raw)
	}
	out, _ := unescape(nil, raw, limit)
	return valid(out)
}

// number is the value of a number; 0 for any other value.
func number(value []byte) float64 {
	f, err := strconv.ParseFloat(string(value[:min(len(value), 64)]), 64)
	if err != nil {
		return 0
	}
	return f
}

func isTrue(value []byte) bool { return string(value) == "true" }

// isSet says that a value is there and not null.
func isSet(value []byte) bool { return len(value) > 0 && string(value) != "null" }

// valid copies b into a string, replacing invalid UTF-8.
func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// unescape appends the text behind raw, the inside of a JSON string, to dst
// until dst holds limit bytes, and returns what of raw is left. It splits
// neither an escape nor a character. Broken escapes become U+FFFD.
func unescape(dst, raw []byte, limit int) (out, rest []byte) {
	for len(raw) > 0 && len(dst) < limit {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			n = len(raw)
		}
		if n > limit-len(dst) {
			n = runeStart(raw, limit-len(dst))
			if n == 0 && len(dst) > 0 { // not even one character fits
				return dst, raw
			}
			n = max(n, 1)
			return append(dst, raw[:n]...), raw[n:]
		}
		dst, raw = append(dst, raw[:n]...), raw[n:]
		if len(raw) == 0 {
			break
		}
		r, size := escape(raw)
		if len(dst) > 0 && len(dst)+utf8.RuneLen(r) > limit {
			return dst, raw
		}
		dst, raw = utf8.AppendRune(dst, r), raw[size:]
	}
	return dst, raw
}

// runeStart is the largest index up to n at which a character of b starts.
func runeStart(b []byte, n int) int {
	for k := n; k >= 0 && k > n-utf8.UTFMax; k-- {
		if utf8.RuneStart(b[k]) {
			return k
		}
	}
	return n // not UTF-8
}

// escape decodes the escape sequence raw starts with.
func escape(raw []byte) (r rune, size int) {
	if len(raw) < 2 {
		return utf8.RuneError, len(raw)
	}
	switch raw[1] {
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case '"', '\\', '/':
		return rune(raw[1]), 2
	case 'u':
		r, ok := hex4(raw)
		if !ok {
			return utf8.RuneError, 2
		}
		if utf16.IsSurrogate(r) {
			if low, ok := hex4(raw[6:]); ok {
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					return pair, 12
				}
			}
			return utf8.RuneError, 6
		}
		return r, 6
	default:
		return utf8.RuneError, 2
	}
}

// hex4 reads a \uXXXX sequence.
func hex4(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return 0, false
	}
	return rune(n), true
}

// measure counts the line ends and the characters of the text behind raw
// without producing it.
func measure(raw []byte) (lineEnds, chars int) {
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '\\' && i+1 < len(raw):
			i++
			chars++
			switch raw[i] {
			case 'n':
				lineEnds++
			case 'u':
				r, ok := hex4(raw[i-1:])
				if ok {
					i += 4
				}
				if utf16.IsSurrogate(r) && r < 0xDC00 { // its other half is counted
					chars--
				}
			}
		case c&0xC0 != 0x80: // not within a UTF-8 sequence
			chars++
		}
	}
	return lineEnds, chars
}
