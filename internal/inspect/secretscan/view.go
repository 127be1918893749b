package secretscan

// view reads a content as an eye does that overlooks everything but letters and
// digits: escapes are undone, and separators, quotes, blanks, invisible
// characters and the zero bytes of UTF-16 fall away. "ab" + "cd", ['a','b'],
// a\u0062 and a%62 all become ab. Known values are looked for as the view shows
// them.
type view struct {
	src []byte
	at  int // next byte of src
	// qp: the last escape was one of quoted-printable, and ended at ends.
	qp   bool
	ends int
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
		case b == '\\' || b == '%' || b == '&' || b == '=' || b == 0xF3 || b == 0xEF:
			c[b] = special
		}
	}
	return &c
}

func isAlnum(b byte) bool {
	return b-'0' < 10 || (b|0x20)-'a' < 26
}

// read appends what the view shows until dst is full or the source ends.
func (v *view) read(dst []byte, class *[256]byte) []byte {
	src, i := v.src, v.at
	n, dst := len(dst), dst[:cap(dst)]
	for i < len(src) && n < len(dst) {
		b := src[i]
		if c := class[b]; c != special { // without a branch that depends on every byte
			dst[n] = b
			n += int(c)
			i++
			continue
		}
		v.qp = v.qp && v.ends == i
		var shown byte
		shown, i = v.escape(i)
		v.ends = i
		if isAlnum(shown) {
			dst[n] = shown
			n++
		}
	}
	v.at = i
	return dst[:n]
}

// escape reads what begins at a special byte: the byte it stands for, 0 for
// none, and where the next unit begins.
func (v *view) escape(i int) (byte, int) {
	src := v.src
	qp := v.qp
	v.qp = false
	switch src[i] {
	case '\\':
		return backslash(src, i+1)
	case '%':
		return percent(src, i+1)
	case '&':
		return entity(src, i+1)
	case '=':
		// Only in a row: TOKEN=ab12 is an assignment.
		if b, ok := hexPair(src, i+1); ok && (qp || i+3 < len(src) && src[i+3] == '=') {
			v.qp = true
			return b, i + 3
		}
	case 0xF3: // U+E0020 to U+E007E, the invisible tag characters
		if i+3 < len(src) && src[i+1] == 0xA0 && src[i+2]&^1 == 0x80 {
			return (src[i+2]&1)<<6 | src[i+3]&0x3F, i + 4
		}
	case 0xEF: // U+FF01 to U+FF5E, full width
		if i+2 < len(src) && src[i+1]&^1 == 0xBC {
			return ((src[i+1]&1)<<6 | src[i+2]&0x3F) + 0x20, i + 3
		}
	}
	return 0, i + 1
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
	case 'u', 'U':
		return codePoint(src, i)
	}
	if i+2 < len(src) && isOctal(src[i], 4) && isOctal(src[i+1], 8) && isOctal(src[i+2], 8) {
		return (src[i]-'0')<<6 | (src[i+1]-'0')<<3 | (src[i+2] - '0'), i + 3
	}
	if src[i] == '0' {
		i++
	}
	return 0, i
}

func isOctal(b, limit byte) bool { return b-'0' < limit }

// codePoint reads u0067, U00000067 or u{67}.
func codePoint(src []byte, i int) (byte, int) {
	from, digits := i+1, 4
	if src[i] == 'U' {
		digits = 8
	}
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
	end, letters := i, true
	for end < len(src) && end < i+longest && src[end] != ';' {
		if !isAlnum(src[end]) && (src[end] != '#' || end != i) {
			return 0, i
		}
		letters = letters && src[end]|0x20 >= 'a'
		end++
	}
	if end == len(src) || end == i+longest || end == i {
		return 0, i
	}
	name := src[i:end]
	switch {
	case letters:
		return 0, end + 1
	case name[0] != '#':
		return 0, i
	}
	n, base, digits := 0, 10, name[1:]
	if len(digits) > 0 && digits[0]|0x20 == 'x' {
		base, digits = 16, digits[1:]
	}
	for _, b := range digits {
		d, ok := hexDigit(b)
		if !ok || int(d) >= base || n > 0x10FFFF {
			return 0, i
		}
		n = n*base + int(d)
	}
	if n < 0x80 {
		return byte(n), end + 1
	}
	return 0, end + 1
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

// shown is a short text as the view shows it.
func shown(text string) string {
	v := view{src: []byte(text)}
	return string(v.read(make([]byte, 0, len(text)), classes()))
}

// offsets turns positions in the view, in ascending order, into offsets of the
// source: where the units begin that show them.
func offsets(src []byte, positions []int) []int {
	v, class := view{src: src}, classes()
	out := make([]int, 0, len(positions))
	var one [1]byte
	for n := 0; len(out) < len(positions) && v.at < len(src); {
		from := v.at
		b := src[from]
		if class[b] == skip {
			v.at++
			continue
		}
		if class[b] == keep {
			one[0], v.at = b, from+1
		} else {
			v.qp = v.qp && v.ends == from
			one[0], v.at = v.escape(from)
			v.ends = v.at
			if !isAlnum(one[0]) {
				continue
			}
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
