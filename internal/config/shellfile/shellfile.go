// Package shellfile reads a file of KEY=VALUE lines as a POSIX shell would that sources it,
// and runs nothing. Pure.
package shellfile

import (
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/config/problem"
)

const (
	maxExpanded = 4 << 20 // bytes of all values of one shell-style file, what they expand to included
	maxName     = 100     // bytes of a variable's name
	maxDepth    = 32      // of defaults in each other
)

// Assignment is one variable that got a value.
type Assignment struct {
	Name, Text string
	Line       int  // of the name
	Verbatim   bool // the lines of Text are those of the file
}

// Parse reads the assignments of a file, in their order, and the last value of each variable
// (XCU 2.2 quoting, 2.6.2 parameter expansion, 2.9.1 assignments). What a shell would have to
// run for is a problem, of which every line is told. Variables are those of the file itself,
// above where they are used.
func Parse(name string, data []byte, problems *problem.List) (assignments []Assignment, variables map[string]string) {
	r := &reader{name: name, src: string(data), vars: map[string]string{}, broken: map[string]bool{}, problems: problems}
	r.read()
	return r.assigned, r.vars
}

type reader struct {
	name     string // of the file, for problems
	src      string
	off      int
	line     int // of off, from 1
	vars     map[string]string
	broken   map[string]bool // assigned to, with a problem
	size     int             // of all values so far
	assigned []Assignment
	problems *problem.List

	word   strings.Builder // the value being read
	failed bool            // it has a problem
	colon  bool            // a ~ here would be a home folder
	deep   int             // of ${…:-…} in each other
}

const neverRun = "the config is parsed, never run"

// nameOf is the name of a variable that s begins with.
func nameOf(s string) string {
	i := 0
	for i < len(s) && (s[i] == '_' || 'a' <= s[i]|0x20 && s[i]|0x20 <= 'z' || i > 0 && '0' <= s[i] && s[i] <= '9') {
		i++
	}
	return s[:i]
}

// read reads everything.
func (r *reader) read() {
	r.src = strings.TrimSuffix(strings.ReplaceAll(strings.TrimPrefix(r.src, "\ufeff"), "\r\n", "\n"), "\r")
	r.line = 1
	for r.off < len(r.src) {
		r.statement()
		if r.off < len(r.src) {
			r.next() // the line end
		}
	}
}

// next takes one byte.
func (r *reader) next() byte {
	c := r.src[r.off]
	r.off++
	if c == '\n' {
		r.line++
	}
	return c
}

func (r *reader) peek() byte {
	if r.off < len(r.src) {
		return r.src[r.off]
	}
	return '\n' // the last line may lack its end
}

func (r *reader) rest() string { return r.src[r.off:] }

// blanks skips white space within the line, and line ends after a backslash.
func (r *reader) blanks() {
	for {
		switch {
		case r.peek() == ' ' || r.peek() == '\t':
			r.off++
		case strings.HasPrefix(r.rest(), "\\\n"):
			r.next()
			r.next()
		default:
			return
		}
	}
}

func (r *reader) skipLine() {
	if i := strings.IndexByte(r.rest(), '\n'); i >= 0 {
		r.off += i
		return
	}
	r.off = len(r.src)
}

// statement reads a line of assignments, and more lines when a quote spans
// them. It ends before a line end.
func (r *reader) statement() {
	exported, bare, empty := false, false, false
	for first := true; ; first = false {
		r.blanks()
		if r.peek() == '#' {
			r.skipLine()
		}
		if r.peek() == '\n' {
			if bare {
				r.report(r.line, "export of nothing is not understood: write export NAME=VALUE")
			}
			return
		}
		bare = false
		name := nameOf(r.rest())
		r.off += len(name)
		switch after := r.peek(); {
		case first && name == "export" && (after == ' ' || after == '\t' || after == '\n'):
			exported, bare = true, true
		case name != "" && after == '=':
			if len(name) > maxName {
				r.report(r.line, "the name of a variable has %d characters: at most %d", len(name), maxName)
				r.skipLine()
				return
			}
			empty = r.assignment(name)
		case exported && name != "" && strings.IndexByte(" \t\n", after) >= 0:
			if _, ok := r.vars[name]; !ok && !r.broken[name] {
				r.report(r.line, "%s has no value here: write export %s=VALUE", r.problems.Quote(name), r.short(name))
			}
		default:
			r.off -= len(name)
			r.stray(empty)
			r.skipLine()
			return
		}
	}
}

