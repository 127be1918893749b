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
	"github.com/org/ralph-action/internal/config/problem"
)

// fileKind is the format of a configuration file.
type fileKind int

const (
	yamlFile     fileKind = iota + 1 // .yml, .yaml
	settingsFile                     // .json
	shellFile                        // everything else: lines of KEY=VALUE
)

// The settings of a project, and what one checkout lays over them.
const (
	SettingsFile      = ".ralph/settings.json"
	settingsLocalName = ".ralph/settings.local.json"
)

func kindOf(name string) fileKind {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yml", ".yaml":
		return yamlFile
	case ".json":
		return settingsFile
	default:
		return shellFile
	}
}

// file is a configuration file that may be read.
type file struct {
	name  string
	where string // who named it, for a problem with the file itself
	typed bool   // by a person, who may name one outside the workspace
	named bool   // it must exist
	kind  fileKind
}

// content is what a file said.
type content struct {
	name   string
	values map[string]value
}

// values are those of all sources, the higher over the lower.
func (l *loader) values() map[string]value {
	l.mode = cmp.Or(l.o.Mode, ModeRun)
	files := l.readFiles(yamlFile)
	inputs, flags := l.inputs(), l.flags()
	commanded := l.o.Local || l.o.Mode != ""
	if !commanded {
		l.mode = l.chosenMode(files, inputs, flags)
	}
	dialect := slices.Concat(l.readFiles(settingsFile), l.readFiles(shellFile))
	for _, f := range dialect {
		if v, ok := f.values["mode"]; ok {
			l.Report(v.where, "it cannot be set here: give it as an input, or in %s", DefaultFile)
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
	if c := values["completion"]; c.infer && c.where != values["completion-token"].where {
		values["completion"] = defaults["completion"] // what it followed from is not in force
	}
	l.otherAgent(files, values)
	l.distrust(values, defaults)
	if commanded {
		values["mode"] = value{from: fromFlag, where: "the command", text: l.mode}
	}
	return values
}

// otherAgent leaves out the program of a file's own agent where an input or a flag
// chooses another agent: that one has its own.
func (l *loader) otherAgent(files []content, values map[string]value) {
	command, chosen := values["agent-command"], values["agent"]
	if command.from != fromFile || chosen.from <= fromFile || catalog.Of(chosen.text).Own() {
		return
	}
	for _, f := range files {
		if own := f.values["agent"]; own.given() && catalog.Of(own.text).Own() && f.values["agent-command"].where == command.where {
			l.warn(command.where, "it has no effect: it belongs to agent "+own.text)
			delete(values, "agent-command")
		}
	}
}

// distrust refuses what a file of the repository must not decide where there are
// sandboxed: the agent of an earlier step may have written it.
func (l *loader) distrust(values, defaults map[string]value) {
	level := func(v value) int {
		return slices.Index([]string{string(IsolationOff), string(IsolationAuto), string(IsolationStrict)}, strings.ToLower(strings.TrimSpace(v.text)))
	}
	usual, meant := level(defaults["isolation"]), defaults["isolation"].text
	if v := values["isolation"]; v.from != fromFile && level(v) > usual { // a person asked for a sandbox
		usual, meant = level(v), strings.ToLower(strings.TrimSpace(v.text))
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
		l.Report(v.where, "a file can only make it stricter than %s; %s", meant, cure)
	}
	for name, loose := range map[string]string{"skip-review": "true", "review-cap-policy": "accept"} {
		if v := values[name]; v.from == fromFile && strings.EqualFold(strings.TrimSpace(v.text), loose) {
			l.Report(v.where, "a file cannot loosen the reviews of a sandboxed agent; %s", cure)
		}
	}
	if v := values["task-dir"]; v.from == fromFile && l.o.Local {
		name, inside := l.files.Local(strings.TrimSpace(v.text))
		if _, err := l.files.Root.Stat(name); !inside || err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.Report(v.where, "a file cannot open a folder outside of the workspace for a sandboxed agent; %s", cure)
		}
	}
	// Who may ask for a run, where it goes, whether anybody looks at it, and what
	// holds the agent: where its key is sent, what it reaches, what it may change.
	for _, r := range l.rows {
		if v, ok := values[r.Name]; ok && r.Guarded && v.from == fromFile {
			l.Report(v.where, "a file cannot set it for a sandboxed agent; %s", cure)
		}
		if v, ok := values[r.Name]; ok && r.Name == "min-free-disk" && v.from == fromFile {
			size, wrong := bytesOf(strings.TrimSpace(v.text), r.Input)
			if usual, _ := bytesOf(r.Default, r.Input); wrong == "" && size < usual {
				l.Report(v.where, "a file can only make it more than %s for a sandboxed agent, which may have written the file", r.Default)
			}
		}
	}
}

// readFiles reads the files of a kind, in rising priority: the one that config
// names, or the usual ones that exist.
func (l *loader) readFiles(kind fileKind) []content {
	var files []file
	if f, ok := l.namedFile(); ok && f.kind == kind {
		files = []file{f}
	} else {
		for _, name := range l.usualFiles(kind) {
			files = append(files, file{name: name, where: name, kind: kind})
		}
	}
	var read []content
	for _, f := range files {
		if values, ok := l.readFile(f); ok {
			read = append(read, content{filepath.ToSlash(problem.Visible(l.Scrub(f.name))), values})
		}
	}
	return read
}

// usualFiles are the files of a kind that the mode looks for.
func (l *loader) usualFiles(kind fileKind) []string {
	switch {
	case kind == yamlFile && (!l.o.Local || l.mode == ModeRun):
		return []string{DefaultFile}
	case kind == shellFile && templated(l.mode):
		return []string{path.Join(l.c.Prompt.Home, "config")}
	case kind == settingsFile && l.mode == ModeRun && l.o.Local:
		return []string{SettingsFile, settingsLocalName}
	case kind == settingsFile && l.mode == ModeRun:
		return []string{SettingsFile}
	}
	return nil
}

// namedFile is the file that config names.
func (l *loader) namedFile() (file, bool) {
	flag, input := strings.TrimSpace(l.o.Flags["config"]), strings.TrimSpace(l.o.Inputs["config"])
	switch {
	case flag != "":
		return file{name: flag, where: "flag --config", typed: true, named: true, kind: kindOf(flag)}, true
	case input != "":
		return file{name: input, where: "input config", named: true, kind: kindOf(input)}, true
	}
	return file{}, false
}

// readFile reads a configuration file. It is false when there is none.
func (l *loader) readFile(f file) (map[string]value, bool) {
	if !f.named && l.files.Missing(f.name, f.kind == shellFile) {
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
	var values map[string]value
	switch f.kind {
	case yamlFile:
		values = l.parseFile(problem.Visible(f.name), data)
	case settingsFile:
		values = l.parseSettings(problem.Visible(f.name), data)
	case shellFile:
		values, l.variables = l.parseShell(problem.Visible(f.name), data)
	}
	for name, v := range values {
		v.from, v.kind = fromFile, f.kind
		if v.key == "" {
			v.key = v.where[strings.LastIndex(v.where, ": ")+len(": "):]
		}
		values[name] = v
	}
	return values, true
}

// chosenMode is the mode that the sources of the action ask for.
func (l *loader) chosenMode(files []content, inputs, flags map[string]value) string {
	mode := cmp.Or(l.o.Defaults["mode"], ModeRun)
	var layers []map[string]value
	for _, f := range files {
		layers = append(layers, f.values)
	}
	for _, values := range append(layers, inputs, flags) {
		if v, ok := values["mode"]; ok {
			mode = strings.ToLower(strings.TrimSpace(v.text))
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
			if below, ok := merged[name]; ok && v.infer && name != "agent-command" && below.given() && !below.infer {
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
	return l.typed(l.o.Inputs, fromInput, "input ", Input.ActionNames)
}

func (l *loader) flags() map[string]value {
	values := l.typed(l.o.Flags, fromFlag, "flag --", Input.names)
	for name, called := range l.o.Words {
		if v, ok := values[name]; ok {
			v.where = called
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
		i := slices.IndexFunc(l.rows, func(r row) bool { return r.called(name) })
		switch {
		case i < 0 && from == fromInput && (name == "args" || name == "entrypoint"):
			continue // the runner's own inputs of container actions
		case i < 0:
			l.Report(prefix+name, "there is no such %s%s", strings.TrimRight(prefix, " -"), l.suggest(name, func(Input) bool { return true }))
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
		if blank(in.Name, texts[name]) && in.Name != "agent-exact-args" {
			continue
		}
		if other, twice := values[in.Name]; twice {
			l.Report(prefix+name, "it means the same as %s, which is given, too: give only one of them", other.called())
			continue
		}
		values[in.Name] = value{from: from, where: prefix + name, key: name, text: texts[name]}
	}
	return values
}

// yamlFile is the file that holds the keys of the action.
func (l *loader) yamlFile() string {
	if f, ok := l.namedFile(); ok && f.kind == yamlFile {
		return problem.Visible(l.Scrub(f.name))
	}
	return DefaultFile
}
