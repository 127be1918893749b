package secretscan

import (
	"bytes"
	"strconv"
	"strings"
)

// normalizer reads a content as an eye does that overlooks everything but letters and
// digits: escapes are undone, and separators, quotes, blanks, invisible
// characters and the zero bytes of UTF-16 fall away. "ab" + "cd", ['a','b'],
// a\u0062 and a%62 all become ab. Known values are looked for in what it gives.
type normalizer struct {
	src []byte
	at  int // next byte of src
}

const (
	skip    = 0 // falls away
	keep    = 1 // a letter or digit
	special = 2 // may begin an escape
)

// classes says what each byte is.
func classes() *[256]byte {
	var c [256]byte
	for b := range c {
		switch {
		case isAlnum(byte(b)):
			c[b] = keep
		case b == '\\' || b == '%' || b == '&':
			c[b] = special
		}
	}
	return &c
}

func isAlnum(b byte) bool {
	return b-'0' < 10 || (b|0x20)-'a' < 26
}

// read appends what is left of the source until dst is full or the source ends.
func (n *normalizer) read(dst []byte, class *[256]byte) []byte {
	src, i := n.src, n.at
	end, dst := len(dst), dst[:cap(dst)]
	for i < len(src) && end < len(dst) {
		b := src[i]
		if c := class[b]; c != special { // without a branch that depends on every byte
			dst[end] = b
			end += int(c)
			i++
			continue
		}
		if b, i = escape(src, i); isAlnum(b) {
			dst[end] = b
			end++
		}
	}
	n.at = i
	return dst[:end]
}

// escape reads what begins at a special byte: the byte it stands for, 0 for
// none, and where the next unit begins.
func escape(src []byte, i int) (byte, int) {
	switch src[i] {
	case '\\':
		return backslash(src, i+1)
	case '%':
		return percent(src, i+1)
	}
	return entity(src, i+1)
}

// backslash reads an escape of C, JSON, JavaScript or Python; several
// backslashes are one, as in JSON within JSON.
func backslash(src []byte, i int) (byte, int) {
	for i < len(src) && src[i] == '\\' {
		i++
	}
	if i == len(src) {
		return 0, i
	}
	switch src[i] {
	case 'n', 'r', 't', 'b', 'f', 'v', 'a':
		return 0, i + 1
	case 'x':
		if b, ok := hexPair(src, i+1); ok {
			return b, i + 3
		}
		return 0, i
	case 'u':
		return codePoint(src, i)
	case '0':
		return 0, i + 1
	}
	return 0, i
}

// codePoint reads u0067 or u{67}.
func codePoint(src []byte, i int) (byte, int) {
	from, digits := i+1, 4
	braces := from < len(src) && src[from] == '{'
	if braces {
		from, digits = from+1, 6
	}
	n, j := 0, from
	for j < len(src) && j < from+digits {
		d, ok := hexDigit(src[j])
		if !ok {
			break
		}
		n, j = n<<4|int(d), j+1
	}
	switch {
	case braces && j > from && j < len(src) && src[j] == '}':
		j++
	case braces || j < from+digits:
		return 0, i
	}
	if n < 0x80 {
		return byte(n), j
	}
	return 0, j
}

// percent reads %67, also %2567 and deeper.
func percent(src []byte, i int) (byte, int) {
	j := i
	for j+3 < len(src) && src[j] == '2' && src[j+1] == '5' {
		if _, ok := hexPair(src, j+2); !ok {
			break
		}
		j += 2
	}
	if b, ok := hexPair(src, j); ok {
		return b, j + 2
	}
	return 0, i
}

// entity reads &#103; and &#x67;, and passes over named ones.
func entity(src []byte, i int) (byte, int) {
	const longest = 16
	n := bytes.IndexByte(src[i:min(len(src), i+longest)], ';')
	if n <= 0 {
		return 0, i
	}
	name, end := string(src[i:i+n]), i+n+1
	digits, numeric := strings.CutPrefix(name, "#")
	if !numeric {
		if strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz") != "" {
			end = i
		}
		return 0, end
	}
	base := 10
	if hex := strings.TrimLeft(digits, "xX"); hex != digits {
		base, digits = 16, hex
	}
	switch code, err := strconv.ParseUint(digits, base, 32); {
	case err != nil:
		return 0, i
	case code < 0x80:
		return byte(code), end
	}
	return 0, end
}

func hexPair(src []byte, i int) (byte, bool) {
	if i+1 >= len(src) {
		return 0, false
	}
	high, ok1 := hexDigit(src[i])
	low, ok2 := hexDigit(src[i+1])
	return high<<4 | low, ok1 && ok2
}

func hexDigit(b byte) (byte, bool) {
	switch {
	case b-'0' < 10:
		return b - '0', true
	case (b|0x20)-'a' < 6:
		return (b | 0x20) - 'a' + 10, true
	}
	return 0, false
}

// normalized is a short text as the normalizer gives it.
func normalized(text string) string {
	n := normalizer{src: []byte(text)}
	return string(n.read(make([]byte, 0, len(text)), classes()))
}

// offsets turns positions in what the normalizer gives, in ascending order, into offsets
// of the source: where the units begin that the characters there come from.
func offsets(src []byte, positions []int) []int {
	class := classes()
	out := make([]int, 0, len(positions))
	for i, n := 0, 0; len(out) < len(positions) && i < len(src); {
		from, b := i, src[i]
		if class[b] == special {
			b, i = escape(src, i)
		} else {
			i++
		}
		if !isAlnum(b) {
			continue
		}
		for len(out) < len(positions) && positions[len(out)] == n {
			out = append(out, from)
		}
		n++
	}
	for len(out) < len(positions) {
		out = append(out, len(src))
	}
	return out
}
