package content

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	maxPatterns     = 2000
	maxPatternBytes = 1000
)

// Patterns pick paths as a .gitignore does (gitignore(5)): a pattern without a
// slash, or with one at its end alone, means a name at any depth; with another
// slash it begins at the top; `**` stands for any number of directories; `!` takes back
// what an earlier one picked, and the last one that fits decides. Three things are
// different, because a .gitignore is not made to protect:
//
//   - A slash at the end does not ask for a directory: what stands in its place, a
//     link for instance, is picked, too.
//   - `!` also works below a directory that is picked.
//   - Paths are compared as the most careless of file systems does: without regard to
//     case, to how a letter is composed, to characters that cannot be seen, to dots and
//     spaces at the end of a name, and to what follows a colon. A tree may hold
//     .GitHub/Workflows, and a Mac that checks it out has changed .github/workflows.
//
// The zero Patterns pick nothing.
type Patterns struct{ list []pattern }

type pattern struct {
	text   string   // as it was written
	parts  []string // between slashes, folded
	negate bool
}

// Parse reads patterns. Empty ones and comments (#) are passed over. An error
// names the one that is wrong.
func Parse(patterns []string) (Patterns, error) {
	var p Patterns
	if len(patterns) > maxPatterns {
		return p, fmt.Errorf("%d patterns, more than %d", len(patterns), maxPatterns)
	}
	for _, text := range patterns {
		one, err := parse(text)
		if err != nil {
			return Patterns{}, fmt.Errorf("pattern %.100q: %w", text, err)
		}
		if len(one.parts) > 0 {
			p.list = append(p.list, one)
		}
	}
	return p, nil
}

func parse(text string) (pattern, error) {
	s := strings.TrimSpace(text)
	if len(s) > maxPatternBytes {
		return pattern{}, fmt.Errorf("it has more than %d bytes", maxPatternBytes)
	}
	one := pattern{text: s}
	if strings.HasPrefix(s, "#") {
		return one, nil
	}
	s, one.negate = strings.CutPrefix(s, "!")
	s = strings.TrimRight(s, "/")
	if s == "" {
		if one.text != "" {
			return one, errors.New("it names nothing: use ** for everything")
		}
		return one, nil
	}
	if strings.Contains(s, "[:") {
		return one, errors.New("classes such as [:alpha:] are not understood: write [a-z]")
	}
	anchored := strings.Contains(s, "/")
	s = strings.TrimPrefix(s, "/")
	if !anchored {
		s = "**/" + s
	}
	for _, part := range strings.Split(s, "/") {
		switch part {
		case "":
			return one, errors.New("two slashes in a row: use one")
		case ".", "..":
			return one, fmt.Errorf("paths begin at the top of the repository and hold no %q", part)
		}
		if part != "**" {
			part = fold(strings.ReplaceAll(part, "[!", "[^"))
			if _, err := path.Match(part, ""); err != nil {
				return one, errors.New("a bracket is not closed, or a backslash stands at the end")
			}
		} else if n := len(one.parts); n > 0 && one.parts[n-1] == "**" {
			continue
		}
		one.parts = append(one.parts, part)
	}
	return one, nil
}

// Match returns the pattern that picks a path, or a directory above it, as it was
// written; empty if none does. A path is slash-separated, from the top.
func (p Patterns) Match(name string) string {
	if len(p.list) == 0 || name == "" {
		return ""
	}
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = fold(plain(part))
	}
	for i := len(p.list) - 1; i >= 0; i-- {
		if p.list[i].covers(parts) {
			if p.list[i].negate {
				return ""
			}
			return p.list[i].text
		}
	}
	return ""
}

// covers reports whether a pattern fits a path or a directory above it. reach holds, for
// the parts of the pattern so far, after how many parts of the path it can be.
func (p pattern) covers(name []string) bool {
	reach := make([]bool, len(name)+1)
	reach[0] = true
	for _, part := range p.parts {
		next := make([]bool, len(name)+1)
		any := false
		for i, ok := range reach {
			if !ok {
				continue
			}
			if part == "**" {
				for j := i; j <= len(name); j++ {
					next[j] = true
				}
				any = true
				break
			}
			if i == len(name) {
				continue
			}
			if fits, err := path.Match(part, name[i]); fits && err == nil {
				next[i+1], any = true, true
			}
		}
		if !any {
			return false
		}
		reach = next
	}
	// Whatever is left of the path lies below. A pattern is no name for the top itself.
	for _, ok := range reach[1:] {
		if ok {
			return true
		}
	}
	return false
}

// plain is a name without what a careless file system drops: trailing dots and
// spaces, and a stream's name (Windows).
func plain(name string) string {
	if file, _, ok := strings.Cut(name, ":"); ok && file != "" {
		name = file
	}
	if short := strings.TrimRight(name, ". "); short != "" {
		return short
	}
	return name
}

// fold makes equal what a careless file system takes for equal.
func fold(s string) string {
	ascii := true
	for i := range len(s) {
		ascii = ascii && s[i] < 0x80
	}
	if ascii {
		return strings.ToLower(s)
	}
	s = strings.Map(func(c rune) rune {
		if invisible(c) {
			return -1
		}
		return smallest(c)
	}, norm.NFC.String(s))
	return norm.NFC.String(s)
}

// smallest is the letter that stands for all that differ from it in case alone.
func smallest(c rune) rune {
	best := c
	for f := unicode.SimpleFold(c); f != c; f = unicode.SimpleFold(f) {
		best = min(best, f)
	}
	return unicode.ToLower(best)
}

// invisible are the characters that HFS+ leaves out when it compares names
// (git's utf8.c, next_hfs_char).
func invisible(c rune) bool {
	return c >= 0x200c && c <= 0x200f || c >= 0x202a && c <= 0x202e || c >= 0x206a && c <= 0x206f || c == 0xfeff
}
