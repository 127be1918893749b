package testintegrity

import (
	"bytes"
	"sort"
)

// lexis is how a language writes comments and strings.
type lexis struct {
	line   []string    // what begins a comment to the end of the line
	block  [][2]string // what begins and ends a comment of many lines
	quotes []quote     // longer ones first
	regex  bool        // /…/ is a string where a value may stand
	rust   bool        // ' may begin a lifetime, r#"…"# a string
	word   bool        // a comment of one character begins a word, as in a shell
}

// quote is a kind of string.
type quote struct {
	open, end string
	raw       bool // a backslash is a backslash
	many      bool // goes on over line ends
}

// source is a text, taken apart. All three have the same length and line ends.
type source struct {
	text   []byte
	plain  []byte  // comments are blank
	code   []byte  // comments and the insides of strings are blank
	match  []int32 // where the bracket is closed that is opened at a place
	starts []int32 // of the lines
}

// maxRegex is how long a regular expression in a text may be.
const maxRegex = 1000

// lex takes a text apart, in one pass and time linear in its length. Where it
// is wrong about a language, it recovers at the next line end.
func lex(text []byte, l lexis) *source {
	s := &source{text: text, plain: bytes.Clone(text), code: bytes.Clone(text)}
	for i := 0; i < len(text); {
		switch n, end := l.comment(text, i), 0; {
		case n > 0:
			blank(s.plain[i : i+n])
			blank(s.code[i : i+n])
			i += n
			continue
		default:
			var inner int
			if inner, end = l.str(text, i); end > i {
				last := min(end, len(text))
				blank(s.code[min(inner, last):max(min(inner, last), last-1)])
				i = last
				continue
			}
		}
		i++
	}
	s.starts = startsOf(text)
	s.brackets()
	return s
}

// startsOf is where lines begin; the last one may be empty.
func startsOf(text []byte) []int32 {
	starts := append(make([]int32, 0, 1+bytes.Count(text, []byte{'\n'})), 0)
	for i, c := range text {
		if c == '\n' {
			starts = append(starts, int32(i+1))
		}
	}
	return starts
}

// comment returns the length of the comment that begins at i, 0 if none does.
func (l lexis) comment(text []byte, i int) int {
	for _, b := range l.block {
		if !has(text, i, b[0]) || b[0] == "=begin" && i > 0 && text[i-1] != '\n' {
			continue
		}
		if n := bytes.Index(text[i+len(b[0]):], []byte(b[1])); n >= 0 {
			return len(b[0]) + n + len(b[1])
		}
		return len(text) - i
	}
	for _, mark := range l.line {
		if !has(text, i, mark) || has(text, i, "//go:build") || l.word && i > 0 && !isSpace(text[i-1]) && text[i-1] != ';' || mark == "#" && has(text, i, "#[") && len(l.line) > 1 {
			continue
		}
		if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
			return n
		}
		return len(text) - i
	}
	return 0
}

var (
	rustChar = re(`^'(?:\\[^']{1,10}|\\'|[^\\'\n])'`)
	rustRaw  = re(`^r#*"`)
)

// str gives where the inside of the string begins that opens at i, and where
// it is over; end is i when none opens.
func (l lexis) str(text []byte, i int) (inner, end int) {
	c := text[i]
	if l.rust && c == '\'' {
		if m := rustChar.Find(text[i:min(len(text), i+16)]); m != nil {
			return i + 1, i + len(m)
		}
		return i, i // a lifetime
	}
	if l.rust && c == 'r' && (i == 0 || !isWord(text[i-1])) {
		if m := rustRaw.Find(text[i:min(len(text), i+260)]); m != nil {
			inner = i + len(m)
			closing := append([]byte{'"'}, m[1:len(m)-1]...)
			if n := bytes.Index(text[inner:], closing); n >= 0 {
				return inner, inner + n + len(closing)
			}
			return inner, len(text)
		}
	}
	if l.regex && c == '/' && valueMayStand(text, i) {
		class := false
		for n := i + 1; n < min(len(text), i+maxRegex) && text[n] != '\n'; n++ {
			switch text[n] {
			case '\\':
				n++
			case '[':
				class = true
			case ']':
				class = false
			case '/':
				if !class {
					return i + 1, n + 1
				}
			}
		}
		return i, i
	}
	for _, q := range l.quotes {
		if !has(text, i, q.open) {
			continue
		}
		inner = i + len(q.open)
		for n := inner; n < len(text); n++ {
			switch {
			case text[n] == '\\' && !q.raw:
				n++
			case text[n] == '\n' && !q.many:
				return inner, n
			case has(text, n, q.end):
				blankEnd := n + len(q.end)
				return inner, blankEnd
			}
		}
		return inner, len(text)
	}
	return i, i
}

