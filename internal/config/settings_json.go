package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// maxDepth bounds how deep arrays and objects stand in each other.
const maxDepth = 32

// jsonReader reads one JSON text (RFC 8259) into the nodes the configuration
// file is made of, so that what reads those serves both. Unlike encoding/json it
// keeps the lines, and a name that stands twice in an object is a problem.
type jsonReader struct {
	data  string
	off   int
	line  int
	start int // offset of the line's first byte
	// twice is called for the second of two equal names, which is left out.
	twice func(key *yaml.Node, first int)
}

// jsonError is the first thing that is not JSON.
type jsonError struct {
	line, column int // from 1; the column counts characters
	want         string
}

// readJSON reads data, which may begin with a byte order mark.
func readJSON(data []byte, twice func(*yaml.Node, int)) (root *yaml.Node, bad *jsonError) {
	r := &jsonReader{data: strings.TrimPrefix(string(data), "\ufeff"), line: 1, twice: twice}
	defer func() {
		e := recover()
		if wrong, ok := e.(*jsonError); ok {
			root, bad = nil, wrong
		} else if e != nil {
			panic(e)
		}
	}()
	r.space()
	root = r.value(0)
	r.space()
	if r.off < len(r.data) {
		r.fail("the end of the file is expected")
	}
	return root, nil
}

// fail ends the reading at the current place.
func (r *jsonReader) fail(format string, args ...any) {
	want := fmt.Sprintf(format, args...)
	rest := r.data[r.off:]
	c, _ := utf8.DecodeRuneInString(rest)
	switch {
	case rest == "":
		want += ", not the end of the file"
	case strings.HasPrefix(rest, "//"), strings.HasPrefix(rest, "/*"), c == '#':
		want += ": JSON has no comments"
	case c == '\'':
		want += `: JSON has only "double quotes"`
	case c < ' ':
		want += fmt.Sprintf(", not the character %U", c)
	default:
		want += ", not " + string(c)
	}
	panic(&jsonError{r.line, utf8.RuneCountInString(r.data[r.start:r.off]) + 1, visible(want)})
}

func (r *jsonReader) peek() byte {
	if r.off < len(r.data) {
		return r.data[r.off]
	}
	return 0
}

func (r *jsonReader) space() {
	for r.off < len(r.data) && strings.IndexByte(" \t\r\n", r.data[r.off]) >= 0 {
		r.off++
		if r.data[r.off-1] == '\n' {
			r.line, r.start = r.line+1, r.off
		}
	}
}

func (r *jsonReader) node(kind yaml.Kind, tag, text string) *yaml.Node {
	return &yaml.Node{Kind: kind, Tag: tag, Value: text, Line: r.line}
}

var jsonNumber = lazyregexp.New(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`)

func (r *jsonReader) value(depth int) *yaml.Node {
	if depth > maxDepth {
		r.fail("at most %d levels are expected", maxDepth)
	}
	switch c := r.peek(); {
	case c == '{':
		return r.object(depth)
	case c == '[':
		return r.array(depth)
	case c == '"':
		n := r.node(yaml.ScalarNode, "!!str", "")
		n.Value = r.text()
		return n
	case c == '-' || '0' <= c && c <= '9':
		number := jsonNumber.FindString(r.data[r.off:])
		if number == "" {
			r.off++
			r.fail("a digit is expected")
		}
		n := r.node(yaml.ScalarNode, "!!int", number)
		if strings.ContainsAny(number, ".eE") {
			n.Tag = "!!float"
		}
		r.off += len(number)
		if c := r.peek(); '0' <= c && c <= '9' || c == '.' || c|0x20 == 'e' {
			r.fail("the end of the number is expected")
		}
		return n
	}
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(r.data[r.off:], word) {
			tag := "!!bool"
			if word == "null" {
				tag = "!!null"
			}
			n := r.node(yaml.ScalarNode, tag, word)
			r.off += len(word)
			return n
		}
	}
	r.fail("a value is expected")
	return nil
}

func (r *jsonReader) object(depth int) *yaml.Node {
	n := r.node(yaml.MappingNode, "!!map", "")
	lines := map[string]int{}
	r.list('}', "a comma or }", `a "name" or }`, func() {
		if r.peek() != '"' {
			r.fail(`a "name" is expected`)
		}
		key := r.node(yaml.ScalarNode, "!!str", "")
		key.Value = r.text()
		if r.space(); r.peek() != ':' {
			r.fail("a colon is expected")
		}
		r.off++
		r.space()
		value := r.value(depth + 1)
		if first, twice := lines[key.Value]; twice {
			r.twice(key, first)
			return
		}
		lines[key.Value] = key.Line
		n.Content = append(n.Content, key, value)
	})
	return n
}

func (r *jsonReader) array(depth int) *yaml.Node {
	n := r.node(yaml.SequenceNode, "!!seq", "")
	r.list(']', "a comma or ]", "a value or ]", func() {
		n.Content = append(n.Content, r.value(depth+1))
	})
	return n
}

// list reads entries that are separated by commas, up to end.
func (r *jsonReader) list(end byte, next, first string, entry func()) {
	r.off++
	if r.space(); r.peek() == end {
		r.off++
		return
	}
	if r.off == len(r.data) {
		r.fail("%s is expected", first)
	}
	for {
		entry()
		switch r.space(); r.peek() {
		case end:
			r.off++
			return
		case ',':
			r.off++
			r.space()
			if r.peek() == end {
				r.fail("another entry is expected after the comma")
			}
		default:
			r.fail("%s is expected", next)
		}
	}
}

var jsonEscape = lazyregexp.New(`^\\(["\\/bfnrt]|u[0-9a-fA-F]{4})`)

// text reads a string. An escape that is half of a pair stands for U+FFFD.
func (r *jsonReader) text() string {
	begin := r.off
	for r.off++; r.peek() != '"'; {
		switch c := r.peek(); {
		case r.off == len(r.data) || c < ' ':
			r.fail(`a closing " is expected`)
		case c == '\\':
			escape := jsonEscape.FindString(r.data[r.off:])
			if escape == "" {
				r.off++
				r.fail(`one of "\/bfnrtu is expected after \`)
			}
			r.off += len(escape)
		default:
			_, size := utf8.DecodeRuneInString(r.data[r.off:])
			r.off += size
		}
	}
	r.off++
	var s string
	if json.Unmarshal([]byte(r.data[begin:r.off]), &s) != nil {
		r.off = begin
		r.fail("a string is expected") // cannot be: it was checked above
	}
	return s
}
