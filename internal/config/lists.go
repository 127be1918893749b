package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/shlex"

	"github.com/org/ralph-action/internal/config/file"
	"github.com/org/ralph-action/internal/config/input"
	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/lib/printable"

	"gopkg.in/yaml.v3"
)

// items are the entries of a list of plain values.
func (l *loader) items(v value) []string {
	var items []string
	for _, n := range v.Node.Content {
		n = file.Resolve(n)
		switch {
		case n.Kind != yaml.ScalarNode || n.Tag == "!!null":
			l.Report(fmt.Sprintf("%s:%d: %s", v.Path, n.Line, v.called()), "each entry of the list must be a text")
		case strings.ContainsRune(n.Value, 0):
			l.Report(fmt.Sprintf("%s:%d: %s", v.Path, n.Line, v.called()), "is binary: give text without NUL bytes")
		default:
			items = append(items, n.Value)
		}
	}
	return items
}

// words splits a command line as a shell would, quotes and backslashes
// included, and expands nothing. A list in the file is taken as it is.
func (l *loader) words(v value) []string {
	if v.Node != nil {
		return l.items(v)
	}
	words, err := shlex.Split(v.Text)
	if err != nil {
		l.refuse(v, "it cannot be split as a shell would: a quote is not closed, or it ends with a backslash")
		return nil
	}
	return words
}

// lines are the lines of a text, or the entries of a list.
func (l *loader) lines(v value) []string {
	var lines []string
	if v.Node != nil {
		lines = l.items(v)
	} else {
		for _, line := range strings.Split(v.Text, "\n") {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
	}
	return l.atMost(v, lines)
}

// names are separated by commas or line ends; each is kept once.
func (l *loader) names(v value) []string {
	var once []string
	seen := map[string]bool{}
	for _, n := range l.entries(v) {
		if !seen[n] {
			seen[n] = true
			once = append(once, n)
		}
	}
	return l.atMost(v, once)
}

// entries are separated by commas or line ends, and may repeat.
func (l *loader) entries(v value) []string {
	var list []string
	if v.Node != nil {
		list = l.items(v)
	} else {
		list = strings.FieldsFunc(v.Text, func(r rune) bool { return r == ',' || r == '\n' })
	}
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

// tasks are the words of each entry, split as a shell would. Other than names
// they may repeat.
func (l *loader) tasks(v value) [][]string {
	var tasks [][]string
	for _, entry := range l.atMost(v, l.entries(v)) {
		words, err := shlex.Split(entry)
		if err != nil || len(words) == 0 || words[0] == "" {
			l.Report(v.Where, "task %s cannot be split as a shell would: give words such as commit, push or add -A", l.Quote(entry))
			continue
		}
		tasks = append(tasks, words)
	}
	return tasks
}

func (l *loader) atMost(v value, list []string) []string {
	if v.in.Max > 0 && int64(len(list)) > v.in.Max {
		l.Report(v.Where, "%d entries are too many: at most %d", len(list), v.in.Max)
		return nil
	}
	return list
}

// labels follow GitHub's rules for the names of labels.
func (l *loader) labels(v value) []string {
	names := l.names(v)
	for _, n := range names {
		switch bad := input.FirstControl(n); {
		case bad != "":
			l.Report(v.Where, "label %s is not allowed: it holds %s", l.Quote(n), bad)
		case utf8.RuneCountInString(n) > 50:
			l.Report(v.Where, "label %s is not allowed: give at most 50 characters", l.Quote(n))
		}
	}
	return names
}

var envName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// envNames are variables the agent may see. The runner's own credentials, and
// whatever holds the forge's token, never are.
func (l *loader) envNames(v value) []string {
	names := l.names(v)
	for _, n := range names {
		upper := strings.ToUpper(n)
		switch {
		case strings.Contains(n, "="):
			name, _, _ := strings.Cut(n, "=")
			l.Report(v.Where, "give names without values: %s instead of %s=…", l.Quote(name), printable.Visible(name))
		case !envName.MatchString(n):
			l.Report(v.Where, "%s is no name of a variable: give letters, digits and underscores", l.Quote(n))
		case upper == "GITHUB_TOKEN" || upper == "GH_TOKEN" || strings.HasPrefix(upper, "ACTIONS_") || strings.HasPrefix(upper, "INPUT_"):
			l.Report(v.Where, "%s is not allowed: the agent never sees the tokens of the workflow", l.Quote(n))
		case l.holdsToken(l.o.Environment[n]):
			l.Report(v.Where, "%s is not allowed: it holds a token of the forge", l.Quote(n))
		case upper == "HOME" || upper == "TMPDIR":
			l.Report(v.Where, "%s is not allowed: the agent has its own", l.Quote(n))
		}
	}
	return slices.Sorted(slices.Values(names))
}

func (l *loader) holdsToken(s string) bool {
	return slices.ContainsFunc(l.tokens, func(t string) bool { return strings.Contains(s, t) })
}
