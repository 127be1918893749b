package file

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/shlex"
	"gopkg.in/yaml.v3"

	"github.com/org/ralph-action/internal/config/input"
	"github.com/org/ralph-action/internal/lib/nearest"
	"github.com/org/ralph-action/internal/lib/printable"
)

// SettingsKey is how an input is called in .ralph/settings.json: its name in
// camelCase, but for those that have a name of old. A dot leads into an object.
func SettingsKey(name string) string {
	switch name {
	case "max-iterations":
		return "maximumIterations"
	case "completion-token":
		return "completionResponse"
	case "include-iteration-count":
		return "includeIterationCountInPrompt"
	case "agent":
		return "agent.type"
	case "agent-command":
		return "agent.command"
	case "agent-args":
		return "agent.flags"
	case "scm-command":
		return "scm.command"
	case "scm-tasks":
		return "scm.tasks"
	}
	words := strings.Split(name, "-")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// settings reads .ralph/settings.json or what lies over it. Objects of
// two such files merge, because what they hold is a value of its own here;
// lists and plain values replace each other. null is a value not given.
func (r *reader) settings(data []byte) map[string]Value {
	s := &settings{reader: r, values: map[string]Value{}}
	root, bad := readJSON(data, func(key *yaml.Node, first int) {
		r.Report(r.at(key.Line), "%s is given twice: first in line %d", r.Quote(key.Value), first)
	})
	switch {
	case bad != nil:
		r.Report(fmt.Sprintf("%s:%d:%d", r.name, bad.line, bad.column), "not valid JSON: %s", bad.why)
		return nil
	case root.Kind != yaml.MappingNode:
		r.Report(r.at(root.Line), "an object with settings is expected, not %s", s.shape(root))
		return nil
	}
	s.object("", root)
	if token, ok := s.values["completion-token"]; ok {
		if _, said := s.values["completion"]; !said {
			s.values["completion"] = Value{Where: token.Where, Key: token.Key, Text: "response", Infer: true}
		}
	}
	return s.values
}

// settings collects the values of one settings file.
type settings struct {
	*reader
	values map[string]Value
}

// object takes the settings of an object; prefix is the path to it.
func (s *settings) object(prefix string, n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		name := prefix + key.Value
		switch {
		case name == "$schema":
			// For editors.
		case s.group(name) && val.Kind == yaml.MappingNode:
			s.object(name+".", val)
		case s.group(name) && val.Tag == "!!null":
		case s.group(name):
			s.Report(s.at(key.Line)+": "+name, "an object is expected, not %s", s.shape(val))
		default:
			s.take(name, key.Line, val)
		}
	}
}

// group says that name is an object of settings.
func (s *settings) group(name string) bool {
	return slices.ContainsFunc(s.inputs, func(in input.Input) bool { return strings.HasPrefix(SettingsKey(in.Name), name+".") })
}

// take takes one value.
func (s *settings) take(name string, line int, n *yaml.Node) {
	i := slices.IndexFunc(s.inputs, func(in input.Input) bool {
		return SettingsKey(in.Name) == name || slices.ContainsFunc(in.Aliases, func(a string) bool { return SettingsKey(a) == name })
	})
	if i < 0 {
		s.Report(s.at(line), "unknown key %s%s", s.Quote(name), s.nearKey(name))
		return
	}
	in := s.inputs[i]
	where := s.at(line) + ": " + name
	switch {
	case !s.allowed(in, where):
	case n.Tag == "!!null":
	case !s.fits(in, n):
		s.Report(where, "%s is expected, not %s", wanted(in), s.shape(n))
	case strings.HasSuffix(in.Name, "-command") && strings.TrimSpace(n.Value) == "":
		s.Report(where, "it is empty: name the program, or leave the key out")
	default:
		v := Value{Where: where, Key: name, Infer: in.Name == "agent-command"}
		if n.Kind == yaml.SequenceNode {
			n = s.entries(in, n)
		}
		if s.reader.take(in, n, &v) {
			if other, twice := s.values[in.Name]; twice {
				s.twice(where, other)
				return
			}
			v.Line = 0 // the line ends of a JSON string are not the file's
			s.values[in.Name] = v
		}
	}
}

