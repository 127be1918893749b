package config

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/config/file"
	"github.com/org/ralph-action/internal/lib/printable"
)

// The settings of a project, and what one checkout lays over them.
const (
	SettingsFile      = ".ralph/settings.json"
	settingsLocalName = ".ralph/settings.local.json"
)

// source is a configuration file that may be read.
type source struct {
	name  string
	where string // who named it, for a problem with the file itself
	typed bool   // by a person, who may name one outside the workspace
	named bool   // it must exist
	kind  file.Kind
}

// content is what a file said.
type content struct {
	name   string
	values map[string]value
}

// values are those of all sources, the higher over the lower.
func (l *loader) values() map[string]value {
	l.mode = cmp.Or(l.o.Mode, ModeRun)
	files := l.readFiles(file.YAML)
	inputs, flags := l.inputs(), l.flags()
	commanded := l.o.Local || l.o.Mode != ""
	if !commanded {
		l.mode = l.chosenMode(files, inputs, flags)
	}
	dialect := slices.Concat(l.readFiles(file.Settings), l.readFiles(file.Shell))
	for _, f := range dialect {
		if v, ok := f.values["mode"]; ok {
			l.Report(v.Where, "it cannot be set here: give it as an input, or in %s", DefaultFile)
			delete(f.values, "mode")
		}
	}
	if l.o.Local {
		files = append(files, dialect...)
	} else {
		files = append(dialect, files...)
	}
	defaults := l.defaults()
	layers := []map[string]value{defaults, l.environment()}
	for _, f := range files {
		layers = append(layers, f.values)
		l.c.Loaded = append(l.c.Loaded, f.name)
	}
	values := merge(append(layers, inputs, flags)...)
	if c := values["completion"]; c.Infer && c.Where != values["completion-token"].Where {
		values["completion"] = defaults["completion"] // what it followed from is not in force
	}
	l.otherAgent(files, values)
	l.distrust(values, defaults)
	if commanded {
		values["mode"] = value{from: fromFlag, Value: file.Value{Where: "the command", Text: l.mode}}
	}
	return values
}

// otherAgent leaves out the program of a file's own agent where an input or a flag
// chooses another agent: that one has its own.
func (l *loader) otherAgent(files []content, values map[string]value) {
	command, chosen := values["agent-command"], values["agent"]
	if command.from != fromFile || chosen.from <= fromFile || catalog.Of(chosen.Text).Own() {
		return
	}
	for _, f := range files {
		if own := f.values["agent"]; own.given() && catalog.Of(own.Text).Own() && f.values["agent-command"].Where == command.Where {
			l.warn(command.Where, "it has no effect: it belongs to agent "+own.Text)
			delete(values, "agent-command")
		}
	}
}

// distrust refuses what a file of the repository must not decide where there are
// sandboxed: the agent of an earlier step may have written it.
func (l *loader) distrust(values, defaults map[string]value) {
	level := func(v value) int {
		return slices.Index([]string{string(IsolationOff), string(IsolationAuto), string(IsolationStrict)}, strings.ToLower(strings.TrimSpace(v.Text)))
	}
	usual, meant := level(defaults["isolation"]), defaults["isolation"].Text
	if v := values["isolation"]; v.from != fromFile && level(v) > usual { // a person asked for a sandbox
		usual, meant = level(v), strings.ToLower(strings.TrimSpace(v.Text))
	}
	for _, name := range []string{"agent-args", "agent-exact-args", "agent-settings", "mcp-config", "provider"} {
		if values[name].from == fromFile {
			l.c.Agent.FromFile = append(l.c.Agent.FromFile, name)
		}
	}
	if usual <= 0 {
		return // no sandbox to keep
	}
	l.c.Agent.CommandFromFile = values["agent-command"].from == fromFile
	const cure = "the agent may have written the file: give it as an input of the workflow, or as a flag"
	if v := values["isolation"]; v.from == fromFile && level(v) >= 0 && level(v) < usual {
		l.Report(v.Where, "a file can only make it stricter than %s; %s", meant, cure)
	}
	for name, loose := range map[string]string{"skip-review": "true", "review-cap-policy": "accept"} {
		if v := values[name]; v.from == fromFile && strings.EqualFold(strings.TrimSpace(v.Text), loose) {
			l.Report(v.Where, "a file cannot loosen the reviews of a sandboxed agent; %s", cure)
		}
	}
	if v := values["task-dir"]; v.from == fromFile && l.o.Local {
		name, inside := l.files.Local(strings.TrimSpace(v.Text))
		if _, err := l.files.Root.Stat(name); !inside || err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.Report(v.Where, "a file cannot open a folder outside of the workspace for a sandboxed agent; %s", cure)
		}
	}
	// Who may ask for a run, where it goes, whether anybody looks at it, and what
	// holds the agent: where its key is sent, what it reaches, what it may change.
	for _, r := range l.rows {
		if v, ok := values[r.Name]; ok && r.Guarded && v.from == fromFile {
			l.Report(v.Where, "a file cannot set it for a sandboxed agent; %s", cure)
		}
		if v, ok := values[r.Name]; ok && r.Name == "min-free-disk" && v.from == fromFile {
			size, wrong := r.Size(strings.TrimSpace(v.Text))
			if usual, _ := r.Size(r.Default); wrong == "" && size < usual {
				l.Report(v.Where, "a file can only make it more than %s for a sandboxed agent, which may have written the file", r.Default)
			}
		}
	}
}

