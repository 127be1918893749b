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

// cursor walks over the members of an object or the elements of an array
// without building anything: keys and values are slices of the input. Strings
// are skipped with bytes.IndexByte, so a megabyte of tool output costs
// microseconds.
type cursor struct {
	b       []byte
	i       int
	close   byte
	first   bool
	partial bool // yield the value the input breaks off in
	bad     bool // malformed, or the input broke off
}

// object starts a walk over the object b; array over the array b. partial
// makes the walk yield a last value that b ends in the middle of.
func object(b []byte, partial bool) cursor { return open(b, '{', '}', partial) }
func array(b []byte, partial bool) cursor  { return open(b, '[', ']', partial) }

func open(b []byte, start, end byte, partial bool) cursor {
	i := space(b, 0)
	if i >= len(b) || b[i] != start {
		return cursor{bad: true}
	}
	return cursor{b: b, i: i + 1, close: end, first: true, partial: partial}
}

// next gives the next member. ok is false at the end, after which bad tells
// whether the value was complete; trailing garbage is bad, too.
func (c *cursor) next() (key, value []byte, ok bool) {
	if c.bad || c.close == 0 {
		return nil, nil, false
	}
	c.i = space(c.b, c.i)
	if c.i < len(c.b) && c.b[c.i] == c.close {
		c.bad = space(c.b, c.i+1) != len(c.b)
		c.close = 0
		return nil, nil, false
	}
	if !c.first && !c.eat(',') {
		return nil, nil, c.fail()
	}
	c.first = false
	if c.close == '}' {
		c.i = space(c.b, c.i)
		end := skipString(c.b, c.i)
		if end < 0 {
			return nil, nil, c.fail()
		}
		key = c.b[c.i+1 : end-1]
		if c.i = end; !c.eat(':') {
			return nil, nil, c.fail()
		}
	}
	c.i = space(c.b, c.i)
	end := skip(c.b, c.i, 0)
	if end < 0 {
		c.fail()
		return key, c.b[c.i:], c.partial && c.i < len(c.b)
	}
	value, c.i = c.b[c.i:end], end
	return key, value, true
}

func (c *cursor) fail() bool { c.bad = true; return false }

func (c *cursor) eat(want byte) bool {
	c.i = space(c.b, c.i)
	if c.i >= len(c.b) || c.b[c.i] != want {
		return false
	}
	c.i++
	return true
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
	for len(raw) > 0 {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			return lineEnds, chars + utf8.RuneCount(raw)
		}
		chars += utf8.RuneCount(raw[:n])
		r, size := escape(raw[n:])
		if r == '\n' {
			lineEnds++
		}
		chars++
		raw = raw[n+size:]
	}
	return lineEnds, chars
}
