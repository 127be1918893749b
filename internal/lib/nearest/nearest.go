// Package nearest finds the name that was probably meant by a misspelled one.
package nearest

import (
	"strings"
	"unicode"
)

// Of is the candidate that was probably meant by name, or "" when none is
// close. Case, underscores and camelCase do not count as distance; among equals
// the one whose length is nearer wins.
func Of(name string, candidates []string) string {
	if len(name) > 64 {
		return ""
	}
	best, least, spelled := "", max(2, len(name)/3)+1, Kebab(name)
	for _, c := range candidates {
		if c == "off" && spelled == "on" {
			continue // its opposite
		}
		d := Distance(spelled, Kebab(c))
		if d < least || d == least && best != "" && abs(len(c)-len(name)) < abs(len(best)-len(name)) {
			best, least = c, d
		}
	}
	return best
}

// WithWord are the candidates that a name is one of the words of, in the singular or
// the plural: a timeout may be any of those that there are.
func WithWord(name string, candidates []string) []string {
	name = singular(Kebab(name))
	if len(name) < 3 {
		return nil
	}
	var found []string
	for _, c := range candidates {
		for word := range strings.SplitSeq(Kebab(c), "-") {
			if singular(word) == name {
				found = append(found, c)
				break
			}
		}
	}
	return found
}

// singular is a word of which the plural means the same.
func singular(word string) string {
	if stem, plural := strings.CutSuffix(word, "ies"); plural {
		return stem + "y"
	}
	return strings.TrimSuffix(word, "s")
}

func abs(n int) int { return max(n, -n) }

// Kebab spells maxIterations and max_iterations as max-iterations.
func Kebab(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 8) // hyphens
	lower := false
	for _, r := range s {
		switch {
		case r == '_' || r == ' ':
			r = '-'
		case unicode.IsUpper(r) && lower:
			b.WriteByte('-')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Distance is the number of runes to insert, delete, replace or swap with
// their neighbour to turn a into b.
func Distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, last, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(t)]
}
