package shellfile

import "strings"

// dollar reads what begins with $, and adds what it stands for to the value.
// live is false in a default that is not used, which assigns and misses
// nothing.
func (r *reader) dollar(quoted, live bool) {
	r.next()
	switch c := r.peek(); {
	case c == '{':
		r.braces(quoted, live)
	case c == '(':
		r.problem("a command in $(…) is not allowed: %s; write \\$ for the character", neverRun)
		r.next()
		if !quoted {
			r.skipLine()
		}
	case strings.IndexByte("0123456789@*#?-$![", c) >= 0:
		r.problem("$%c means nothing here: only variables of this file are known; write \\$ for the character", c)
		r.next()
	case !quoted && (c == '\'' || c == '"'):
		r.problem("$%c…%c is not understood: put the text into plain quotes", c, c)
	default:
		name := nameOf(r.rest())
		if name == "" {
			r.add("$", live)
			return
		}
		r.off += len(name)
		r.variable(name, live)
	}
}

// variable adds the value of a variable.
func (r *reader) variable(name string, live bool) {
	text, ok := r.vars[name]
	if !ok && !r.broken[name] && live {
		r.problem("$%s is not set above in this file, and nothing else is looked at", r.short(name))
		return
	}
	r.add(text, live)
}

// add adds to the value, within the bound of all values.
func (r *reader) add(text string, live bool) {
	if !live {
		return
	}
	if r.size+r.word.Len()+len(text) > maxExpanded {
		r.tooMuch()
		return
	}
	r.word.WriteString(text)
}

// braces reads ${NAME}, ${NAME:-default} and ${NAME:=default}.
func (r *reader) braces(quoted, live bool) {
	line := r.line
	r.next()
	name := nameOf(r.rest())
	after := r.rest()[len(name):]
	switch {
	case name != "" && strings.HasPrefix(after, "}"):
		r.off += len(name) + 1
		r.variable(name, live)
		return
	case name == "" || !strings.HasPrefix(after, ":-") && !strings.HasPrefix(after, ":="):
		r.problem("of ${…} only ${NAME}, ${NAME:-default} and ${NAME:=default} are understood")
		return
	case r.deep == maxDepth:
		r.problem("${…} stands in more than %d others", maxDepth)
		return
	case len(name) > maxName:
		r.problem("the name of a variable has %d characters: at most %d", len(name), maxName)
		return
	}
	r.off += len(name) + 2
	set := r.vars[name]
	use := live && set == ""
	if live {
		r.add(set, true)
	}
	begin := r.word.Len()
	r.deep++
	r.defaulted(quoted, use)
	r.deep--
	if use && after[1] == '=' && !r.failed {
		text := r.word.String()[begin:]
		r.size += len(text)
		r.set(Assignment{name, text, line, !strings.Contains(text, "\n")})
	}
}

// defaulted reads a default up to its }. Quotes mean different things there to
// different shells, so there are none.
func (r *reader) defaulted(quoted, live bool) {
	home := !quoted
	for r.off < len(r.src) {
		switch c := r.peek(); {
		case c == '}':
			r.next()
			return
		case c == '\n' && r.failed:
			return // the line was given up
		case strings.IndexByte("'\"\\`\n", c) >= 0:
			r.problem("quotes, backslashes and line ends are not understood within ${…}: give the default on a line of its own")
			if c == '`' || c == '\\' {
				r.next() // or it would be said twice
			}
			return
		case c == '$':
			r.dollar(quoted, live)
		case c == '~' && home:
			r.problem("~ is not expanded: write the folder out")
			r.next()
		default:
			r.next()
			r.add(r.src[r.off-1:r.off], live)
		}
		home = !quoted && r.off > 0 && r.src[r.off-1] == ':'
	}
	if !r.failed {
		r.problem("} is missing")
	}
}