// readFiles reads the files of a kind, in rising priority: the one that config
// names, or the usual ones that exist.
func (l *loader) readFiles(kind file.Kind) []content {
	var files []source
	if f, ok := l.namedFile(); ok && f.kind == kind {
		files = []source{f}
	} else {
		for _, name := range l.usualFiles(kind) {
			files = append(files, source{name: name, where: name, kind: kind})
		}
	}
	var read []content
	for _, f := range files {
		if values, ok := l.readFile(f); ok {
			read = append(read, content{filepath.ToSlash(printable.Visible(l.Scrub(f.name))), values})
		}
	}
	return read
}

// usualFiles are the files of a kind that the mode looks for.
func (l *loader) usualFiles(kind file.Kind) []string {
	switch {
	case kind == file.YAML && (!l.o.Local || l.mode == ModeRun):
		return []string{DefaultFile}
	case kind == file.Shell && templated(l.mode):
		return []string{path.Join(l.c.Prompt.Home, "config")}
	case kind == file.Settings && l.mode == ModeRun && l.o.Local:
		return []string{SettingsFile, settingsLocalName}
	case kind == file.Settings && l.mode == ModeRun:
		return []string{SettingsFile}
	}
	return nil
}

// namedFile is the file that config names.
func (l *loader) namedFile() (source, bool) {
	flag, input := strings.TrimSpace(l.o.Flags["config"]), strings.TrimSpace(l.o.Inputs["config"])
	switch {
	case flag != "":
		return source{name: flag, where: "flag --config", typed: true, named: true, kind: file.KindOf(flag)}, true
	case input != "":
		return source{name: input, where: "input config", named: true, kind: file.KindOf(input)}, true
	}
	return source{}, false
}

// readFile reads a configuration file. It is false when there is none.
func (l *loader) readFile(f source) (map[string]value, bool) {
	if !f.named && l.files.Missing(f.name, f.kind == file.Shell) {
		const other = ".github/ralph.yaml"
		_, replaced := l.o.Instead[DefaultFile]
		if _, err := l.files.Root.Stat(other); err == nil && f.name == DefaultFile && !replaced {
			l.Report(other, "is not read: call it %s", DefaultFile)
		}
		return nil, false
	}
	data, wrong := l.files.Read(f.name, f.typed, maxFile)
	if wrong != "" {
		l.Report(f.where, "%s %s", l.Quote(f.name), wrong)
		return nil, false
	}
	read, variables := file.Read(f.kind, printable.Visible(f.name), data, inputsOf(l.rows), l.List)
	if f.kind == file.Shell {
		l.variables = variables
	}
	values := map[string]value{}
	for name, v := range read {
		values[name] = value{Value: v, from: fromFile}
	}
	return values, true
}

