package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/org/ralph-action/internal/config/problem"
)

const (
	maxFile   = 1 << 20  // of the configuration file
	maxPrompt = 16 << 20 // of the task
)

// parseFile reads the settings of a configuration file. Problems name the line.
func (l *loader) parseFile(name string, data []byte) map[string]value {
	at := func(line int) string { return fmt.Sprintf("%s:%d", name, max(line, 1)) }
	doc, ok := l.parseYAML(data, at)
	if !ok || doc == nil {
		return nil
	}
	if doc.Kind != yaml.MappingNode {
		l.Report(at(doc.Line), "a list of `name: value` settings is expected")
		return nil
	}
	values := map[string]value{}
	lines := map[string]int{}
	for i := 0; i+1 < len(doc.Content); i += 2 {
		key, node := doc.Content[i], resolve(doc.Content[i+1])
		in, ok := l.fileKey(key, at)
		if !ok {
			continue
		}
		if first, twice := lines[in.Name]; twice {
			l.Report(at(key.Line), "%s is given twice: first in line %d", key.Value, first)
			continue
		}
		lines[in.Name] = key.Line
		v := value{from: fromFile, where: at(key.Line) + ": " + key.Value, path: name, key: key.Value}
		if l.setting(in, node, &v) {
			values[in.Name] = v
		}
	}
	return values
}

// fileKey is the input a key of the file stands for.
func (l *loader) fileKey(key *yaml.Node, at func(int) string) (Input, bool) {
	if key.Kind != yaml.ScalarNode {
		l.Report(at(key.Line), "a setting's name is expected")
		return Input{}, false
	}
	for _, r := range l.rows {
		switch {
		case !r.called(key.Value):
		case r.Kind == Secret:
			l.Report(at(key.Line)+": "+r.Name, "a token does not belong into a file: give it as an input, from a secret")
			return Input{}, false
		case r.NoFile:
			l.Report(at(key.Line)+": "+r.Name, "it cannot be set in the file: give it as an input or a flag")
			return Input{}, false
		default:
			return r.Input, true
		}
	}
	l.Report(at(key.Line), "unknown key %s%s", l.Quote(key.Value), l.suggest(key.Value, func(in Input) bool { return !in.NoFile }))
	return Input{}, false
}

// setting takes the value of one key. It is false when there is none, or when
// it has the wrong shape.
func (l *loader) setting(in Input, node *yaml.Node, v *value) bool {
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag == "!!null":
		return false
	case node.Kind == yaml.ScalarNode:
		v.text, v.line = node.Value, node.Line
		if node.Style == yaml.LiteralStyle {
			v.line++ // the text begins below its mark
		} else if strings.Contains(node.Value, "\n") {
			v.line = 0 // folded: its lines are not the file's
		}
		return !blank(in.Name, v.text)
	case node.Kind == yaml.SequenceNode && in.isList():
		v.node = node
		v.text = fmt.Sprintf("%d entries", len(node.Content))
		return true
	case node.Kind == yaml.SequenceNode:
		l.Report(v.where, "a list is not allowed: give one value")
	default:
		l.Report(v.where, "a mapping is not allowed: give a value%s", map[bool]string{true: " or a list"}[in.isList()])
	}
	return false
}

func (in Input) isList() bool {
	switch in.Kind {
	case Words, Lines, Names, GuardrailList:
		return true
	}
	return false
}

// items are the entries of a list of plain values.
func (l *loader) items(v value) []string {
	var items []string
	for _, n := range v.node.Content {
		n = resolve(n)
		switch {
		case n.Kind != yaml.ScalarNode || n.Tag == "!!null":
			l.Report(fmt.Sprintf("%s:%d: %s", v.path, n.Line, v.called()), "each entry of the list must be a text")
		case strings.ContainsRune(n.Value, 0):
			l.Report(fmt.Sprintf("%s:%d: %s", v.path, n.Line, v.called()), "is binary: give text without NUL bytes")
		default:
			items = append(items, n.Value)
		}
	}
	return items
}

// parseYAML reads one document. A nil node is an empty document.
func (l *loader) parseYAML(data []byte, at func(int) string) (*yaml.Node, bool) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, true
	case err != nil:
		line, text := yamlError(err)
		l.Report(at(line), "not valid YAML: %s", problem.Visible(text))
		return nil, false
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		l.Report(at(more.Line), "a second document is not allowed: remove the `---`")
		return nil, false
	case !errors.Is(err, io.EOF):
		line, text := yamlError(err)
		l.Report(at(line), "not valid YAML: %s", problem.Visible(text))
		return nil, false
	}
	root := resolve(doc.Content[0])
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, true
	}
	return root, true
}

// resolve follows an alias to what it stands for; an anchor cannot be on an
// alias, so one step is enough.
func resolve(n *yaml.Node) *yaml.Node {
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
