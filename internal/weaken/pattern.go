package weaken

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// pattern is a regular expression that is looked for in many lines and found in
// few. What it says of itself is derived from its syntax.
type pattern struct {
	*regexp.Regexp
	// words are texts of which every match holds one, whatever its case; none:
	// not known.
	words []string
	// reach is how many lines that are not blank a match goes on over, beyond one;
	// -1: not known, or the pattern asks where the text ends.
	reach int
}

func re(s string) *pattern {
	p := &pattern{Regexp: regexp.MustCompile(s), reach: -1}
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return p
	}
	f := wordsOf(tree)
	if words := better(f.exact, f.need); usable(words) {
		p.words, p.reach = words, reach(tree)
		if f.folds { // (?i)s is a long s, too, and (?i)k the sign of Kelvin
			p.words = append(p.words, "\u017f", "\u212a")
		}
	}
	return p
}

// maxWords bounds the words of a pattern.
const maxWords = 48

// found is what is known of the matches of an expression. Words are in small
// letters.
type found struct {
	exact []string // all that it matches; nil: too much
	need  []string // one of these is in each match; nil: not known
	folds bool     // a letter that stands for one beyond ASCII, too
}

func wordsOf(re *syntax.Regexp) found {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return found{exact: []string{""}}
	case syntax.OpLiteral:
		word := strings.ToLower(string(re.Rune))
		for _, r := range re.Rune {
			if r >= utf8.RuneSelf || r == '\n' {
				return found{}
			}
		}
		return found{exact: []string{word}, folds: re.Flags&syntax.FoldCase != 0 && strings.ContainsAny(word, "ks")}
	case syntax.OpCharClass:
		return found{exact: letters(re.Rune)}
	case syntax.OpCapture:
		return wordsOf(re.Sub[0])
	case syntax.OpQuest:
		f := wordsOf(re.Sub[0])
		if f.exact != nil {
			f.exact = append(f.exact, "")
		}
		f.need = nil
		return f
	case syntax.OpPlus, syntax.OpRepeat:
		f := wordsOf(re.Sub[0])
		if re.Op == syntax.OpRepeat && re.Min == 0 {
			return found{folds: f.folds}
		}
		return found{need: better(f.exact, f.need), folds: f.folds}
	case syntax.OpAlternate:
		return alternatives(re.Sub)
	case syntax.OpConcat:
		return sequence(re.Sub)
	}
	return found{}
}

// letters are those of a small class of ASCII.
func letters(ranges []rune) []string {
	var all []string
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if r >= utf8.RuneSelf || r == '\n' || len(all) == 8 {
				return nil
			}
			all = append(all, strings.ToLower(string(r)))
		}
	}
	return all
}

// alternatives: one of them is matched.
func alternatives(list []*syntax.Regexp) found {
	f := found{exact: []string{}, need: []string{}}
	for _, sub := range list {
		s := wordsOf(sub)
		f.folds = f.folds || s.folds
		one := better(s.exact, s.need)
		if f.need != nil && usable(one) && len(f.need)+len(one) <= maxWords {
			f.need = append(f.need, one...)
		} else {
			f.need = nil
		}
		if f.exact != nil && s.exact != nil && len(f.exact)+len(s.exact) <= maxWords {
			f.exact = append(f.exact, s.exact...)
		} else {
			f.exact = nil
		}
	}
	return f
}

// sequence: all of them are matched, one behind the other.
func sequence(list []*syntax.Regexp) found {
	run := []string{""} // all that the last ones match
	whole := true
	var f found
	for _, sub := range list {
		s := wordsOf(sub)
		f.folds = f.folds || s.folds
		if s.exact != nil && len(run)*len(s.exact) <= maxWords {
			run = product(run, s.exact)
			continue
		}
		whole = false
		f.need = better(f.need, better(run, better(s.exact, s.need)))
		if run = []string{""}; s.exact != nil {
			run = s.exact
		}
	}
	if whole {
		f.exact = run
		return f
	}
	f.need = better(f.need, run)
	return f
}

func product(a, b []string) []string {
	var all []string
	for _, x := range a {
		for _, y := range b {
			all = append(all, x+y)
		}
	}
	return all
}

// better is the list whose shortest word is longer.
func better(a, b []string) []string {
	switch x, y := shortest(a), shortest(b); {
	case x > y, x == y && len(a) <= len(b):
		return a
	}
	return b
}

func shortest(words []string) int {
	if len(words) == 0 {
		return -1
	}
	n := len(words[0])
	for _, w := range words {
		n = min(n, len(w))
	}
	return n
}

func usable(words []string) bool { return shortest(words) > 0 }

// reach is how many line ends a match may hold, white space of any length
// counted once; -1 when there is no bound, or when the ends of a text are asked
// for, which are not those of its lines.
func reach(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpBeginText, syntax.OpEndText:
		return -1
	case syntax.OpLiteral:
		return strings.Count(string(re.Rune), "\n")
	case syntax.OpAnyChar:
		return 1
	case syntax.OpCharClass:
		if includes(re.Rune, '\n') {
			return 1
		}
		return 0
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		n := reach(re.Sub[0])
		switch {
		case n <= 0:
			return n
		case re.Sub[0].Op == syntax.OpCharClass && onlySpace(re.Sub[0].Rune):
			return 1
		case re.Op == syntax.OpRepeat && re.Max >= 0:
			return n * re.Max
		}
		return -1
	}
	n := 0
	for _, sub := range re.Sub {
		m := reach(sub)
		switch {
		case m < 0:
			return -1
		case re.Op == syntax.OpAlternate:
			n = max(n, m)
		default:
			n += m
		}
	}
	return n
}

func includes(ranges []rune, r rune) bool {
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i] <= r && r <= ranges[i+1] {
			return true
		}
	}
	return false
}

// onlySpace says that a class has nothing that makes a line count as not blank.
func onlySpace(ranges []rune) bool {
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if r >= utf8.RuneSelf || !isBlank(byte(r)) {
				return false
			}
		}
	}
	return true
}

// isBlank says that a byte is one of \s.
func isBlank(b byte) bool { return isSpace(b) || b == '\f' }
