package starter

import (
	"io/fs"
	"slices"
	"strings"
)

// makeChecks are the targets that are proposed, in this order.
var makeChecks = [...]string{"lint", "vet", "check", "test"}

// targets lists which of makeChecks `make` would do something for. As make
// does, it looks at the first of the three names only; included files and
// conditions are not followed.
func targets(root fs.FS) []string {
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if data, ok := manifest(root, name); ok {
			return makeTargets(string(data))
		}
	}
	return nil
}

// makeTargets reads a makefile as far as rules go. The format is that of GNU
// make's manual, "Parsing Makefiles". A rule without recipe and prerequisites
// is no check.
func makeTargets(text string) []string {
	m := makefile{recipe: '\t', real: map[string]bool{}}
	for line := range logicalLines(text) {
		m.line(line)
	}
	var found []string
	for _, name := range makeChecks {
		if m.real[name] {
			found = append(found, name)
		}
	}
	return found
}

type makefile struct {
	recipe  byte            // what recipe lines begin with
	defines int             // depth of define … endef
	open    []string        // checks among the targets of the last rule, which wait for a recipe
	real    map[string]bool // checks that do something
}

func (m *makefile) line(line string) {
	if m.defines == 0 && line != "" && line[0] == m.recipe {
		if strings.TrimSpace(line[1:]) != "" {
			m.settle()
		}
		return
	}
	text := strings.TrimSpace(uncomment(line))
	if text == "" {
		return
	}
	words := strings.Fields(text)
	for len(words) > 1 && slices.Contains([]string{"override", "export", "private"}, words[0]) {
		words = words[1:]
	}
	switch {
	case m.defines > 0 && words[0] == "endef":
		m.defines--
		return
	case words[0] == "define" && len(words) > 1 && !strings.HasPrefix(words[1], ":") && words[1] != "=":
		m.defines++
		m.open = nil
		return
	case m.defines > 0:
		return
	case slices.Contains([]string{"ifeq", "ifneq", "ifdef", "ifndef", "else", "endif", "include", "-include", "sinclude", "load", "-load", "vpath", "undefine", "unexport"}, words[0]):
		return
	}
	m.rule(text)
}

// rule reads a line that is a rule or sets a variable.
func (m *makefile) rule(text string) {
	m.open = nil
	colon := outside(text, ":=")
	if colon < 0 || text[colon] == '=' {
		m.prefix(text)
		return
	}
	rest := strings.TrimLeft(text[colon:], ":")
	if strings.HasPrefix(rest, "=") {
		m.prefix(text)
		return
	}
	names := strings.TrimSuffix(strings.TrimSpace(text[:colon]), "&") // &: is for grouped targets
	prerequisites, recipe, _ := strings.Cut(rest, ";")
	if outside(prerequisites, "=") >= 0 {
		return // a variable of the target's
	}
	for name := range strings.FieldsSeq(names) {
		if slices.Contains(makeChecks[:], name) && !slices.Contains(m.open, name) {
			m.open = append(m.open, name)
		}
	}
	if strings.TrimSpace(prerequisites) != "" || strings.TrimSpace(recipe) != "" {
		m.settle()
	}
}

// settle says that the open rule does something.
func (m *makefile) settle() {
	for _, name := range m.open {
		m.real[name] = true
	}
	m.open = nil
}

// prefix notes a new beginning of recipe lines.
func (m *makefile) prefix(text string) {
	name, value, _ := strings.Cut(text, "=")
	if strings.TrimRight(name, " \t:?") != ".RECIPEPREFIX" {
		return
	}
	m.recipe = '\t'
	if value = strings.TrimSpace(value); value != "" {
		m.recipe = value[0]
	}
}

// outside finds the first of chars that stands in no $(…) or ${…}, -1 for none.
func outside(text, chars string) int {
	var closers []byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '$' && i+1 < len(text) && text[i+1] == '(':
			closers = append(closers, ')')
			i++
		case c == '$' && i+1 < len(text) && text[i+1] == '{':
			closers = append(closers, '}')
			i++
		case c == '\\' && i+1 < len(text) && text[i+1] == ':':
			i++
		case len(closers) > 0 && c == '(' && closers[len(closers)-1] == ')':
			closers = append(closers, ')')
		case len(closers) > 0 && c == '{' && closers[len(closers)-1] == '}':
			closers = append(closers, '}')
		case len(closers) > 0 && c == closers[len(closers)-1]:
			closers = closers[:len(closers)-1]
		case len(closers) == 0 && strings.IndexByte(chars, c) >= 0:
			return i
		}
	}
	return -1
}

// uncomment cuts from the first # that is not escaped.
func uncomment(line string) string {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] != '\\') {
			return line[:i]
		}
	}
	return line
}

// logicalLines yields the lines of a text; one that ends with an odd number of
// backslashes goes on in the next.
func logicalLines(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		var joined strings.Builder
		for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
			line = strings.TrimRight(line, "\r\n")
			body := strings.TrimRight(line, `\`)
			if (len(line)-len(body))%2 == 1 {
				joined.WriteString(line[:len(line)-1])
				joined.WriteByte(' ')
				continue
			}
			joined.WriteString(line)
			if !yield(joined.String()) {
				return
			}
			joined.Reset()
		}
		if joined.Len() > 0 {
			yield(joined.String())
		}
	}
}
