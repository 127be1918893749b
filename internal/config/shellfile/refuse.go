package shellfile

import "strings"

// stray says what is wrong with a word that is no assignment. empty: the one
// before it on the line had no value.
func (r *reader) stray(empty bool) {
	rest := r.rest()
	name := nameOf(rest)
	after := rest[len(name):]
	spaced := strings.TrimLeft(after, " \t")
	word := rest
	if i := strings.IndexAny(rest, " \t\n;&|<>()`"); i >= 0 {
		word = rest[:i]
	}
	key, _, assigns := strings.Cut(word, "=")
	switch {
	case empty, name != "" && spaced != after && strings.HasPrefix(spaced, "="):
		r.report(r.line, "no space is allowed around =: write NAME=VALUE, with quotes around a value that has spaces")
	case name != "" && strings.HasPrefix(after, "+="):
		r.report(r.line, "+= is not understood: write %s=\"${%s}…\"", r.short(name), r.short(name))
	case name != "" && strings.HasPrefix(after, "[") && strings.Contains(word, "]="):
		r.report(r.line, "arrays are not understood: give one value")
	case word == "" || name != "" && strings.HasPrefix(after, "("):
		r.operator()
	case assigns && !strings.ContainsAny(key, `'"$\`):
		r.report(r.line, "%s is no name of a variable: give letters, digits and underscores, not beginning with a digit", r.problems.Quote(key))
	default:
		r.report(r.line, "%s would be a command: %s; NAME=VALUE is expected", r.problems.Quote(word), neverRun)
	}
}

// short bounds a name in a message.
func (r *reader) short(name string) string { return name[:min(len(name), maxName)] }

// operator refuses what is punctuation to a shell.
func (r *reader) operator() {
	c := r.peek()
	switch c {
	case '`':
		r.report(r.line, "a command in backticks is not allowed: %s", neverRun)
	case '(':
		r.report(r.line, "( is not allowed without quotes: %s", neverRun)
	case '<', '>':
		r.report(r.line, "%c would redirect: %s; put the value into quotes", c, neverRun)
	case ';', '&', '|', ')':
		r.report(r.line, "%c is not allowed without quotes: %s", c, neverRun)
	default:
		r.report(r.line, "a function or command is not allowed: %s", neverRun)
	}
}
