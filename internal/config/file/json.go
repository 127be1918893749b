package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/org/ralph-action/internal/lib/printable"
)

// maxDepth bounds how deep arrays and objects stand in each other.
const maxDepth = 32

// jsonError is the first thing that is not JSON.
type jsonError struct {
	line, column int // from 1; the column counts characters
	why          string
}

// readJSON reads a JSON text (RFC 8259), which may begin with a byte order mark, into
// the nodes the configuration file is made of, so that what reads those serves both.
// twice is called for the second of two equal names of an object, which is left out.
func readJSON(data []byte, twice func(key *yaml.Node, first int)) (*yaml.Node, *jsonError) {
	text := strings.TrimPrefix(string(data), "\ufeff")
	var all json.RawMessage
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, newJSONError(text, err)
	}
	r := &jsonReader{Decoder: json.NewDecoder(strings.NewReader(text)), text: text, line: 1, twice: twice}
	r.UseNumber()
	root := r.value(0)
	return root, r.deep
}

func newJSONError(text string, err error) *jsonError {
	at, why := len(text), err.Error()
	var wrong *json.SyntaxError
	if errors.As(err, &wrong) && !strings.HasPrefix(why, "unexpected end") {
		at = int(wrong.Offset) - 1
	}
	switch rest := text[at:]; {
	case strings.HasPrefix(rest, "/"), strings.HasPrefix(rest, "#"):
		why = "JSON has no comments"
	case strings.HasPrefix(rest, "'"):
		why = `JSON has only "double quotes"`
	case rest == "":
		why = "the file ends too early"
	case strings.HasSuffix(strings.TrimSpace(text[:at]), ",") && (rest[0] == '}' || rest[0] == ']'):
		why = "another entry has to follow the comma"
	}
	return jsonErrorAt(text[:at], why)
}

func jsonErrorAt(before, why string) *jsonError {
	return &jsonError{1 + strings.Count(before, "\n"), utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1, printable.Visible(why)}
}

// jsonReader turns tokens of text that is known to be JSON into nodes with their lines.
type jsonReader struct {
	*json.Decoder
	text  string
	read  int        // bytes of text whose lines are counted
	line  int        // at read
	deep  *jsonError // of what stands too deep
	twice func(key *yaml.Node, first int)
}

// token returns the next token as a node of its line.
func (r *jsonReader) token() (json.Token, *yaml.Node) {
	t, _ := r.Token()
	end := int(r.InputOffset())
	r.line += strings.Count(r.text[r.read:end], "\n")
	r.read = end
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: r.line}
	switch v := t.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		if v == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
	case string:
		n.Tag, n.Value = "!!str", v
	case json.Number:
		n.Tag, n.Value = "!!int", v.String()
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(v)
	default:
		n.Tag, n.Value = "!!null", "null"
	}
	return t, n
}

func (r *jsonReader) value(depth int) *yaml.Node {
	_, n := r.token()
	if n.Kind == yaml.ScalarNode {
		return n
	}
	if depth == maxDepth {
		r.deep = jsonErrorAt(r.text[:r.read-1], fmt.Sprintf("more than %d levels", maxDepth))
	}
	lines := map[string]int{}
	for r.deep == nil && r.More() {
		if n.Kind == yaml.SequenceNode {
			n.Content = append(n.Content, r.value(depth+1))
			continue
		}
		_, key := r.token()
		value := r.value(depth + 1)
		if first, again := lines[key.Value]; again {
			r.twice(key, first)
			continue
		}
		lines[key.Value] = key.Line
		n.Content = append(n.Content, key, value)
	}
	r.token() // its end
	return n
}
