package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

const (
	maxFile   = 1 << 20  // of the configuration file
	maxPrompt = 16 << 20 // of the task
)

// read reads a file of text. What it names is a regular file in the workspace,
// or, when it was typed by a person, anywhere. problem continues a sentence
// that begins with the path.
func (l *loader) read(name string, typed bool, limit int64) (data []byte, problem string) {
	info, open := l.root.Stat, l.root.Open
	if typed {
		if !filepath.IsAbs(name) {
			name = filepath.Join(l.o.Dir, name)
		}
		info, open = os.Stat, os.Open
	} else {
		local, ok := l.local(name)
		if !ok {
			return nil, "is outside the workspace: give a path relative to it"
		}
		if instead, ok := l.o.Instead[path.Clean(filepath.ToSlash(name))]; ok {
			return ofBase(instead, limit)
		}
		if l.o.Seen != nil {
			defer func() {
				if problem == "" {
					l.o.Seen[filepath.ToSlash(local)] = data
				}
			}()
		}
		name = local
	}
	switch st, err := info(name); { // before opening: a pipe would block
	case err != nil:
		return nil, "cannot be read: " + cause(err)
	case st.IsDir():
		return nil, "is a folder: give a file"
	case !st.Mode().IsRegular():
		return nil, "is not a regular file"
	}
	f, err := open(name)
	if err != nil {
		return nil, "cannot be read: " + cause(err)
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, "cannot be read: " + cause(err)
	}
	return checked(data, limit)
}

// missing reports whether the workspace has no file of a name; with unlessFolder, a folder
// is none.
func (l *loader) missing(name string, unlessFolder bool) bool {
	clean := path.Clean(filepath.ToSlash(name))
	if instead, ok := l.o.Instead[clean]; ok {
		return instead == nil
	}
	st, err := l.root.Stat(name)
	missing := errors.Is(err, fs.ErrNotExist) || unlessFolder && err == nil && st.IsDir()
	if missing && l.o.Seen != nil {
		l.o.Seen[clean] = nil
	}
	return missing
}

// checked is the text of a file, or what is wrong with it.
func checked(data []byte, limit int64) ([]byte, string) {
	switch {
	case int64(len(data)) > limit:
		return nil, "is larger than " + size(limit)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return nil, "is binary: give UTF-8 text without NUL bytes"
	}
	return data, ""
}

