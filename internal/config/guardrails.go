package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/org/ralph-action/internal/config/file"
	"github.com/org/ralph-action/internal/config/input"
	"github.com/org/ralph-action/internal/config/problem"
	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/ralph"
)

const (
	maxGuardrails = 50
	maxHint       = 10_000 // bytes
	maxCommand    = 64 << 10
)

// unlimited marks a guardrail whose timeout was given as 0, until the default
// for the others is known.
const unlimited = time.Duration(-1)

// guardrails reads either form: command lines, or a YAML list.
func (l *loader) guardrails(v value) []Guardrail {
	at := func(line int) string {
		switch {
		case v.from != fromFile:
			return fmt.Sprintf("%s, line %d", v.Where, max(line, 1))
		case v.Node != nil:
			return fmt.Sprintf("%s:%d: %s", v.Path, line, v.called())
		case v.Line > 0:
			return fmt.Sprintf("%s:%d: %s", v.Path, v.Line+max(line, 1)-1, v.called())
		default:
			return v.Where
		}
	}
	node := v.Node
	if node == nil {
		if !looksLikeYAML(v.Text) {
			return l.guardrailLines(v, at)
		}
		var ok bool
		if node, ok = file.ParseYAML([]byte(v.Text), at, l.List); !ok || node == nil {
			return nil
		}
	}
	if node.Kind != yaml.SequenceNode {
		l.Report(at(node.Line), "a list is expected: begin each guardrail with `- command: …`")
		return nil
	}
	if len(node.Content) > maxGuardrails {
		l.Report(v.Where, "%d guardrails are too many: at most %d", len(node.Content), maxGuardrails)
		return nil
	}
	var list []Guardrail
	for _, entry := range node.Content {
		if g, ok := l.guardrail(file.Resolve(entry), at); ok {
			list = append(list, g)
		}
	}
	return list
}

// looksLikeYAML says that the first line that means something begins a YAML
// list. `[ -f x ]` is a command; only `[{` and `[]` begin a list.
func looksLikeYAML(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line == "---" {
			continue
		}
		rest, flow := strings.CutPrefix(line, "[")
		rest = strings.TrimSpace(rest)
		return line == "-" || strings.HasPrefix(line, "- ") ||
			flow && (strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, `"`) || rest == "" || rest == "]")
	}
	return false
}

var strayKey = lazyregexp.New(`(?i)^(command|fail-?action|hint|timeout|when|parallel)\s*:(\s|$)`)

func (l *loader) guardrailLines(v value, at func(int) string) []Guardrail {
	var list []Guardrail
	n := 0
	for line := range strings.Lines(v.Text) {
		n++
		switch line = strings.TrimSpace(line); {
		case line == "" || line[0] == '#':
		case strayKey.MatchString(line):
			l.Report(at(n), "%s looks like YAML without a list: begin each guardrail with `- command: …`", l.Quote(line))
			return nil
		default:
			if g := defaultGuardrail(); l.command(line, at(n), &g) {
				list = append(list, g)
			}
		}
	}
	if len(list) > maxGuardrails {
		l.Report(v.Where, "%d guardrails are too many: at most %d", len(list), maxGuardrails)
		return nil
	}
	return list
}

func defaultGuardrail() Guardrail { return Guardrail{FailAction: ralph.Append, When: Always} }

// guardrail reads one entry: a mapping, or only the command.
func (l *loader) guardrail(n *yaml.Node, at func(int) string) (Guardrail, bool) {
	g := defaultGuardrail()
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag != "!!null":
		return g, l.command(n.Value, at(n.Line), &g)
	case n.Kind != yaml.MappingNode:
		l.Report(at(n.Line), "a guardrail is a command, or `command:` with its options")
		return g, false
	}
	ok, seen := true, map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], file.Resolve(n.Content[i+1])
		where := at(key.Line)
		if seen[key.Value] {
			l.Report(where, "%s is given twice in one guardrail", l.Quote(key.Value))
			ok = false
			continue
		}
		seen[key.Value] = true
		if val.Kind != yaml.ScalarNode {
			l.Report(where, "%s of a guardrail must be one value", l.Quote(key.Value))
			ok = false
			continue
		}
		ok = l.guardrailKey(key.Value, val, where, &g) && ok
	}
	if !seen["command"] {
		l.Report(at(n.Line), "the guardrail has no command")
		ok = false
	}
	return g, ok
}

func (l *loader) guardrailKey(key string, val *yaml.Node, where string, g *Guardrail) bool {
	text := strings.TrimSpace(val.Value)
	if val.Tag == "!!null" {
		text = ""
	}
	switch {
	case key == "command":
		return l.command(text, where, g)
	case !slices.Contains(file.GuardrailKeys(), key):
		l.Report(where, "unknown key %s in a guardrail%s", l.Quote(key), l.NameMeant(key, file.GuardrailKeys()))
		return false
	case text == "":
		return true
	}
	var want string
	switch key {
	case "failAction":
		g.FailAction, want = oneOf(text, ralph.Append, ralph.Prepend, ralph.Replace)
	case "when":
		g.When, want = oneOf(text, Always, OnChanges)
	case "parallel":
		var yes string
		yes, want = oneOf(text, "true", "false")
		g.Parallel = yes == "true"
	case "timeout":
		if g.Timeout, want = guardrailTimeout().Duration(text); want == "" && g.Timeout == 0 {
			g.Timeout = unlimited
		}
	case "hint":
		if g.Hint = text; len(val.Value) > maxHint || strings.ContainsRune(val.Value, 0) {
			l.Report(where, "the hint is not allowed: give text of at most %d bytes", maxHint)
			return false
		}
	}
	if want != "" {
		l.Report(where, "%s %s is not allowed: %s", key, l.Quote(val.Value), want)
	}
	return want == ""
}

// oneOf is the value that is spelled so, in any case, or what would be right.
func oneOf[T ~string](text string, values ...T) (value T, want string) {
	var names []string
	for _, v := range values {
		if strings.EqualFold(text, string(v)) {
			return v, ""
		}
		names = append(names, string(v))
	}
	return "", "give " + problem.OrList(names)
}

// guardrailTimeout is the input whose bounds hold for each guardrail too.
func guardrailTimeout() Input {
	rows := limitRows()
	return rows[slices.IndexFunc(rows, func(r row) bool { return r.Name == "guardrail-timeout" })].Input
}

func (l *loader) command(text, where string, g *Guardrail) bool {
	g.Command = strings.TrimSpace(text)
	switch bad := input.FirstControl(strings.NewReplacer("\n", "", "\t", "", "\r", "").Replace(g.Command)); {
	case g.Command == "":
		l.Report(where, "the guardrail has no command")
	case len(g.Command) > maxCommand:
		l.Report(where, "the command has %d bytes: at most %d", len(g.Command), maxCommand)
	case bad != "":
		l.Report(where, "command %s is not allowed: it holds %s", l.Quote(g.Command), bad)
	default:
		return true
	}
	return false
}
