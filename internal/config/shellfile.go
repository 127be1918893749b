package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/lib/nearest"
)

// shellPrefix begins the keys that are ours in a shell-style file.
const shellPrefix = "RALPH_"

// defaultLimit is what the reference calls the limit where the command line gives
// none.
const defaultLimit = "DEFAULT_MAX_ITERATIONS"

// shellKey is how an input is called in a shell-style file.
func shellKey(input string) string {
	switch input {
	case "agent":
		return "AGENT_TYPE"
	case "agent-command":
		return "AGENT_CLI"
	case "agent-exact-args":
		return "AGENT_ARGS"
	case "output-format":
		return "AGENT_OUTPUT_FORMAT"
	case "response-filter":
		return "AGENT_RESPONSE_FILTER"
	case "display-filter":
		return "AGENT_DISPLAY_FILTER"
	case "max-retries":
		return "MAX_RETRIES"
	case "max-iterations":
		return "MAX_ITERATIONS"
	}
	return shellPrefix + shout(input)
}

// shout spells max-retries as MAX_RETRIES.
func shout(input string) string {
	return strings.ToUpper(strings.ReplaceAll(input, "-", "_"))
}

// parseShell reads a shell-style file of KEY=VALUE lines. variables are all
// assignments, the last one of each name; values are those that set an input.
// An empty value sets none, so that it beats no preset.
func (l *loader) parseShell(name string, data []byte) (values map[string]value, variables map[string]string) {
	at := func(line int) string { return fmt.Sprintf("%s:%d", name, line) }
	var order []assignment
	r := &shellReader{
		src:    string(data),
		vars:   map[string]string{},
		broken: map[string]bool{},
		assign: func(a assignment) { order = append(order, a) },
		report: func(line int, format string, args ...any) { l.Report(at(line), format, args...) },
		quote:  l.Quote,
	}
	r.read()
	last := map[string]int{}
	for i, a := range order {
		last[a.name] = i
	}
	values = map[string]value{}
	for i, a := range order {
		if last[a.name] != i {
			continue
		}
		where := at(a.line) + ": " + a.name
		in, ok := l.shellInput(a.name, where)
		if !ok || blank(in.Name, a.text) {
			continue
		}
		v := value{from: fromFile, where: where, path: name, key: a.name, text: a.text, infer: in.Name == "agent-command"}
		if a.verbatim {
			v.line = a.line
		}
		if other, twice := values[in.Name]; twice {
			l.Report(where, "it means the same as %s, which is given, too: give only one of them", other.called())
			continue
		}
		values[in.Name] = v
	}
	return values, r.vars
}

// shellInput is the input a key sets. Keys that are neither known nor look
// like ours are variables for templates.
func (l *loader) shellInput(key, where string) (Input, bool) {
	var names []string
	for _, r := range l.rows {
		name := shellKey(r.Name)
		switch {
		case key == name && r.Kind == Secret:
			l.Report(where, "a token does not belong into a file: give it as an input, from a secret")
			return Input{}, false
		case key == name && r.NoFile:
			l.Report(where, "it cannot be set in the file: give it as an input or a flag")
			return Input{}, false
		case key == name, r.Name == "max-iterations" && key == defaultLimit:
			return r.Input, true
		case strings.HasPrefix(name, shellPrefix) && slices.ContainsFunc(r.Aliases, func(a string) bool { return key == shellPrefix+shout(a) }):
			return r.Input, true
		case strings.HasPrefix(key, shellPrefix) && r.called(nearest.Kebab(key[len(shellPrefix):])):
			l.Report(where, "it is called %s here", name)
			return Input{}, false
		case !r.NoFile && strings.HasPrefix(name, shellPrefix):
			names = append(names, name)
		}
	}
	if strings.HasPrefix(key, shellPrefix) {
		l.Report(where, "there is no such setting%s", l.DidYouMean(key, names))
	}
	return Input{}, false
}