// size is a bound in words.
func size(bytes int64) string {
	if bytes >= 1<<20 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// local makes a path relative to the workspace. An absolute path may point
// into it: that is how a container sees the path of a checkout.
func (l *loader) local(name string) (string, bool) {
	if filepath.IsAbs(name) {
		dir, err := filepath.Abs(l.o.Dir)
		if err != nil {
			return "", false
		}
		if name, err = filepath.Rel(dir, name); err != nil {
			return "", false
		}
	}
	name = filepath.Clean(name)
	return name, filepath.IsLocal(name)
}

// parseFile reads the settings of a configuration file. Problems name the line.
func (l *loader) parseFile(name string, data []byte) map[string]value {
	at := func(line int) string { return fmt.Sprintf("%s:%d", name, max(line, 1)) }
	doc, ok := l.parseYAML(data, at)
	if !ok || doc == nil {
		return nil
	}
	if doc.Kind != yaml.MappingNode {
		l.report(at(doc.Line), "a list of `name: value` settings is expected")
		return nil
	}
	values := map[string]value{}
	lines := map[string]int{}
	for i := 0; i+1 < len(doc.Content); i += 2 {
		key, node := doc.Content[i], resolve(doc.Content[i+1])
		in, ok := l.fileKey(key, at)
		if !ok {
			continue
		}
		if first, twice := lines[in.Name]; twice {
			l.report(at(key.Line), "%s is given twice: first in line %d", key.Value, first)
			continue
		}
		lines[in.Name] = key.Line
		v := value{from: fromFile, where: at(key.Line) + ": " + key.Value, path: name, key: key.Value}
		if l.setting(in, node, &v) {
			values[in.Name] = v
		}
	}
	return values
}

// fileKey is the input a key of the file stands for.
func (l *loader) fileKey(key *yaml.Node, at func(int) string) (Input, bool) {
	if key.Kind != yaml.ScalarNode {
		l.report(at(key.Line), "a setting's name is expected")
		return Input{}, false
	}
	for _, r := range l.rows {
		switch {
		case !r.called(key.Value):
		case r.Kind == Secret:
			l.report(at(key.Line)+": "+r.Name, "a token does not belong into a file: give it as an input, from a secret")
			return Input{}, false
		case r.NoFile:
			l.report(at(key.Line)+": "+r.Name, "it cannot be set in the file: give it as an input or a flag")
			return Input{}, false
		default:
			return r.Input, true
		}
	}
	l.report(at(key.Line), "unknown key %s%s", l.quote(key.Value), l.suggest(key.Value, func(in Input) bool { return !in.NoFile }))
	return Input{}, false
}

// setting takes the value of one key. It is false when there is none, or when
// it has the wrong shape.
func (l *loader) setting(in Input, node *yaml.Node, v *value) bool {
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag == "!!null":
		return false
	case node.Kind == yaml.ScalarNode:
		v.text, v.line = node.Value, node.Line
		if node.Style == yaml.LiteralStyle {
			v.line++ // the text begins below its mark
		} else if strings.Contains(node.Value, "\n") {
			v.line = 0 // folded: its lines are not the file's
		}
		return !blank(in.Name, v.text)
	case node.Kind == yaml.SequenceNode && in.isList():
		v.node = node
		v.text = fmt.Sprintf("%d entries", len(node.Content))
		return true
	case node.Kind == yaml.SequenceNode:
		l.report(v.where, "a list is not allowed: give one value")
	default:
		l.report(v.where, "a mapping is not allowed: give a value%s", map[bool]string{true: " or a list"}[in.isList()])
	}
	return false
}

func (in Input) isList() bool {
	switch in.Kind {
	case Words, Lines, Names, GuardrailList:
		return true
	}
	return false
}

// items are the entries of a list of plain values.
func (l *loader) items(v value) []string {
	var items []string
	for _, n := range v.node.Content {
		n = resolve(n)
		switch {
		case n.Kind != yaml.ScalarNode || n.Tag == "!!null":
			l.report(fmt.Sprintf("%s:%d: %s", v.path, n.Line, v.called()), "each entry of the list must be a text")
		case strings.ContainsRune(n.Value, 0):
			l.report(fmt.Sprintf("%s:%d: %s", v.path, n.Line, v.called()), "is binary: give text without NUL bytes")
		default:
			items = append(items, n.Value)
		}
	}
	return items
}

// parseYAML reads one document. A nil node is an empty document.
func (l *loader) parseYAML(data []byte, at func(int) string) (*yaml.Node, bool) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, true
	case err != nil:
		line, text := yamlError(err)
		l.report(at(line), "not valid YAML: %s", visible(text))
		return nil, false
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		l.report(at(more.Line), "a second document is not allowed: remove the `---`")
		return nil, false
	case !errors.Is(err, io.EOF):
		line, text := yamlError(err)
		l.report(at(line), "not valid YAML: %s", visible(text))
		return nil, false
	}
	root := resolve(doc.Content[0])
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, true
	}
	return root, true
}

// resolve follows an alias to what it stands for; an anchor cannot be on an
// alias, so one step is enough.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// yamlError takes the line out of "yaml: line 3: what is wrong".
func yamlError(err error) (line int, text string) {
	text = strings.TrimPrefix(err.Error(), "yaml: ")
	if n, _ := fmt.Sscanf(text, "line %d:", &line); n == 1 {
		_, text, _ = strings.Cut(text, ": ")
		return line, text
	}
	return 1, text
}

// ofBase is a file whose content was given.
func ofBase(data []byte, limit int64) ([]byte, string) {
	if data == nil {
		return nil, "cannot be read: the base of the pull request has no file of that name"
	}
	return checked(data, limit)
}