// chosenMode is the mode that the sources of the action ask for.
func (l *loader) chosenMode(files []content, inputs, flags map[string]value) string {
	mode := cmp.Or(l.o.Defaults["mode"], ModeRun)
	for _, c := range append(slices.Clone(files), content{values: inputs}, content{values: flags}) {
		if v, ok := c.values["mode"]; ok {
			mode = strings.ToLower(strings.TrimSpace(v.Text))
		}
	}
	if !slices.Contains(modes(), mode) {
		return ModeRun // the problem is reported with the value
	}
	return mode
}

// merge lays later layers over earlier ones. A layer that names the task in
// one way replaces a task that was named in the other way below it.
func merge(layers ...map[string]value) map[string]value {
	merged := map[string]value{}
	for rank, values := range layers {
		_, text := values["prompt"]
		_, file := values["prompt-file"]
		if text || file {
			delete(merged, "prompt")
			delete(merged, "prompt-file")
		}
		for name, v := range values {
			if below, ok := merged[name]; ok && v.Infer && name != "agent-command" && below.given() && !below.Infer {
				continue
			}
			v.rank = rank
			merged[name] = v
		}
	}
	return merged
}

func (l *loader) defaults() map[string]value {
	values := map[string]value{}
	dialect := Defaults(l.mode, l.o.Local)
	for _, r := range l.rows {
		text := cmp.Or(l.o.Defaults[r.Name], dialect[r.Name], r.Default)
		if text != "" {
			values[r.Name] = value{from: fromDefault, Value: file.Value{Where: "default of " + r.Name, Text: text}}
		}
	}
	return values
}

func (l *loader) environment() map[string]value {
	for _, name := range []string{"GITHUB_TOKEN", "GH_TOKEN"} {
		if text := l.o.Environment[name]; text != "" {
			return map[string]value{"github-token": {from: fromEnvironment, Value: file.Value{Where: "environment variable " + name, Text: text}}}
		}
	}
	return nil
}

func (l *loader) inputs() map[string]value {
	return l.typed(l.o.Inputs, fromInput, "input ", Input.ActionNames)
}

func (l *loader) flags() map[string]value {
	values := l.typed(l.o.Flags, fromFlag, "flag --", Input.Names)
	for name, called := range l.o.Words {
		if v, ok := values[name]; ok {
			v.Where = called
			values[name] = v
		}
	}
	return values
}

// typed reads a map of texts, of the names by which inputs are taken here. Other
// names are reported.
func (l *loader) typed(texts map[string]string, from layer, prefix string, names func(Input) []string) map[string]value {
	values := map[string]value{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		i := slices.IndexFunc(l.rows, func(r row) bool { return r.Called(name) })
		switch {
		case i < 0 && from == fromInput && (name == "args" || name == "entrypoint"):
			continue // the runner's own inputs of container actions
		case i < 0:
			var all []string
			for _, r := range l.rows {
				all = append(all, r.Names()...)
			}
			l.Report(prefix+name, "there is no such %s%s", strings.TrimRight(prefix, " -"), l.NameMeant(name, all))
			continue
		case l.rows[i].NoAction && from == fromInput:
			l.Report(prefix+name, "it is a key of %[1]s and no input of the action: write it there, as %[2]s: …", l.yamlFile(), l.rows[i].Name)
			continue
		case !slices.Contains(names(l.rows[i].Input), name):
			l.Report(prefix+name, "as an input it is called %s", l.rows[i].Name)
			continue
		}
		in := l.rows[i].Input
		// No arguments at all can only be said by a flag that is empty.
		if in.Blank(texts[name]) && in.Name != "agent-exact-args" {
			continue
		}
		if other, twice := values[in.Name]; twice {
			l.Report(prefix+name, "it means the same as %s, which is given, too: give only one of them", other.called())
			continue
		}
		values[in.Name] = value{from: from, Value: file.Value{Where: prefix + name, Key: name, Text: texts[name]}}
	}
	return values
}

// file.YAML is the file that holds the keys of the action.
func (l *loader) yamlFile() string {
	if f, ok := l.namedFile(); ok && f.kind == file.YAML {
		return printable.Visible(l.Scrub(f.name))
	}
	return DefaultFile
}
