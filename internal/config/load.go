package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// LoadOptions are the sources of a configuration. Where several give a value,
// flags win over inputs, inputs over the file, the file over defaults.
type LoadOptions struct {
	// Dir is the workspace. Paths that come from inputs or the configuration
	// file cannot leave it, not even through a symbolic link; a path given as
	// a flag may, because whoever types it can read the file anyway.
	Dir string
	// Inputs are the action's inputs by their names in action.yml. An empty
	// value is an input that was not given.
	Inputs map[string]string
	// Flags are the flags of the command line by their names, see [Flags].
	Flags map[string]string
	// Defaults replace defaults of the table for a command that differs.
	Defaults map[string]string
	// Environment is where the token is looked for (GITHUB_TOKEN, then
	// GH_TOKEN) when it is not an input, and what pass-env is checked against.
	Environment map[string]string
}

// Load reads and validates everything. Its error is a [*Problems] that lists
// all that is wrong; the Config beside it then holds what could be read, with
// zero values where something could not.
func Load(o LoadOptions) (Config, error) {
	l := &loader{o: o, rows: table(), secrets: tokens(o)}
	l.c.Sources = map[string]string{}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		l.report("workspace", "%s cannot be opened: %s", l.quote(o.Dir), cause(err))
		return l.c, l.problems()
	}
	defer root.Close()
	l.root = root

	values := l.merge(l.defaults(), l.environment(), l.file(), l.inputs(), l.flags())
	for _, r := range l.rows {
		v, ok := values[r.Name]
		if !ok {
			continue
		}
		v.in = r.Input
		l.c.Sources[r.Name] = v.source()
		l.c.shown = append(l.c.shown, show(v))
		if v.node == nil && l.tooLong(v) {
			continue
		}
		r.set(l, v)
	}
	l.validate(values)
	return l.c, l.problems()
}

// layer is where a value came from, in rising priority.
type layer int

const (
	fromDefault layer = iota
	fromEnvironment
	fromFile
	fromInput
	fromFlag
)

// value is one setting as it was given.
type value struct {
	in    Input
	from  layer
	where string // "input branch", "flag --branch", "FILE:3: branch"
	text  string
	node  *yaml.Node // of a list in the file; text is then only for showing
	line  int        // of the first line of text in the file; 0: unknown
	path  string     // of the file
	infer bool       // of agent-command: the agent follows from the program. Of others: implied by another key, so what any layer says outright wins
}

func (v value) source() string {
	if v.from == fromDefault {
		return "default"
	}
	return v.where
}

// loader collects values and problems while a Config is being read.
type loader struct {
	o       LoadOptions
	rows    []row
	root    *os.Root
	secrets []string
	c       Config
	list    []Problem
	more    int // problems beyond maxProblems
}

// report notes a problem. Foreign values among args must have gone through
// quote; secrets are taken out of the rest here.
func (l *loader) report(where, format string, args ...any) {
	if len(l.list) == maxProblems {
		l.more++
		return
	}
	l.list = append(l.list, Problem{
		Where: visible(l.scrub(where)),
		Text:  l.scrub(fmt.Sprintf(format, args...)),
	})
}

func (l *loader) problems() error {
	if len(l.list) == 0 {
		return nil
	}
	return &Problems{List: l.list, More: l.more}
}

// quote shows a foreign value: without secrets, escaped, cut.
func (l *loader) quote(s string) string { return quote(l.scrub(s)) }

func (l *loader) scrub(s string) string {
	for _, token := range l.secrets {
		s = strings.ReplaceAll(s, token, "***")
	}
	return s
}

// tokens are the values that no message may show. Very short ones are left
// out: replacing them would spoil every message and protect nothing.
func tokens(o LoadOptions) []string {
	var list []string
	for _, t := range []string{
		o.Inputs["github-token"], o.Flags["github-token"],
		o.Environment["GITHUB_TOKEN"], o.Environment["GH_TOKEN"],
	} {
		// A token pasted with something around it is refused, and still not shown.
		for _, part := range append(strings.Fields(t), t) {
			if len(part) >= 4 {
				list = append(list, part)
			}
		}
	}
	// The longest first, so that a part does not break up the whole.
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}

// merge lays later layers over earlier ones. A layer that names the task in
// one way replaces a task that was named in the other way below it.
func (l *loader) merge(layers ...map[string]value) map[string]value {
	merged := map[string]value{}
	for _, layer := range layers {
		_, text := layer["prompt"]
		_, file := layer["prompt-file"]
		if text || file {
			delete(merged, "prompt")
			delete(merged, "prompt-file")
		}
		maps.Copy(merged, layer)
	}
	return merged
}

func (l *loader) defaults() map[string]value {
	values := map[string]value{}
	for _, r := range l.rows {
		text := cmp.Or(l.o.Defaults[r.Name], r.Default)
		if text != "" {
			values[r.Name] = value{from: fromDefault, where: "default of " + r.Name, text: text}
		}
	}
	return values
}

func (l *loader) environment() map[string]value {
	for _, name := range []string{"GITHUB_TOKEN", "GH_TOKEN"} {
		if text := l.o.Environment[name]; text != "" {
			return map[string]value{"github-token": {from: fromEnvironment, where: "environment variable " + name, text: text}}
		}
	}
	return nil
}

func (l *loader) inputs() map[string]value {
	return l.typed(l.o.Inputs, fromInput, "input ", func(name string) bool {
		// The runner's own inputs of container actions.
		return name != "args" && name != "entrypoint"
	})
}

func (l *loader) flags() map[string]value {
	return l.typed(l.o.Flags, fromFlag, "flag --", func(string) bool { return true })
}

// typed reads a map of texts. Names that known accepts and the table does not
// have are reported.
func (l *loader) typed(texts map[string]string, from layer, prefix string, known func(string) bool) map[string]value {
	values := map[string]value{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		text := texts[name]
		if !slices.ContainsFunc(l.rows, func(r row) bool { return r.Name == name }) {
			if known(name) {
				l.report(prefix+name, "there is no such %s%s", strings.TrimRight(prefix, " -"), l.suggest(name, func(Input) bool { return true }))
			}
			continue
		}
		if blank(name, text) {
			continue
		}
		values[name] = value{from: from, where: prefix + name, text: text}
	}
	return values
}

// blank says that a text stands for nothing given. White space counts as
// nothing except for the task, where it is more likely a mistake.
func blank(name, text string) bool {
	if name == "prompt" {
		return text == ""
	}
	return strings.TrimSpace(text) == ""
}

// suggest names what was probably meant, as the end of a sentence.
func (l *loader) suggest(name string, fits func(Input) bool) string {
	var names []string
	for _, r := range l.rows {
		if fits(r.Input) {
			names = append(names, r.Name)
		}
	}
	return l.didYouMean(name, names)
}

func (l *loader) didYouMean(name string, candidates []string) string {
	if len(l.list) == maxProblems {
		return "" // nobody will read it, and it is the dear part of a problem
	}
	if near := nearest(name, candidates); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// cause is the reason in a file error without the path, which the message
// names itself.
func cause(err error) string {
	switch pathErr := (*fs.PathError)(nil); {
	case errors.Is(err, fs.ErrNotExist):
		return "it does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.As(err, &pathErr):
		return pathErr.Err.Error()
	default:
		return err.Error()
	}
}
