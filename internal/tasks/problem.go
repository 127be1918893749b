package tasks

import (
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/lib/printable"
)

// Kind says which check found a problem.
type Kind int

// The checks, in their order.
const (
	Schema     Kind = iota + 1 // it is no task list: syntax, fields, types, ids, dependsOn
	Invariant                  // the state of a story contradicts itself
	Transition                 // the iteration may not have changed that
	Stuck                      // a review iteration reviewed nothing; there is nothing to put back
	Naming                     // branchName is no name of a branch
	Unfinished                 // a warning: somebody should fill that in, or spell it right
)

// Problem is one thing that is wrong with a task list. Foreign text in it is
// escaped and cut.
type Problem struct {
	Kind   Kind
	Line   int    // from 1; 0: no place in the file
	Column int    // from 1, in characters
	Story  string // the story's id as it is shown; "": none
	Text   string

	index int      // in List.Stories; -1: none
	reset []string // the fields that repair puts back
}

// String is the problem as a compiler would say it: "12:5: text".
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Text
	}
	return fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Text)
}

// Problems is the error of [Read]: everything that is wrong, in the order of
// the file.
type Problems struct {
	List []Problem
	More int // how many are not in List, because there are too many to read

	limit int // of List; 0: maxProblems
}

// maxProblems bounds what is listed of a file that is wrong throughout.
const maxProblems = 50

func (p *Problems) Error() string {
	if len(p.List) == 1 && p.More == 0 {
		return p.List[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d problems:", len(p.List)+p.More)
	for _, one := range p.List {
		b.WriteString("\n  " + one.String())
	}
	if p.More > 0 {
		fmt.Fprintf(&b, "\n  and %d more", p.More)
	}
	return b.String()
}

func (p *Problems) add(one Problem) {
	if len(p.List) == max(maxProblems, p.limit) {
		p.More++
		return
	}
	p.List = append(p.List, one)
}

// maxQuote bounds foreign text in a message, in runes.
const maxQuote = 80

// Quote shows foreign text on one line, escaped and cut.
func Quote(s string) string { return printable.Quote(s, maxQuote) }

// Visible shows foreign text that reads better without quotes, such as an id.
func Visible(s string) string { return printable.Visible(printable.Cut(s, maxQuote)) }

// some joins the first words of a list as they are to be shown, and says how
// many are left out.
func some(all []string, show func(string) string) string {
	const most = 10
	var b strings.Builder
	for i, word := range all[:min(len(all), most)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(show(word))
	}
	if n := len(all) - most; n > 0 {
		fmt.Fprintf(&b, " and %d more", n)
	}
	return b.String()
}
