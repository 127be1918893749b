package secretscan

import (
	"cmp"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
)

// formats finds the formats of tokens. A rule is only tried around its words,
// never on a whole content: expressions cost a thousand times what words do.
type formats struct {
	words  *words
	rules  [][]*rule // by word
	byPath []*rule   // rules of names alone
	global allow
}

// rule is one format.
type rule struct {
	ruleSpec
	// assigned: the expression begins with a word, has an assignment and then
	// the secret. It is tried where the word stands, and without what gitleaks
	// allows before the word.
	assigned bool
	reach    func() int // bytes before and after a word that belong to a match
	// follows says cheaply that what comes behind a word may belong to a match.
	follows func(content []byte, at int) bool
	re      func() *regexp.Regexp
	path    func() *regexp.Regexp
	allows  []allow
}

// match is a secret in a content: offsets of bytes.
type formatMatch struct {
	rule     *rule
	from, to int
}

func newRule(spec ruleSpec) *rule {
	r := &rule{ruleSpec: spec}
	expr := spec.Regex
	if rest, ok := strings.CutPrefix(expr, `(?i)[\w.-]{0,50}?(`); ok {
		r.assigned, expr = true, `\A(?:(?i)(`+rest+`)`
	} else if rest, ok := strings.CutPrefix(expr, `[\w.-]{0,50}?(?i:[\w.-]{0,50}?(`); ok {
		r.assigned, expr = true, `\A(?:(?i:(`+rest+`)`
	} else if rest, ok := strings.CutSuffix(expr, gitleaksEnd); ok {
		expr = rest + `(?:[\x60'"\s;,:)>\]}<&|@]|\\[nr]|\z)` // a token in <a>, in (b) or before a comma is one, too
	}
	r.reach = sync.OnceValue(func() int {
		tree, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			return maxReach
		}
		return longest(tree)
	})
	if r.assigned {
		r.follows = assignment
	}
	r.re = compiled(expr)
	r.path = compiled(spec.Path)
	for _, a := range spec.Allowlists {
		r.allows = append(r.allows, newAllow(a))
	}
	return r
}

// gitleaksEnd is what gitleaks wants behind most tokens.
const gitleaksEnd = `(?:[\x60'"\s;]|\\[nr]|$)`

// maxReach is the longest match, in bytes, that is looked for when an expression
// has no bound.
const maxReach = 2048

// compiled compiles when first asked; nil for no expression. The expressions
// are constants of this program.
func compiled(expr string) func() *regexp.Regexp {
	if expr == "" {
		return nil
	}
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// longest is the most bytes that an expression can match, maxReach for no
// bound.
func longest(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		n = 1
	case syntax.OpStar, syntax.OpPlus:
		n = maxReach
	case syntax.OpRepeat:
		if n = maxReach; re.Max >= 0 {
			n = re.Max * longest(re.Sub[0])
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			n = max(n, longest(sub))
		}
	default:
		for _, sub := range re.Sub {
			n += longest(sub)
		}
	}
	return min(n, maxReach)
}

// find gives the secrets in a content, in order. all is false when there was
// more to try than the budget allows, or more to find than is remembered.
func (f *formats) find(path string, content []byte, work *share) (found []formatMatch, all bool) {
	done := map[*rule]int{} // words up to here have been tried
	all = true
	f.words.each(content, func(word, end int) {
		for _, r := range f.rules[word] {
			switch {
			case !all || end <= done[r]:
			case len(found) >= maxMatches:
				all = false
			case r.path != nil && !r.path().MatchString(path):
				done[r] = len(content)
			case r.follows != nil && !r.follows(content, end):
			case r.assigned:
				if all = work.use(assignedWork); !all {
					return
				}
				found, done[r] = f.at(r, path, content, end-len(f.words.texts[word]), found)
			default:
				if all = work.use(min(5*r.reach(), len(content))); !all {
					return
				}
				found, done[r] = f.around(r, path, content, end, found)
			}
		}
	})
	slices.SortStableFunc(found, func(a, b formatMatch) int { return cmp.Compare(a.from, b.from) })
	return found, all
}

