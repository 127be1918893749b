package trigger

import (
	"strings"

	"github.com/org/ralph-action/internal/lazyregexp"
)

// unseen is markup that a parser of HTML takes for a comment: processing
// instructions, declarations, CDATA, ends of no tag. It ends with the first >,
// or hides all the rest (HTML standard, "bogus comment state").
var unseen = lazyregexp.New(`<(?:[?!]|/[^a-zA-Z])[^>]*(?:>|\z)`)

// markup takes out what a parser of HTML takes for comments, but for what is
// certainly code, where a page shows it. Below the first one that is taken out
// nothing is certain: it may have opened a block that goes on.
func (c *cleaned) markup(text string) string {
	if !unseen.MatchString(text) {
		return text
	}
	var b blocks
	at := 0
	for line := range strings.Lines(text) {
		if !b.next(line) {
			if i := b.bare(line); i >= 0 {
				at += i
				break
			}
		}
		at += len(line)
	}
	return text[:at] + unseen.ReplaceAllStringFunc(text[at:], func(string) string {
		c.remarks++
		return " "
	})
}

// blocks follows the blocks of code of a text that every page shows as such. In
// doubt a line is none: a command has it the other way around (see code).
type blocks struct {
	fence  string // that opened the block we are in
	indent int    // of that fence
	html   bool   // a block of HTML may go on, up to an empty line
	doubt  bool   // a row of backticks may mean something else, up to an empty line
	lost   bool   // for the rest of the text
}

var (
	sureFence = lazyregexp.New("^ {0,3}(`{3,}|~{3,})(.*)")
	htmlBlock = lazyregexp.New(`^[ \t]*(?:(?:[-*+>]|[0-9]{1,9}[.)])[ \t]*)*<`)
	rawBlock  = lazyregexp.New(`(?i)^[ \t]*(?:(?:[-*+>]|[0-9]{1,9}[.)])[ \t]*)*<(?:pre|script|style|textarea)`)
)

// next takes a line, and says whether it is certainly code.
func (b *blocks) next(line string) bool {
	line = strings.TrimRight(line, "\n")
	indent := len(line) - len(strings.TrimLeft(line, " "))
	blank := strings.TrimSpace(line) == ""
	if b.fence != "" {
		m := fenceClose.FindStringSubmatch(line)
		closes := m != nil && m[1][0] == b.fence[0] && len(m[1]) >= len(b.fence)
		switch {
		case blank, !closes && indent >= b.indent, closes && b.indent == 0 && indent > 3:
			return true
		case closes && indent >= b.indent && indent <= 3:
			b.fence = ""
			return true
		}
		// A list that held the block may have ended, and the block with it.
		b.fence, b.lost = "", true
		return false
	}
	if blank {
		b.html, b.doubt = false, false
	}
	if b.lost {
		return false
	}
	m := sureFence.FindStringSubmatch(line)
	switch {
	case rawBlock.MatchString(line):
		b.lost = true
	case htmlBlock.MatchString(line):
		b.html = true
	case m != nil && !b.html && (m[1][0] == '~' || !strings.Contains(m[2], "`")):
		b.fence, b.indent, b.doubt = m[1], indent, false
		return true
	}
	return false
}

// bare is where markup begins in a line that is neither in a block of code nor
// between backticks; -1: nowhere.
func (b *blocks) bare(line string) int {
	for i := 0; i < len(line); i++ {
		sure := !b.html && !b.doubt && !b.lost
		switch rest := line[i:]; {
		case rest[0] == '\\' && sure:
			i++
		case rest[0] == '`':
			row := rest[:len(rest)-len(strings.TrimLeft(rest, "`"))]
			i += len(row) - 1
			if sure {
				end := closing(rest[len(row):], row)
				b.doubt = end < 0
				i += max(end, 0)
			}
		case rest[0] == '<' && unseenAt(rest):
			return i
		case rest[0] == '<' && len(rest) > 1 && rest[1] != ' ', strings.HasPrefix(rest, "]("):
			b.doubt = true
		}
	}
	return -1
}