// assignment reads =VALUE of name. It says whether nothing stands after the =.
func (r *reader) assignment(name string) (empty bool) {
	line := r.line
	r.off++
	begin := r.off
	if r.peek() == '(' {
		r.report(line, "arrays are not understood: give one value")
		r.broken[name] = true
		r.skipLine()
		return false
	}
	r.word.Reset()
	r.failed, r.colon = false, true
	r.value()
	text := r.word.String()
	if r.size += len(text); r.size > maxExpanded && !r.failed {
		r.tooMuch()
	}
	if r.failed {
		r.broken[name] = true
		return false
	}
	r.set(Assignment{name, text, line, strings.Count(text, "\n") == r.line-line})
	return r.off == begin
}

func (r *reader) set(a Assignment) {
	r.vars[a.Name] = a.Text
	delete(r.broken, a.Name)
	r.assigned = append(r.assigned, a)
}

// report notes what is wrong in a line.
func (r *reader) report(line int, format string, args ...any) {
	r.problems.Report(fmt.Sprintf("%s:%d", r.name, line), format, args...)
}

// problem notes what is wrong with the value being read.
func (r *reader) problem(format string, args ...any) {
	r.failed = true
	r.report(r.line, format, args...)
}

func (r *reader) tooMuch() {
	r.size = maxExpanded + 1
	r.problem("the values are larger than %d MiB together", maxExpanded>>20)
	r.off = len(r.src)
}

// value reads a value up to white space outside of quotes.
func (r *reader) value() {
	for {
		home := r.colon
		r.colon = false
		switch c := r.peek(); c {
		case ' ', '\t', '\n':
			return
		case '\'':
			r.single()
		case '"':
			r.double()
		case '\\':
			r.next()
			switch {
			case r.off == len(r.src):
				r.problem("the value ends with a backslash: put it into quotes")
			case r.peek() == '\n':
				r.next()
				r.colon = home
			default:
				r.word.WriteByte(r.next())
			}
		case '$':
			r.dollar(false, true)
		case '`', ';', '&', '|', '<', '>', '(', ')':
			r.failed = true
			r.operator()
			r.skipLine()
		default:
			if c == '~' && home {
				r.problem("~ is not expanded: write the folder out, or put it into quotes")
			}
			r.colon = c == ':'
			r.word.WriteByte(r.next())
		}
	}
}

// single reads '…', in which nothing has a meaning.
func (r *reader) single() {
	line := r.line
	r.next()
	for r.off < len(r.src) {
		c := r.next()
		if c == '\'' {
			return
		}
		r.word.WriteByte(c)
	}
	r.unclosed(line, "'")
}

// double reads "…".
func (r *reader) double() {
	line := r.line
	r.next()
	for r.off < len(r.src) {
		switch r.peek() {
		case '"':
			r.next()
			return
		case '\\':
			r.next()
			switch {
			case r.off == len(r.src):
			case r.peek() == '\n':
				r.next()
			case strings.IndexByte("$`\"\\", r.peek()) >= 0:
				r.word.WriteByte(r.next())
			default:
				r.word.WriteByte('\\')
			}
		case '$':
			r.dollar(true, true)
		case '`':
			r.problem("a command in backticks is not allowed: %s; write \\` for the character", neverRun)
			r.next()
		default:
			r.word.WriteByte(r.next())
		}
	}
	r.unclosed(line, `"`)
}

func (r *reader) unclosed(line int, mark string) {
	if r.size > maxExpanded {
		return // the rest was not read
	}
	r.failed = true
	r.report(line, "the quote %s that is opened here is never closed", mark)
}