const (
	maxMatches   = 1000    // what is remembered of one content
	maxWork      = 2 << 20 // bytes of one content, and half of it, that are given to expressions, which take up to a microsecond for each
	ownWork      = 4 << 10 // bytes, and a quarter of the content, that it need not take of what all share
	assignedWork = 64      // bytes that count for an assignment: most are no match from the first ones on
)

// assignment reports whether a value is given to the name that ends here: blanks and
// the rest of the name, quotes, an operator, and at least eight characters of a
// value. It lets through all that the expressions of gitleaks would match.
func assignment(content []byte, at int) bool {
	i, end := at, min(len(content), at+64)
	for i < end && (isAlnum(content[i]) || strings.IndexByte("_.- \t\r\n\f\v'\"", content[i]) >= 0) {
		i++
	}
	if i == end || strings.IndexByte("=>:|?,", content[i]) < 0 {
		return false
	}
	for i < end && strings.IndexByte("=>:|?,`'\" \t\r\n\f\v", content[i]) >= 0 {
		i++
	}
	from := i
	for i < len(content) && i < from+8 && (isAlnum(content[i]) || strings.IndexByte("_-.=+/:~%\\", content[i]) >= 0) {
		i++
	}
	return i-from >= 8
}

// token reports whether at least n characters of a token come next.
func token(n int) func([]byte, int) bool {
	return func(content []byte, at int) bool {
		if at+n > len(content) {
			return false
		}
		for _, b := range content[at : at+n] {
			if !isBase64(b) && b != '.' && b != '=' && b != '\\' {
				return false
			}
		}
		return true
	}
}

// userInfo reports whether a colon and then an @ follow before the address's host ends.
func userInfo(content []byte, at int) bool {
	colon := false
	for _, b := range content[at:min(len(content), at+400)] {
		switch {
		case b == ':':
			colon = true
		case b == '@':
			return colon
		case b <= ' ' || b == '/' || b == '"' || b == '\'' || b == '<' || b == '>' || b == '`':
			return false
		}
	}
	return false
}

// at tries a rule of an assignment where its word begins. It gives the matches
// with the new one, and up to where words need not be tried again.
func (f *formats) at(r *rule, path string, content []byte, start int, all []formatMatch) ([]formatMatch, int) {
	text := content[start:min(len(content), start+512)]
	groups := r.re().FindSubmatchIndex(text)
	if groups == nil {
		return all, start
	}
	if from, to, ok := f.judge(r, path, content, start, groups); ok {
		return append(all, formatMatch{r, from, to}), to
	}
	return all, start
}

// around tries a rule around a word, and so far behind it that words that
// follow closely need no search of their own.
func (f *formats) around(r *rule, path string, content []byte, end int, all []formatMatch) ([]formatMatch, int) {
	reach := r.reach()
	from, to := max(0, end-reach-2), min(len(content), end+4*reach)
	for at := from; at < to && len(all) < maxMatches; {
		groups := r.re().FindSubmatchIndex(content[at:to])
		if groups == nil {
			break
		}
		if groups[0] == 0 && at > 0 && isWord(content[at-1]) && isWord(content[at]) || groups[1] == groups[0] {
			at += groups[0] + 1 // the beginning of the match is cut off
			continue
		}
		first, behind, ok := f.judge(r, path, content, at, groups)
		if cut := at+groups[1] == to && to < len(content); ok && (!cut || reach >= maxReach) {
			if !slices.ContainsFunc(all, func(m formatMatch) bool { return m.rule == r && m.from == first }) {
				all = append(all, formatMatch{r, first, behind})
			}
		}
		at += groups[1]
	}
	return all, end + 3*reach
}

func isWord(b byte) bool { return isAlnum(b) || b == '_' }
