package trigger

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

var (
	// fenceOpen is the beginning of a block of code, also one in a list.
	fenceOpen  = lazyregexp.New("^[ \t]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*(`{3,}|~{3,})(.*)$")
	fenceClose = lazyregexp.New("^[ \t]*(`{3,}|~{3,})[ \t]*$")
)

// find looks for a command in a comment, and returns what follows it up to the
// next one. A command begins a line, in any case, with up to three spaces in
// front of it, and ends with white space or the line. In quotations and in code
// it does not count.
func find(text, command string) (request string, found bool) {
	var kept []string
	var in code
	for line := range strings.SplitSeq(text, "\n") {
		if plain := in.next(line); plain {
			if rest, is := cutCommand(line, command); is {
				if found {
					break
				}
				found, kept = true, append(kept, rest)
				continue
			}
		}
		if found {
			kept = append(kept, line)
		}
	}
	return strings.TrimSpace(strings.Join(kept, "\n")), found
}

// code follows the blocks of code of a text.
type code struct {
	fence string // that opened the block we are in
	pre   bool   // in <pre>
}

// next takes a line, and says whether it can hold a command: it is neither code
// nor quoted.
func (c *code) next(line string) bool {
	lower := strings.ToLower(strings.TrimLeft(line, " \t"))
	switch {
	case c.fence != "":
		if m := fenceClose.FindStringSubmatch(line); m != nil && m[1][0] == c.fence[0] && len(m[1]) >= len(c.fence) {
			c.fence = ""
		}
		return false
	case c.pre:
		c.pre = !strings.Contains(lower, "</pre")
		return false
	case strings.HasPrefix(lower, ">"):
		return false
	case strings.HasPrefix(lower, "<pre"):
		c.pre = !strings.Contains(lower, "</pre")
		return false
	}
	if m := fenceOpen.FindStringSubmatch(line); m != nil && (m[1][0] == '~' || !strings.Contains(m[2], "`")) {
		c.fence = m[1]
		return false
	}
	return true
}

// cutCommand takes the command off a line that begins with it.
func cutCommand(line, command string) (rest string, is bool) {
	trimmed := strings.TrimLeft(line, " ")
	if len(line)-len(trimmed) > 3 || len(trimmed) < len(command) || !strings.EqualFold(trimmed[:len(command)], command) {
		return "", false
	}
	rest = trimmed[len(command):]
	if next, _ := utf8.DecodeRuneInString(rest); rest != "" && !unicode.IsSpace(next) {
		return "", false
	}
	return rest, true
}
