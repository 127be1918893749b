package agent

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

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
func valid(b []byte) string {
	if utf8.Valid(b) { // much faster, and nearly always so
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

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
	chars = characters(raw)
	for {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 || n+1 == len(raw) {
			return lineEnds, chars
		}
		raw = raw[n:]
		size := 2
		switch raw[1] {
		case 'n':
			lineEnds++
		case 'u':
			r, ok := hex4(raw)
			if ok {
				size = 6
			}
			if utf16.IsSurrogate(r) && r < 0xDC00 { // its other half is counted
				chars--
			}
		}
		chars -= characters(raw[:size]) - 1
		raw = raw[size:]
	}
}

// characters counts the bytes that do not continue a UTF-8 sequence, eight at a
// time: a continuing one has its highest bit set and the next one clear.
func characters(b []byte) int {
	n := len(b)
	for ; len(b) >= 8; b = b[8:] {
		word := binary.LittleEndian.Uint64(b)
		n -= bits.OnesCount64(word >> 7 &^ (word >> 6) & 0x0101010101010101)
	}
	for _, c := range b {
		if c&0xC0 == 0x80 {
			n--
		}
	}
	return n
}
