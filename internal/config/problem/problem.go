// Package problem collects what is wrong with a configuration, so that a user is told all
// of it at once. Pure.
package problem

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/lib/nearest"
	"github.com/org/ralph-action/internal/lib/printable"
)

// Problem is one thing that is wrong with the configuration.
type Problem struct {
	Where string // as the user typed it: "input max-iterations", "flag --branch", ".github/ralph.yml:12: labels"
	Text  string // the bad value, quoted and cut, and what would be right
}

func (p Problem) String() string { return p.Where + ": " + p.Text }

// Problems is everything that is wrong, as an error. It never holds a secret's value,
// and foreign text in it is quoted.
type Problems struct {
	List []Problem
	More int // how many are not in List, because there are too many to read
}

// most bounds the list: a file that is no configuration at all can have one
// problem per line.
const most = 50

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

// List collects problems.
type List struct {
	secrets []string // no message shows them
	found   Problems
}

// NewList returns an empty list, whose messages show none of the secrets.
func NewList(secrets []string) *List { return &List{secrets: Parts(secrets)} }

// Parts are values that no message may show, with their words. Very short ones
// are left out: replacing them would spoil every message and protect nothing.
func Parts(values []string) []string {
	var list []string
	for _, t := range values {
		// A token pasted with something around it is refused, and still not shown.
		for _, part := range append(strings.Fields(t), t) {
			if len(part) >= 4 {
				list = append(list, part)
			}
		}
	}
	// The longest first, so that a part does not break up the whole.
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}

// Report notes a problem. Foreign values among args must have gone through
// Quote; secrets are taken out of the rest here.
func (l *List) Report(where, format string, args ...any) {
	if l.full() {
		l.found.More++
		return
	}
	l.found.List = append(l.found.List, Problem{
		Where: printable.Visible(l.Scrub(where)),
		Text:  l.Scrub(fmt.Sprintf(format, args...)),
	})
}

func (l *List) full() bool { return len(l.found.List) == most }

// Err returns a [*Problems], or nil if nothing was reported.
func (l *List) Err() error {
	if len(l.found.List) == 0 {
		return nil
	}
	return &l.found
}

// Reported reports whether there is a problem of a place.
func (l *List) Reported(where string) bool {
	return slices.ContainsFunc(l.found.List, func(p Problem) bool { return p.Where == where })
}

// Quote shows a foreign value: without secrets, escaped, cut.
func (l *List) Quote(s string) string { return Quote(l.Scrub(s)) }

// Scrub takes the secrets out of a text.
func (l *List) Scrub(s string) string {
	for _, token := range l.secrets {
		s = strings.ReplaceAll(s, token, "***")
	}
	return s
}

// DidYouMean names what was probably meant, as the end of a sentence.
func (l *List) DidYouMean(name string, candidates []string) string {
	if l.full() {
		return "" // nobody will read it, and it is the dear part of a problem
	}
	if near := nearest.Of(name, candidates); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// NameMeant is DidYouMean for the names of inputs and keys, of which a name may be
// one of the words. Where none is near, it says which there are.
func (l *List) NameMeant(name string, candidates []string) string {
	const most = 8 // names in a hint
	if l.full() {
		return ""
	}
	named := nearest.WithWord(name, candidates)
	near := nearest.Of(name, candidates)
	switch {
	case near != "" && (len(named) == 0 || nearest.Distance(nearest.Kebab(name), nearest.Kebab(near)) <= 1):
		return "; did you mean " + near + "?"
	case len(named) > 0 && len(named) <= most:
		return "; did you mean " + OrList(named) + "?"
	case len(candidates) <= most:
		return "; give " + OrList(candidates)
	}
	return "; docs/configuration.md lists all"
}

// OrList is names as a sentence has them: a, b or c.
func OrList(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Lines splits an error into the lines that are shown, one per problem; nil if err
// is nil.
func Lines(err error) []string {
	if err == nil {
		return nil
	}
	var problems *Problems
	if errors.As(err, &problems) {
		out := make([]string, len(problems.List))
		for i, p := range problems.List {
			out[i] = p.String()
		}
		return out
	}
	return strings.Split(err.Error(), "\n")
}

// quoted bounds a foreign value in a message, in runes.
const quoted = 80

// Quote shows a foreign value on one line, escaped and cut.
func Quote(s string) string { return printable.Quote(s, quoted) }
