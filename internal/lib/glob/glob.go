// Package glob is patterns of paths with slashes, and whether two of them could mean the
// same path. It is pure.
package glob

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// deep is the part of a pattern that is any number of folders, also none.
const deep = "**"

// Pattern is a checked pattern. In a part *, ? and [] are as in [path.Match]; a part
// that is ** is any number of folders. What lies below a path that is meant is meant, too.
type Pattern struct{ parts []string }

// Parse reads a pattern.
func Parse(s string) (Pattern, error) {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) {
		return Pattern{}, errors.New("it has control characters")
	}
	parts := strings.Split(strings.TrimSuffix(s, "/"), "/")
	for _, part := range parts {
		switch _, err := path.Match(part, ""); {
		case part == "" || part == "." || part == "..":
			return Pattern{}, errors.New("give a path from the top of the repository, such as src/auth/**, in which no part is empty, a dot or two")
		case strings.Contains(part, deep) && part != deep:
			return Pattern{}, fmt.Errorf("** has to be a whole part, as in src/**/x, not %q", part)
		case err != nil:
			return Pattern{}, fmt.Errorf("%q is no pattern: close [ with ], and let no \\ stand at the end", part)
		}
	}
	for len(parts) > 1 && parts[len(parts)-1] == deep {
		parts = parts[:len(parts)-1] // as all that is below is meant anyway
	}
	return Pattern{parts}, nil
}

// Match reports whether a path is meant.
func (p Pattern) Match(name string) bool {
	names := strings.Split(name, "/")
	return walk(len(p.parts), len(names), func(i, j int) step {
		switch {
		case i == len(p.parts):
			return arrived // what is left of the name is below
		case p.parts[i] == deep:
			return either
		case j == len(names):
			return nowhere
		}
		ok, err := path.Match(p.parts[i], names[j])
		return when(ok && err == nil)
	})
}

// Overlaps reports whether both patterns could mean one path. It may say so of two that
// do not, where both have a [] at the same place.
func (p Pattern) Overlaps(q Pattern) bool {
	return walk(len(p.parts), len(q.parts), func(i, j int) step {
		switch {
		case i == len(p.parts), j == len(q.parts):
			return arrived // what is left of the other one is below
		case p.parts[i] == deep, q.parts[j] == deep:
			return either
		}
		a, b := p.parts[i], q.parts[j]
		return when(a == b || (!fixed(a) || !fixed(b)) && overlap(letters(a), letters(b)))
	})
}

// Fixed is the first parts of the pattern, up to one with a wildcard.
func (p Pattern) Fixed() []string {
	for i, part := range p.parts {
		if !fixed(part) {
			return p.parts[:i]
		}
	}
	return p.parts
}

// fixed reports whether a part stands for one name.
func fixed(part string) bool { return !strings.ContainsAny(part, `*?[\`) }

// overlap reports whether two parts, as letters, could mean the same name.
func overlap(a, b []string) bool {
	return walk(len(a), len(b), func(i, j int) step {
		switch {
		case i == len(a) && j == len(b):
			return arrived
		case i < len(a) && a[i] == "*", j < len(b) && b[j] == "*":
			return either
		case i == len(a), j == len(b):
			return nowhere
		}
		one, _ := path.Match(a[i], strings.TrimPrefix(b[j], `\`))
		other, _ := path.Match(b[j], strings.TrimPrefix(a[i], `\`))
		return when(one || other || a[i][0] == '[' && b[j][0] == '[')
	})
}

// letters are what stands for a letter, or is *, in a part.
func letters(part string) (all []string) {
	for part != "" {
		_, n := utf8.DecodeRuneInString(part)
		switch part[0] {
		case '\\':
			_, more := utf8.DecodeRuneInString(part[1:])
			n += more
		case '[':
			for part[n] != ']' { // there is one: it was checked
				if part[n] == '\\' {
					n++
				}
				n++
			}
			n++
		}
		all, part = append(all, part[:n]), part[n:]
	}
	return all
}

// step is where a walk may go on.
type step int

const (
	nowhere step = iota
	arrived
	both   // one further in both
	either // one further in one of them
)

func when(ok bool) step {
	if ok {
		return both
	}
	return nowhere
}

// walk reports whether two sequences can be laid on each other.
func walk(n, m int, next func(i, j int) step) bool {
	reached := make([]bool, (n+2)*(m+2))
	reached[0] = true
	for i := range n + 1 {
		for j := range m + 1 {
			if !reached[i*(m+2)+j] {
				continue
			}
			switch next(i, j) {
			case arrived:
				return true
			case both:
				reached[(i+1)*(m+2)+j+1] = true
			case either:
				reached[(i+1)*(m+2)+j] = true
				reached[i*(m+2)+j+1] = true
			}
		}
	}
	return false
}
