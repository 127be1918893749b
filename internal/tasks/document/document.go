// Package document is a JSON file that can be edited and written back with all else
// byte by byte as it was read. It is pure.
package document

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxDepth  = 32      // arrays and objects in each other
	maxValues = 500_000 // each takes some 200 bytes of memory, and 3 in the file
)

// Kind is what a value is.
type Kind byte

// The kinds.
const (
	Null Kind = iota + 1
	Boolean
	Number
	Text
	Array
	Object
)

// Node is a JSON value (RFC 8259) that can be written back byte by byte as it
// was read.
type Node struct {
	Kind  Kind
	At    uint32 // offset of its first byte
	Raw   string // as written; of an array or object: white space before the closing bracket
	Text  string // the value of a string
	Items []Item // of an array or object
}

// Item is an element of an array, or a member of an object with its key.
type Item struct {
	Pre   string // white space before it
	At    uint32 // offset of the key; of an element: the value's
	Raw   string // the key as written
	Key   string
	colon string // the colon and the white space around it
	Value Node
	post  string // white space before the comma
}

// File is a file with one JSON value.
type File struct {
	Source    string
	pre, post string // white space around the value
	Root      Node
}

// SyntaxError is the first thing that is not JSON, or is too much.
type SyntaxError struct {
	Line, Column int // from 1; 0: no place in the file
	Text         string
}

// stop ends the parser.
type stop struct {
	at    int
	want  string
	bound bool
}

func (e stop) text() string {
	if e.bound {
		return e.want
	}
	return "it is not valid JSON: " + e.want
}

type parser struct {
	s    string
	off  int
	open []Item // of the arrays and objects that have not ended
	room []Item // for those that have: many are small
	read int    // values
}

// roomItems is how many items are allocated at once, at most.
const roomItems = 256

// Parse reads one JSON text of at most so many bytes. The error says where it
// stops being one.
func Parse(data []byte, most int) (doc *File, bad *SyntaxError) {
	if len(data) > most {
		return nil, &SyntaxError{Text: fmt.Sprintf("the file is larger than %d MiB: a task list is not", most>>20)}
	}
	doc = &File{Source: string(data)}
	p := &parser{s: doc.Source}
	defer func() {
		e := recover()
		if wrong, ok := e.(stop); ok {
			line, column := Place(p.s, uint32(wrong.at))
			doc, bad = nil, &SyntaxError{line, column, wrong.text()}
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
	doc.Root = p.value(0)
	doc.post = p.space()
	if p.off < len(p.s) {
		p.fail("the end of the file is expected")
	}
	return doc, nil
}

func (p *parser) fail(want string) { panic(stop{at: p.off, want: want}) }

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

func (p *parser) value(depth int) Node {
	if p.read++; p.read > maxValues {
		panic(stop{p.off, "the file has more than 500000 values: a task list has not", true})
	}
	n := Node{At: uint32(p.off)} // at most maxMarker
	switch c := p.peek(); {
	case c == '{' || c == '[':
		p.container(&n, depth)
		return n
	case c == '"':
		n.Kind = Text
		n.Raw, n.Text = p.text()
		return n
	case c == '-' || c >= '0' && c <= '9':
		n.Kind = Number
		p.number()
	case p.word("true"), p.word("false"):
		n.Kind = Boolean
	case p.word("null"):
		n.Kind = Null
	case p.off == len(p.s):
		p.fail("the file ends too early, a value is expected")
	case strings.HasPrefix(p.s[p.off:], "\uFEFF"):
		p.fail("the file begins with a byte order mark: save it as UTF-8 without one")
	default:
		p.fail("a value is expected")
	}
	n.Raw = p.s[n.At:p.off]
	return n
}

func (p *parser) word(w string) bool {
	if !strings.HasPrefix(p.s[p.off:], w) {
		return false
	}
	p.off += len(w)
	return true
}

func (p *parser) container(n *Node, depth int) {
	if depth == maxDepth {
		panic(stop{p.off, "arrays and objects are nested more than 32 deep: in a task list they are not", true})
	}
	n.Kind = Array
	end := byte(']')
	if p.peek() == '{' {
		n.Kind, end = Object, '}'
	}
	p.off++
	first := len(p.open)
	for {
		pre := p.space()
		if p.peek() == end && len(p.open) == first {
			n.Raw = pre
			p.off++
			return
		}
		it := Item{Pre: pre, At: uint32(p.off)}
		if n.Kind == Object {
			if p.peek() != '"' {
				p.fail("a name in double quotes is expected")
			}
			it.Raw, it.Key = p.text()
			colon := p.off
			p.space()
			if p.peek() != ':' {
				p.fail("a colon is expected")
			}
			p.off++
			p.space()
			it.colon = p.s[colon:p.off]
		}
		it.Value = p.value(depth + 1)
		after := p.space()
		switch p.peek() {
		case ',':
			it.post = after
			p.open = append(p.open, it)
			p.off++
		case end:
			n.Raw = after
			p.open = append(p.open, it)
			n.Items = p.close(first)
			p.off++
			return
		default:
			p.fail("a comma or " + string(end) + " is expected")
		}
	}
}

// close is the items of an array or object that has ended, from the first on.
func (p *parser) close(first int) []Item {
	items := p.open[first:]
	if len(items) > roomItems { // they stay where they are
		p.open = slices.Clone(p.open[:first])
		return slices.Clip(items)
	}
	if cap(p.room)-len(p.room) < len(items) {
		p.room = make([]Item, 0, max(len(items), min(roomItems, len(p.s)/32)))
	}
	start := len(p.room)
	p.room = append(p.room, items...)
	p.open = p.open[:first]
	return slices.Clip(p.room[start:])
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