// unseenAt says that a text begins with markup that is not seen.
func unseenAt(text string) bool {
	at := unseen.FindStringIndex(text[:min(len(text), 3)])
	return at != nil && at[0] == 0
}

// closing is where the code ends that a row of backticks began, behind the row
// that ends it; -1: not in this line, or in another cell of a table.
func closing(text, row string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '|':
			return -1
		case '`':
			n := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
			if i += n; n == len(row) {
				return i
			}
			i--
		}
	}
	return -1
}

const container = `^(?:[ \t>]|[-*+][ \t]|[0-9]{1,9}[.)][ \t])*`

var (
	// definition is that of a link: label, address, title. No page shows it.
	definition = lazyregexp.New(`(?m)` + container + `\[((?:[^\[\]\\^]|\\.)(?:[^\[\]\\]|\\.)*)\]:[ \t]*\n?[ \t]*(<[^<>\n]*>|[^\s<]\S*)` +
		`([ \t]*\n?[ \t]*(?:"[^"]*"|'[^']*'|\((?:[^()]|\([^()]*\))*\)))?[ \t]*$`)
	reference = lazyregexp.New(`\[([^\[\]]+)\]`)
	// footnote begins a note, which a page shows when something refers to it.
	footnote = lazyregexp.New(container + `\[\^([^\]\s]+)\]:`)
)

// definitions takes out the definitions of links that nothing refers to, and the
// titles of the others: texts that no page shows.
func (c *cleaned) definitions(text string) string {
	if !strings.Contains(text, "]:") {
		return text
	}
	used := map[string]bool{}
	for _, m := range reference.FindAllStringSubmatch(definition.ReplaceAllString(text, ""), -1) {
		used[label(m[1])] = true
	}
	return outside(text, func(text string) string {
		return definition.ReplaceAllStringFunc(text, func(whole string) string {
			m := definition.FindStringSubmatch(whole)
			address := strings.Trim(m[2], "<>")
			switch {
			case !used[label(m[1])], address == "" || address[0] == '#' && m[3] != "", strings.ContainsAny(address, " \t"):
				c.remarks++
				return ""
			case m[3] != "":
				c.remarks++
				return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(whole, " \t"), m[3]), " \t\n")
			}
			return whole
		})
	})
}

// label is how labels of links are compared.
func label(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// outside changes the parts of a text that are not certainly code.
func outside(text string, change func(string) string) string {
	var out, part strings.Builder
	var b blocks
	for line := range strings.Lines(text) {
		if !b.next(line) {
			part.WriteString(line)
			continue
		}
		out.WriteString(change(part.String()))
		out.WriteString(line)
		part.Reset()
	}
	return out.String() + change(part.String())
}

// footnotes takes out notes that nothing refers to. A reference in a line with
// code or HTML may be none, and one in another note is none.
func (c *cleaned) footnotes(text string) string {
	if !strings.Contains(text, "[^") {
		return text
	}
	var kept strings.Builder
	used := map[string]bool{}
	for note, line := range notes(text) {
		if note == "" && !strings.ContainsAny(line, "`<\\") && !strings.HasPrefix(line, "    ") {
			for _, m := range reference.FindAllStringSubmatch(line, -1) {
				used[label(m[1])] = true
			}
		}
	}
	last := ""
	for note, line := range notes(text) {
		if note == "" || used["^"+label(note)] {
			kept.WriteString(line)
		} else if note != last {
			c.remarks++
			kept.WriteByte('\n')
		}
		last = note
	}
	return kept.String()
}

// notes are the lines of a text, each with the name of the footnote it belongs
// to: the lines up to an empty one, and what is indented below it.
func notes(text string) func(yield func(note, line string) bool) {
	return func(yield func(note, line string) bool) {
		var b blocks
		note, gap := "", false
		for line := range strings.Lines(text) {
			sure := b.next(line)
			m := footnote.FindStringSubmatch(line)
			switch blank := strings.TrimSpace(line) == ""; {
			case m != nil && !sure:
				note, gap = m[1], false
			case blank:
				gap = true
			case gap && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "\t"), sure:
				note, gap = "", false
			default:
				gap = false
			}
			if !yield(note, line) {
				return
			}
		}
	}
}