// valueMayStand reports whether a slash at i begins a regular expression, by what
// stands before it.
func valueMayStand(text []byte, i int) bool {
	if has(text, i, "//") || has(text, i, "/*") {
		return false
	}
	for n := i - 1; n >= 0 && n > i-100; n-- {
		switch c := text[n]; {
		case c == ' ' || c == '\t':
			continue
		case bytes.IndexByte([]byte("(,=:[!&|?{};\n"), c) >= 0:
			return true
		default:
			return bytes.HasSuffix(text[:n+1], []byte("return"))
		}
	}
	return true
}

// brackets finds for each opening bracket its closing one.
func (s *source) brackets() {
	s.match = make([]int32, len(s.code))
	var open []int32
	for i, c := range s.code {
		switch c {
		case '(', '[', '{':
			open = append(open, int32(i))
		case ')', ']', '}':
			for len(open) > 0 {
				at := open[len(open)-1]
				open = open[:len(open)-1]
				if partner(s.code[at]) == c {
					s.match[at] = int32(i)
					break
				}
			}
		}
	}
}

func partner(c byte) byte {
	switch c {
	case '(':
		return ')'
	case '[':
		return ']'
	}
	return '}'
}

// closing returns where the bracket at i is closed, -1 if it is not.
func (s *source) closing(i int) int {
	if i < len(s.match) && s.match[i] > 0 {
		return int(s.match[i])
	}
	return -1
}

// emptyBody finds a body in which nothing stands.
var emptyBody = re(`(?:^|\{)\s*\}?\)?;?\s*$|^\s*do\s*(?:end\s*)?$`)

// empty reports whether a test has no body.
func (s *source) empty(c testCase) bool {
	return emptyBody.Match(s.code[c.begin:c.end])
}

// lineAt is the line in which a match ends.
func (s *source) lineAt(m []int) string {
	line := s.lineOf(max(m[0], m[1]-1)) - 1
	return string(bytes.TrimSpace(s.text[s.begin(line):s.end(line)]))
}

// begin is where a line, counted from 0, begins.
func (s *source) begin(line int) int { return int(s.starts[line]) }

// end is where its line end stands, or the text ends.
func (s *source) end(line int) int {
	if line+1 < len(s.starts) {
		return int(s.starts[line+1]) - 1
	}
	return len(s.text)
}

// endOf is where a statement ends that begins at a place: behind its brackets, or with
// its line.
func (s *source) endOf(at int) int {
	end := s.end(s.lineOf(at) - 1)
	if open := bytes.IndexByte(s.code[at:end], '('); open >= 0 {
		end = max(end, s.closing(at+open)+1)
	}
	return end
}

// around gives the parts of a source that lie around some of its lines.
func (s *source) around(some func(line []byte) bool) [][2]int {
	const lines = 10
	var parts [][2]int
	for i := range s.starts {
		if !some(bytes.TrimSpace(s.text[s.begin(i):s.end(i)])) {
			continue
		}
		from, to := s.begin(max(0, i-lines)), s.end(min(len(s.starts)-1, i+lines))
		if n := len(parts); n > 0 && from <= parts[n-1][1] {
			parts[n-1][1] = to
		} else {
			parts = append(parts, [2]int{from, to})
		}
	}
	return parts
}

// lineOf is the 1-based line of a place.
func (s *source) lineOf(at int) int {
	return max(1, sort.Search(len(s.starts), func(i int) bool { return int(s.starts[i]) > at }))
}

func blank(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}

func has(text []byte, i int, s string) bool {
	return i >= 0 && i+len(s) <= len(text) && string(text[i:i+len(s)]) == s
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
