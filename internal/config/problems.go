package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Problem is one thing that is wrong with the configuration.
type Problem struct {
	Where string // as the user typed it: "input max-iterations", "flag --branch", ".github/ralph.yml:12: labels"
	Text  string // the bad value, quoted and cut, and what would be right
}

func (p Problem) String() string { return p.Where + ": " + p.Text }

// Problems is the error of [Load]: everything that is wrong, at once. It never
// holds a secret's value, and foreign text in it is quoted.
type Problems struct {
	List []Problem
	More int // how many are not in List, because there are too many to read
}

// maxProblems bounds List: a file that is no configuration at all can have one
// problem per line.
const maxProblems = 50

func (p *Problems) Error() string {
	if len(p.List) == 1 {
		return p.List[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d problems with the configuration:", len(p.List)+p.More)
	for _, one := range p.List {
		b.WriteString("\n  " + one.String())
	}
	if p.More > 0 {
		fmt.Fprintf(&b, "\n  and %d more", p.More)
	}
	return b.String()
}

// quoteLimit bounds a foreign value in a message, in runes.
const quoteLimit = 80

// quote shows a foreign value on one line, escaped and cut.
func quote(s string) string {
	runes := 0
	for i := range s {
		if runes == quoteLimit {
			return strconv.Quote(s[:i]) + "…"
		}
		runes++
	}
	return strconv.Quote(s)
}

// visible replaces what does not print, for foreign text that reads better
// without quotes, such as a path.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
