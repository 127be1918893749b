package file

import (
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/config/input"
	"github.com/org/ralph-action/internal/config/shellfile"
	"github.com/org/ralph-action/internal/lib/nearest"
)

// shellPrefix begins the keys that are ours in a shell-style file.
const shellPrefix = "RALPH_"

// defaultLimit is what the reference calls the limit where the command line gives
// none.
const defaultLimit = "DEFAULT_MAX_ITERATIONS"

// ShellKey is how an input is called in a shell-style file.
func ShellKey(name string) string {
	switch name {
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
	return shellPrefix + shout(name)
}

// shout spells max-retries as MAX_RETRIES.
func shout(name string) string {
	return strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// shell reads a shell-style file of KEY=VALUE lines. variables are all
// assignments, the last one of each name; values are those that set an input.
// An empty value sets none, so that it beats no preset.
func (r *reader) shell(data []byte) (values map[string]Value, variables map[string]string) {
	order, variables := shellfile.Parse(r.name, data, r.List)
	last := map[string]int{}
	for i, a := range order {
		last[a.Name] = i
	}
	values = map[string]Value{}
	for i, a := range order {
		if last[a.Name] != i {
			continue
		}
		where := r.at(a.Line) + ": " + a.Name
		in, ok := r.shellInput(a.Name, where)
		if !ok || in.Blank(a.Text) {
			continue
		}
		v := Value{Where: where, Key: a.Name, Text: a.Text, Infer: in.Name == "agent-command"}
		if a.Verbatim {
			v.Line = a.Line
		}
		if other, twice := values[in.Name]; twice {
			r.twice(where, other)
			continue
		}
		values[in.Name] = v
	}
	return values, variables
}

// shellInput is the input a key sets. Keys that are neither known nor look
// like ours are variables for templates.
func (r *reader) shellInput(key, where string) (input.Input, bool) {
	var names []string
	for _, in := range r.inputs {
		name := ShellKey(in.Name)
		switch {
		case key == name:
			return in, r.allowed(in, where)
		case in.Name == "max-iterations" && key == defaultLimit:
			return in, true
		case strings.HasPrefix(name, shellPrefix) && slices.ContainsFunc(in.Aliases, func(a string) bool { return key == shellPrefix+shout(a) }):
			return in, true
		case strings.HasPrefix(key, shellPrefix) && in.Called(nearest.Kebab(key[len(shellPrefix):])):
			r.Report(where, "it is called %s here", name)
			return input.Input{}, false
		case !in.NoFile && strings.HasPrefix(name, shellPrefix):
			names = append(names, name)
		}
	}
	if strings.HasPrefix(key, shellPrefix) {
		r.Report(where, "there is no such setting%s", r.DidYouMean(key, names))
	}
	return input.Input{}, false
}