// nearKey names what was probably meant, as the end of a sentence.
func (s *settings) nearKey(name string) string {
	var names, beside []string // of all levels, and of its own where that is an object
	object, _, nested := strings.Cut(name, ".")
	for _, in := range s.inputs {
		if in.NoFile {
			continue
		}
		key := SettingsKey(in.Name)
		if nearest.Kebab(name) == in.Name { // its name elsewhere
			return "; did you mean " + key + "?"
		}
		names = append(names, key)
		if strings.HasPrefix(key, object+".") {
			beside = append(beside, key)
		}
	}
	if nested && nearest.Of(name, names) == "" && len(beside) > 0 {
		names = beside
	}
	return s.NameMeant(name, names)
}

// fits says that a value has the type of the input.
func (s *settings) fits(in input.Input, n *yaml.Node) bool {
	switch {
	case inSettingsList(in):
		return n.Kind == yaml.SequenceNode
	case in.Kind == input.Count || in.Kind == input.Dollars:
		return n.Tag == "!!int" || n.Tag == "!!float"
	case in.Kind == input.Bool:
		return n.Tag == "!!bool"
	case in.Kind == input.Duration || in.Kind == input.Size:
		return isSpan(n)
	case in.Kind == input.Choice:
		return n.Tag == "!!str" || n.Tag == "!!bool" && slices.Contains(in.Enum, n.Value)
	}
	return n.Tag == "!!str"
}

// isSpan: 0 needs no unit.
func isSpan(n *yaml.Node) bool { return n.Tag == "!!str" || n.Tag == "!!int" && n.Value == "0" }

// inSettingsList says that the input is an array in a settings file. Commands
// are strings there, as they have always been.
func inSettingsList(in input.Input) bool {
	return in.IsList() && !strings.HasSuffix(in.Name, "-command")
}

// wanted is the type of an input's value in words.
func wanted(in input.Input) string {
	switch {
	case in.Kind == input.GuardrailList:
		return "a list of objects"
	case inSettingsList(in):
		return "a list of strings"
	case in.Kind == input.Count || in.Kind == input.Dollars:
		return "a number"
	case in.Kind == input.Bool:
		return "true or false"
	case in.Kind == input.Duration:
		return `a string such as "15m"`
	case in.Kind == input.Size:
		return `a string such as "500MB"`
	}
	return "a string"
}

// shape shows a value that is not what was expected.
func (s *settings) shape(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "an object"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!str":
		return s.Quote(n.Value)
	}
	return printable.Visible(n.Value[:min(len(n.Value), 40)])
}

// entries are those entries of a list that have the right type. input.Words are
// split as a shell would: "--model opus" is two.
func (s *settings) entries(in input.Input, n *yaml.Node) *yaml.Node {
	list := *n
	list.Content = nil
	for _, entry := range n.Content {
		where := s.at(entry.Line) + ": " + SettingsKey(in.Name)
		switch {
		case in.Kind == input.GuardrailList:
			if s.guardrailFits(entry, where) {
				list.Content = append(list.Content, entry)
			}
		case entry.Tag != "!!str":
			s.Report(where, "each entry must be a string, not %s", s.shape(entry))
		case in.Kind == input.Words:
			words, err := shlex.Split(entry.Value)
			if err != nil {
				s.Report(where, "%s cannot be split as a shell would: a quote is not closed, or it ends with a backslash", s.Quote(entry.Value))
			}
			for _, w := range words {
				list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: w, Line: entry.Line})
			}
		default:
			list.Content = append(list.Content, entry)
		}
	}
	return &list
}

// guardrailFits checks the types within a guardrail; the rest is judged where
// all guardrails are.
func (s *settings) guardrailFits(n *yaml.Node, where string) bool {
	if n.Kind != yaml.MappingNode {
		s.Report(where, "an object is expected, not %s", s.shape(n))
		return false
	}
	ok := true
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		if !slices.Contains(GuardrailKeys(), key.Value) || val.Tag == "!!str" || val.Tag == "!!null" && key.Value != "command" || key.Value == "timeout" && isSpan(val) || key.Value == "parallel" && val.Tag == "!!bool" {
			continue
		}
		want := "a string"
		if key.Value == "parallel" {
			want = "true or false"
		}
		s.Report(s.at(key.Line)+": guardrails", "%s must be %s, not %s", key.Value, want, s.shape(val))
		ok = false
	}
	return ok
}

// GuardrailKeys are the keys of an entry of guardrails.
func GuardrailKeys() []string {
	return []string{"command", "failAction", "hint", "timeout", "when", "parallel"}
}
