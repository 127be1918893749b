package hook

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/lib/printable"
)

// Arguments are what a person typed after the name of a slash command.
type Arguments struct {
	Text  string            // everything that is no flag
	Flags map[string]string // by name, without the hyphens; the last one counts
}

// ParseArguments reads the argument line of a slash command as the CLI hands it
// over: raw, and never seen by a shell. Flags are --name value or --name=value,
// anywhere in the line, with one of the names; the rest is the text, to the
// letter.
//
// Quotes hold words together where they begin a word and end one, so that an
// apostrophe is one. What lies between them is no flag. A text or a value that
// is quoted as a whole loses its quotes; \" and \\ are escapes between double
// quotes. A quote that nothing closes stands for itself, as do $, ` and \
// anywhere else.
func ParseArguments(line string, names ...string) (Arguments, error) {
	args := Arguments{Flags: map[string]string{}}
	w := words{line: line}
	var texts []string
	begin := 0 // of the text that has not been taken yet
	text := func(end int) {
		if t := unquote(strings.TrimSpace(line[begin:end])); t != "" {
			texts = append(texts, t)
		}
	}
	for at := w.skip(0); at < len(line); at = w.skip(at) {
		end := w.end(at)
		name, isFlag := strings.CutPrefix(line[at:end], "--")
		if !isFlag || name == "" {
			at = end
			continue
		}
		from := w.skip(end) // of the value
		name, value, assigned := strings.Cut(name, "=")
		if assigned {
			from = end - len(value) // a quoted value may end behind the word
		}
		if !slices.Contains(names, name) {
			return Arguments{}, fmt.Errorf("--%s is no flag of this command; put quotes around the task if it belongs to it", printable.Clean(name, 60))
		}
		text(at)
		at = w.end(from)
		value = line[from:at]
		if !assigned && (value == "" || strings.HasPrefix(value, "--")) {
			return Arguments{}, fmt.Errorf("--%s needs a value", name)
		}
		args.Flags[name] = unquote(value)
		begin = at
	}
	text(len(line))
	args.Text = strings.Join(texts, " ")
	return args, nil
}

// words finds the words of a line in one pass: a quote that nothing closes is
// looked for once.
type words struct {
	line     string
	unclosed [256]bool // by quote
}

// skip is where the next word begins.
func (w *words) skip(at int) int {
	if n := strings.IndexFunc(w.line[at:], notSpace); n >= 0 {
		return at + n
	}
	return len(w.line)
}

func notSpace(r rune) bool { return !unicode.IsSpace(r) }

// end is where the word that begins at the offset ends: at white space, or
// behind the quote that closes it.
func (w *words) end(at int) int {
	rest := w.line[at:]
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') && !w.unclosed[rest[0]] {
		if n := quotedLen(rest); n > 0 {
			return at + n
		}
		w.unclosed[rest[0]] = true
	}
	if n := strings.IndexFunc(rest, unicode.IsSpace); n >= 0 {
		return at + n
	}
	return len(w.line)
}

// quotedLen is the length of the quoted words that s, which begins with a quote,
// begins with, quotes included; 0: nothing closes them.
func quotedLen(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] == '"':
			i++
		case s[i] == s[0]:
			if r, n := utf8.DecodeRuneInString(s[i+1:]); n == 0 || unicode.IsSpace(r) {
				return i + 1
			}
		}
	}
	return 0
}

// unquote takes the quotes off that hold all of s.
func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' && s[0] != '\'' || quotedLen(s) != len(s) {
		return s
	}
	inner := s[1 : len(s)-1]
	if s[0] == '"' {
		inner = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(inner)
	}
	return strings.TrimSpace(inner)
}
