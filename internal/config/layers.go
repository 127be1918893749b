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
)

// fileKind is the format of a configuration file.
type fileKind int

const (
	yamlFile     fileKind = iota + 1 // .yml, .yaml
	settingsFile                     // .json
	shellFile                        // everything else: lines of KEY=VALUE
)

// The files of seed 001's dialect; the local one belongs to one checkout.
const (
	settingsName      = ".ralph/settings.json"
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

// values are those of all sources, the higher over the lower.
func (l *loader) values() map[string]value {
	named, isNamed := l.namedFile()
	l.mode = cmp.Or(l.o.Mode, ModeRun)
	read := func(kind fileKind, defaults ...string) (layers []map[string]value, loaded []string) {
		files := []file{named}
		if !isNamed || named.kind != kind {
			files = nil
			for _, name := range defaults {
				files = append(files, file{name: name, where: name, kind: kind})
			}
		}
		for _, f := range files {
			if values, ok := l.readFile(f); ok {
				layers, loaded = append(layers, values), append(loaded, filepath.ToSlash(visible(l.scrub(f.name))))
			}
		}
		return layers, loaded
	}

	var ours []string // of the kind of file that this program brought
	if !l.o.Desk || l.mode == ModeRun {
		ours = []string{DefaultFile}
	}
	files, loaded := read(yamlFile, ours...)
	inputs, flags := l.inputs(), l.flags()
	if !l.o.Desk && l.o.Mode == "" {
		l.mode = l.chosenMode(append(slices.Clone(files), inputs, flags)...)
	}

	var settings, shell []string
	switch {
	case templated(l.mode):
		shell = []string{path.Join(l.c.Home, "config")}
	case l.mode == ModeRun && l.o.Desk:
		settings = []string{settingsName, settingsLocalName}
	case l.mode == ModeRun:
		settings = []string{settingsName}
	}
	dialect, more := read(settingsFile, settings...)
	rest, evenMore := read(shellFile, shell...)
	dialect, more = append(dialect, rest...), append(more, evenMore...)
	for _, values := range dialect {
		if v, ok := values["mode"]; ok {
			l.report(v.where, "it cannot be set here: give it as an input, or in %s", DefaultFile)
			delete(values, "mode")
		}
	}
	if l.o.Desk {
		files, l.c.Loaded = append(files, dialect...), append(loaded, more...)
	} else {
		files, l.c.Loaded = append(dialect, files...), append(more, loaded...)
	}

	layers := append([]map[string]value{l.defaults(), l.environment()}, files...)
	values := merge(append(layers, inputs, flags)...)
	if l.o.Desk || l.o.Mode != "" {
		values["mode"] = value{from: fromFlag, where: "the command", text: l.mode}
	}
	return values
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
	if !f.named {
		st, err := l.root.Stat(f.name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && st.IsDir() && f.kind == shellFile {
			if _, err := l.root.Stat(".github/ralph.yaml"); err == nil && f.name == DefaultFile {
				l.report(".github/ralph.yaml", "is not read: call it %s", DefaultFile)
			}
			return nil, false
		}
	}
	data, problem := l.read(f.name, f.typed, maxFile)
	if problem != "" {
		l.report(f.where, "%s %s", l.quote(f.name), problem)
		return nil, false
	}
	var values map[string]value
	switch f.kind {
	case yamlFile:
		values = l.parseFile(visible(f.name), data)
	case settingsFile:
		values = l.parseSettings(visible(f.name), data)
	case shellFile:
		values, l.variables = l.parseShell(visible(f.name), data)
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
func (l *loader) chosenMode(layers ...map[string]value) string {
	mode := cmp.Or(l.o.Defaults["mode"], ModeRun)
	for _, values := range layers {
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
	dialect := Defaults(l.mode, l.o.Desk)
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
		i := slices.IndexFunc(l.rows, func(r row) bool { return r.called(name) })
		if i < 0 {
			if known(name) {
				l.report(prefix+name, "there is no such %s%s", strings.TrimRight(prefix, " -"), l.suggest(name, func(Input) bool { return true }))
			}
			continue
		}
		in := l.rows[i].Input
		// No arguments at all can only be said by a flag that is empty.
		if blank(in.Name, texts[name]) && (in.Name != "agent-exact-args" || from != fromFlag) {
			continue
		}
		if other, twice := values[in.Name]; twice {
			l.report(prefix+name, "it means the same as %s, which is given, too: give only one of them", other.called())
			continue
		}
		values[in.Name] = value{from: from, where: prefix + name, key: name, text: texts[name]}
	}
	return values
}
