package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Inner is what stands between the quotes of a string; ok is false for any
// other value. The closing quote may be missing in a partial value.
func Inner(value []byte) (raw []byte, ok bool) {
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

// String is the text of a string value, at most limit bytes of it; "" for any
// other value.
func String(value []byte, limit int) string {
	raw, _ := Inner(value)
	return Plain(raw, limit)
}

// Plain is the text behind raw, the inside of a JSON string, at most limit
// bytes of it.
func Plain(raw []byte, limit int) string {
	if len(raw) <= limit && bytes.IndexByte(raw, '\\') < 0 {
		return Valid(raw)
	}
	out, _ := Unescape(nil, raw, limit)
	return Valid(out)
}

// Number is the value of a number; 0 for any other value.
func Number(value []byte) float64 {
	f, err := strconv.ParseFloat(string(value[:min(len(value), 64)]), 64)
	if err != nil {
		return 0
	}
	return f
}

// IsTrue reports whether a value is true.
func IsTrue(value []byte) bool { return string(value) == "true" }

// IsSet reports whether a value is there and not null.
func IsSet(value []byte) bool { return len(value) > 0 && string(value) != "null" }

// Valid copies b into a string, replacing invalid UTF-8.
func Valid(b []byte) string {
	if utf8.Valid(b) { // much faster, and nearly always so
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// Unescape appends the text behind raw, the inside of a JSON string, to dst
// until dst holds limit bytes, and returns what of raw is left. It splits
// neither an escape nor a character. Broken escapes become U+FFFD.
func Unescape(dst, raw []byte, limit int) (out, rest []byte) {
	for len(raw) > 0 && len(dst) < limit {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			n = len(raw)
		}
		if n > limit-len(dst) {
			n = RuneStart(raw, limit-len(dst))
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

// RuneStart is the largest index up to n at which a character of b starts.
func RuneStart(b []byte, n int) int {
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

// Measure counts the line ends and the characters of the text behind raw
// without producing it. It looks at eight bytes at a time, and at single ones
// only where an escape is longer than two bytes or hides a backslash.
func Measure(raw []byte) (lineEnds, chars int) {
	for len(raw) > 0 {
		if len(raw) > 8 {
			word, next := binary.LittleEndian.Uint64(raw), binary.LittleEndian.Uint64(raw[1:])
			escapes := equal(word, '\\')
			if escapes&(equal(next, '\\')|equal(next, 'u')) == 0 {
				lineEnds += bits.OnesCount64(escapes & equal(next, 'n'))
				// Bytes that continue a UTF-8 sequence are 10xxxxxx.
				chars += 8 - bits.OnesCount64(escapes) - bits.OnesCount64(word&^(word<<1)&highBits)
				raw = raw[8:]
				continue
			}
		}
		size := 1
		switch {
		case raw[0] == '\\' && len(raw) > 1:
			size = 2
			chars++
			if raw[1] == 'n' {
				lineEnds++
			} else if r, ok := hex4(raw); ok {
				size = 6
				if utf16.IsSurrogate(r) && r < 0xDC00 { // its other half is counted
					chars--
				}
			}
		case raw[0]&0xC0 != 0x80:
			chars++
		}
		raw = raw[size:]
	}
	return lineEnds, chars
}

const highBits = 0x8080808080808080 // of eight bytes

// equal sets the highest bit of each of the eight bytes that is c.
func equal(word uint64, c byte) uint64 {
	word ^= uint64(c) * 0x0101010101010101
	return ^(word&^highBits + ^uint64(highBits) | word) & highBits
}

// Count is a number that counts something; 0 for any other value.
func Count(value []byte) int64 { return Bounded(Number(value)) }

// Bounded makes a count of what claims to be one.
func Bounded(f float64) int64 {
	if math.IsNaN(f) || f < 0 {
		return 0
	}
	return int64(min(f, 1e12))
}
