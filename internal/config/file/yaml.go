package file

import (
	"bytes"
	"errors"
	"fmt"
	"gopkg.in/yaml.v3"
	"io"
	"strings"

	"github.com/org/ralph-action/internal/config/input"
	"github.com/org/ralph-action/internal/config/problem"
	"github.com/org/ralph-action/internal/lib/printable"
)

// yaml reads settings as YAML.
func (r *reader) yaml(data []byte) map[string]Value {
	doc, ok := ParseYAML(data, r.at, r.List)
	if !ok || doc == nil {
		return nil
	}
	if doc.Kind != yaml.MappingNode {
		r.Report(r.at(doc.Line), "a list of `name: value` settings is expected")
		return nil
	}
	values := map[string]Value{}
	lines := map[string]int{}
	for i := 0; i+1 < len(doc.Content); i += 2 {
		key, node := doc.Content[i], Resolve(doc.Content[i+1])
		in, ok := r.yamlKey(key)
		if !ok {
			continue
		}
		if first, twice := lines[in.Name]; twice {
			r.Report(r.at(key.Line), "%s is given twice: first in line %d", key.Value, first)
			continue
		}
		lines[in.Name] = key.Line
		v := Value{Where: r.at(key.Line) + ": " + key.Value, Key: key.Value}
		if r.take(in, node, &v) {
			values[in.Name] = v
		}
	}
	return values
}

// yamlKey is the input a key of the file stands for.
func (r *reader) yamlKey(key *yaml.Node) (input.Input, bool) {
	if key.Kind != yaml.ScalarNode {
		r.Report(r.at(key.Line), "a setting's name is expected")
		return input.Input{}, false
	}
	var names []string
	for _, in := range r.inputs {
		if in.Called(key.Value) {
			return in, r.allowed(in, r.at(key.Line)+": "+in.Name)
		}
		if !in.NoFile {
			names = append(names, in.Names()...)
		}
	}
	r.Report(r.at(key.Line), "unknown key %s%s", r.Quote(key.Value), r.NameMeant(key.Value, names))
	return input.Input{}, false
}

// ParseYAML reads one document. A nil node is an empty document.
func ParseYAML(data []byte, at func(line int) string, problems *problem.List) (*yaml.Node, bool) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, true
	case err != nil:
		line, text := yamlError(err)
		problems.Report(at(line), "not valid YAML: %s", printable.Visible(text))
		return nil, false
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		problems.Report(at(more.Line), "a second document is not allowed: remove the `---`")
		return nil, false
	case !errors.Is(err, io.EOF):
		line, text := yamlError(err)
		problems.Report(at(line), "not valid YAML: %s", printable.Visible(text))
		return nil, false
	}
	root := Resolve(doc.Content[0])
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, true
	}
	return root, true
}

// Resolve follows an alias to what it stands for; an anchor cannot be on an
// alias, so one step is enough.
func Resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// yamlError takes the line out of "yaml: line 3: what is wrong".
func yamlError(err error) (line int, text string) {
	text = strings.TrimPrefix(err.Error(), "yaml: ")
	if n, _ := fmt.Sscanf(text, "line %d:", &line); n == 1 {
		_, text, _ = strings.Cut(text, ": ")
		return line, text
	}
	return 1, text
}
