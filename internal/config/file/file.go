// Package file reads configuration files of each format into values of inputs: YAML, JSON
// settings, and lines of KEY=VALUE. It knows how an input is called in each.
package file

import (
	"fmt"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/org/ralph-action/internal/config/input"
	"github.com/org/ralph-action/internal/config/problem"
)

// Kind is the format of a configuration file.
type Kind int

// The formats.
const (
	YAML     Kind = iota + 1 // .yml, .yaml
	Settings                 // .json
	Shell                    // everything else: lines of KEY=VALUE
)

// KindOf is the format of a file by its name.
func KindOf(name string) Kind {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yml", ".yaml":
		return YAML
	case ".json":
		return Settings
	default:
		return Shell
	}
}

// Value is one setting as a file has it.
type Value struct {
	Where string // "FILE:3: branch"
	Text  string
	Node  *yaml.Node // of a list; Text is then only for showing
	Line  int        // of the first line of Text in the file; 0: unknown
	Path  string     // of the file
	Key   string     // what the file calls it
	Kind  Kind       // of the file
	// Infer says of agent-command that it names the agent, too, above any agent
	// of a lower layer. Of others that they are implied by another key, so that
	// what any layer says outright wins.
	Infer bool
}

// Read reads a file's values by the names of inputs. Variables are all that a file of lines
// assigns. Problems name the line.
func Read(kind Kind, name string, data []byte, inputs []input.Input, problems *problem.List) (values map[string]Value, variables map[string]string) {
	r := &reader{problems, inputs, name}
	switch kind {
	case YAML:
		values = r.yaml(data)
	case Settings:
		values = r.settings(data)
	case Shell:
		values, variables = r.shell(data)
	}
	for name, v := range values {
		v.Path, v.Kind = r.name, kind
		values[name] = v
	}
	return values, variables
}

type reader struct {
	*problem.List
	inputs []input.Input
	name   string // of the file
}

func (r *reader) at(line int) string { return fmt.Sprintf("%s:%d", r.name, max(line, 1)) }

// allowed reports whether a file may set an input.
func (r *reader) allowed(in input.Input, where string) bool {
	switch {
	case in.Kind == input.Secret:
		r.Report(where, "a token does not belong in a file: give it as an input, from a secret")
	case in.NoFile:
		r.Report(where, "it cannot be set in the file: give it as an input or a flag")
	default:
		return true
	}
	return false
}

// twice reports a value of an input that has one already by another key.
func (r *reader) twice(where string, other Value) {
	r.Report(where, "it means the same as %s, which is given, too: give only one of them", other.Key)
}

// take takes a value from a node. It is false when there is none, or when it has the wrong
// shape.
func (r *reader) take(in input.Input, node *yaml.Node, v *Value) bool {
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag == "!!null":
		return false
	case node.Kind == yaml.ScalarNode:
		v.Text, v.Line = node.Value, node.Line
		if node.Style == yaml.LiteralStyle {
			v.Line++ // the text begins below its mark
		} else if strings.Contains(node.Value, "\n") {
			v.Line = 0 // folded: its lines are not the file's
		}
		return !in.Blank(v.Text)
	case node.Kind == yaml.SequenceNode && in.IsList():
		v.Node = node
		v.Text = fmt.Sprintf("%d entries", len(node.Content))
		return true
	case node.Kind == yaml.SequenceNode:
		r.Report(v.Where, "a list is not allowed: give one value")
	default:
		r.Report(v.Where, "a mapping is not allowed: give a value%s", map[bool]string{true: " or a list"}[in.IsList()])
	}
	return false
}
