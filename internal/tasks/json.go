package tasks

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxBytes  = 8 << 20 // of tasks.json
	maxDepth  = 32      // arrays and objects in each other
	maxValues = 500_000 // each takes some 200 bytes of memory, and 3 in the file
)

type kind byte

const (
	null kind = iota + 1
	boolean
	number
	text
	array
	object
)

// node is a JSON value (RFC 8259) that can be written back byte by byte as it
// was read.
type node struct {
	kind  kind
	at    uint32 // offset of its first byte
	raw   string // as written; of an array or object: white space before the closing bracket
	text  string // the value of a string
	items []item // of an array or object
}

// item is an element of an array, or a member of an object with its key.
type item struct {
	pre   string // white space before it
	at    uint32 // offset of the key; of an element: the value's
	raw   string // the key as written
	key   string
	colon string // the colon and the white space around it
	value node
	post  string // white space before the comma
}

// document is a file with one JSON value.
type document struct {
	source    string
	pre, post string // white space around the value
	root      node
}

// syntaxError is the first thing that is not JSON, or is too much.
type syntaxError struct {
	at    int
	want  string
	bound bool
}

func (e syntaxError) text() string {
	if e.bound {
		return e.want
	}
	return "it is not valid JSON: " + e.want
}

type parser struct {
	s    string
	off  int
	open []item // of the arrays and objects that have not ended
	read int    // values
}

// parse reads one JSON text of at most so many bytes. The problem says where it
// stops being one.
func parse(data []byte, most int) (doc *document, bad *Problem) {
	if len(data) > most {
		return nil, &Problem{Kind: Schema, index: -1, Text: fmt.Sprintf("the file is larger than %d MiB: a task list is not", most>>20)}
	}
	doc = &document{source: string(data)}
	p := &parser{s: doc.source}
	defer func() {
		e := recover()
		if wrong, ok := e.(syntaxError); ok {
			line, column := place(p.s, uint32(wrong.at))
			doc, bad = nil, &Problem{Kind: Schema, index: -1, Line: line, Column: column, Text: wrong.text()}
		} else if e != nil {
			panic(e)
		}
	}()
	if !utf8.ValidString(p.s) {
		for i, r := range p.s {
			if _, n := utf8.DecodeRuneInString(p.s[i:]); r == utf8.RuneError && n == 1 {
				p.off = i
				break
			}
		}
		p.fail("write it as UTF-8")
	}
	doc.pre = p.space()
	doc.root = p.value(0)
	doc.post = p.space()
	if p.off < len(p.s) {
		p.fail("the end of the file is expected")
	}
	return doc, nil
}

func (p *parser) fail(want string) { panic(syntaxError{at: p.off, want: want}) }

func (p *parser) space() string {
	start := p.off
	for p.off < len(p.s) && (p.s[p.off] == ' ' || p.s[p.off] == '\n' || p.s[p.off] == '\t' || p.s[p.off] == '\r') {
		p.off++
	}
	return p.s[start:p.off]
}

// peek is the next byte; 0 at the end.
func (p *parser) peek() byte {
	if p.off == len(p.s) {
		return 0
	}
	return p.s[p.off]
}

func (p *parser) value(depth int) node {
	if p.read++; p.read > maxValues {
		panic(syntaxError{p.off, "the file has more than 500000 values: a task list has not", true})
	}
	n := node{at: uint32(p.off)} // at most maxMarker
	switch c := p.peek(); {
	case c == '{' || c == '[':
		p.container(&n, depth)
		return n
	case c == '"':
		n.kind = text
		n.raw, n.text = p.text()
		return n
	case c == '-' || c >= '0' && c <= '9':
		n.kind = number
		p.number()
	case p.word("true"), p.word("false"):
		n.kind = boolean
	case p.word("null"):
		n.kind = null
	case p.off == len(p.s):
		p.fail("the file ends too early, a value is expected")
	case strings.HasPrefix(p.s[p.off:], "\uFEFF"):
		p.fail("the file begins with a byte order mark: save it as UTF-8 without one")
	default:
		p.fail("a value is expected")
	}
	n.raw = p.s[n.at:p.off]
	return n
}

func (p *parser) word(w string) bool {
	if !strings.HasPrefix(p.s[p.off:], w) {
		return false
	}
	p.off += len(w)
	return true
}

func (p *parser) container(n *node, depth int) {
	if depth == maxDepth {
		panic(syntaxError{p.off, "arrays and objects are nested more than 32 deep: in a task list they are not", true})
	}
	n.kind = array
	end := byte(']')
	if p.peek() == '{' {
		n.kind, end = object, '}'
	}
	p.off++
	first := len(p.open)
	for {
		pre := p.space()
		if p.peek() == end && len(p.open) == first {
			n.raw = pre
			p.off++
			return
		}
		it := item{pre: pre, at: uint32(p.off)}
		if n.kind == object {
			if p.peek() != '"' {
				p.fail("a name in double quotes is expected")
			}
			it.raw, it.key = p.text()
			colon := p.off
			p.space()
			if p.peek() != ':' {
				p.fail("a colon is expected")
			}
			p.off++
			p.space()
			it.colon = p.s[colon:p.off]
		}
		it.value = p.value(depth + 1)
		after := p.space()
		switch p.peek() {
		case ',':
			it.post = after
			p.open = append(p.open, it)
			p.off++
		case end:
			n.raw = after
			p.open = append(p.open, it)
			n.items = slices.Clone(p.open[first:])
			p.open = p.open[:first]
			p.off++
			return
		default:
			p.fail("a comma or " + string(end) + " is expected")
		}
	}
}

func (p *parser) text() (raw, text string) {
	start, escaped := p.off, false
	for p.off++; ; p.off++ {
		for p.off < len(p.s) && plain(p.s[p.off]) {
			p.off++
		}
		switch c := p.peek(); {
		case p.off == len(p.s):
			p.fail("the file ends within a string")
		case c < ' ':
			p.fail("a control character in a string has to be escaped")
		case c == '\\':
			escaped = true
			p.off++
			if p.off == len(p.s) {
				p.fail("the file ends within a string")
			}
		case c == '"':
			p.off++
			raw = p.s[start:p.off]
			if !escaped {
				return raw, raw[1 : len(raw)-1]
			}
			var value string
			if err := json.Unmarshal([]byte(raw), &value); err != nil {
				p.off = start
				p.fail("an escape in this string is not one")
			}
			return raw, value
		}
	}
}

// plain reports whether a byte of a string stands for itself.
func plain(c byte) bool { return c >= ' ' && c != '"' && c != '\\' }

func (p *parser) number() {
	if p.peek() == '-' {
		p.off++
	}
	if p.peek() == '0' {
		p.off++
	} else {
		p.digits()
	}
	if p.peek() == '.' {
		p.off++
		p.digits()
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.off++
		if c := p.peek(); c == '+' || c == '-' {
			p.off++
		}
		p.digits()
	}
}

func (p *parser) digits() {
	start := p.off
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.off++
	}
	if p.off == start {
		p.fail("a digit is expected")
	}
}
