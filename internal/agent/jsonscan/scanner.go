// Package jsonscan reads JSON without building it: big lines cost no more than their
// bytes, and one that breaks off tells what it had told before.
package jsonscan

import "bytes"

// maxDepth bounds how deeply values may nest before a line counts as
// malformed; the streams of today's CLIs stay below 20.
const maxDepth = 200

// Scanner walks over JSON once, without building anything: what it hands out
// are slices of the input. Strings are skipped with bytes.IndexByte, so a
// megabyte of tool output costs microseconds. After the first thing that is
// malformed, or the end of input that broke off, bad is set and nothing more is
// handed out; what came before stays handed out.
type Scanner struct {
	b   []byte
	i   int
	bad bool
}

// New reads b from its beginning.
func New(b []byte) *Scanner { return &Scanner{b: b} }

// Whole says that what was read so far is all there is, and nothing was malformed.
func (s *Scanner) Whole() bool { return !s.bad && space(s.b, s.i) == len(s.b) }

// At says that the next value starts with the byte c.
func (s *Scanner) At(c byte) bool {
	s.i = space(s.b, s.i)
	return s.i < len(s.b) && s.b[s.i] == c
}

// Eat consumes the byte c if it is next, and reports whether it was.
func (s *Scanner) Eat(c byte) bool {
	if !s.At(c) {
		return false
	}
	s.i++
	return true
}

// Value consumes the next value. One the input breaks off in is handed out as
// far as it goes.
func (s *Scanner) Value() []byte {
	s.i = space(s.b, s.i)
	start, end := s.i, skip(s.b, s.i, 0)
	if end < 0 {
		s.bad, end = true, len(s.b)
	}
	s.i = end
	return s.b[start:end]
}

// Object consumes an object; member must consume the value of each key.
func (s *Scanner) Object(member func(key []byte)) {
	s.list('{', '}', func() {
		s.i = space(s.b, s.i)
		end := skipString(s.b, s.i)
		if end < 0 {
			s.bad = true
			return
		}
		key := s.b[s.i+1 : end-1]
		s.i = end
		if !s.Eat(':') || space(s.b, s.i) == len(s.b) {
			s.bad = true
			return
		}
		member(key)
	})
}

// Array consumes an array; element must consume each value.
func (s *Scanner) Array(element func()) { s.list('[', ']', element) }

func (s *Scanner) list(opening, closing byte, item func()) {
	if !s.Eat(opening) {
		s.bad = true
		return
	}
	for first := true; ; first = false {
		switch {
		case first && s.Eat(closing):
			return
		case first:
		case s.Eat(closing):
			return
		case !s.Eat(','):
			s.bad = true
			return
		}
		if item(); s.bad {
			return
		}
	}
}

// Members calls yield for each member of an object and says whether b is one,
// whole and with nothing behind it.
func Members(b []byte, yield func(key, value []byte)) bool {
	s := New(b)
	s.Object(func(key []byte) { yield(key, s.Value()) })
	return s.Whole()
}

// Fields picks members of an object by name.
func Fields(b []byte, names ...string) map[string][]byte {
	found := make(map[string][]byte, len(names))
	Members(b, func(key, value []byte) {
		for _, name := range names {
			if string(key) == name {
				found[name] = value
			}
		}
	})
	return found
}

// Field is the last member of an object that has a name; nil if there is none.
func Field(b []byte, name string) (value []byte) {
	Members(b, func(key, v []byte) {
		if string(key) == name {
			value = v
		}
	})
	return value
}

// Blank says that there is nothing but white space.
func Blank(b []byte) bool { return space(b, 0) == len(b) }

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
