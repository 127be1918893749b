package secretscan

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// allow is a list of what a rule, or every rule, lets pass.
type allow struct {
	all       bool // every kind of condition has to hold
	target    string
	paths     func() *regexp.Regexp
	regexes   func() *regexp.Regexp
	stopWords []string
}

func newAllow(spec ruleAllow) allow {
	a := allow{all: strings.EqualFold(spec.Condition, "AND"), target: spec.RegexTarget}
	a.paths = compiled(anyOf(spec.Paths))
	a.regexes = compiled(anyOf(spec.Regexes))
	for _, w := range spec.StopWords {
		a.stopWords = append(a.stopWords, strings.ToLower(w))
	}
	return a
}

func anyOf(exprs []string) string {
	if len(exprs) == 0 {
		return ""
	}
	return "(?:" + strings.Join(exprs, ")|(?:") + ")"
}

// lets says that the list lets a finding pass, as gitleaks decides it.
func (a *allow) lets(path string, secret, matched, line []byte) bool {
	asked, held := 0, 0
	test := func(is bool) {
		asked++
		if is {
			held++
		}
	}
	if a.paths != nil {
		test(a.paths().MatchString(path))
	}
	if a.regexes != nil {
		text := secret
		switch a.target {
		case "match":
			text = matched
		case "line":
			text = line
		}
		test(a.regexes().Match(text))
	}
	if a.stopWords != nil {
		lower := strings.ToLower(string(secret))
		test(slices.ContainsFunc(a.stopWords, func(word string) bool { return strings.Contains(lower, word) }))
	}
	return held > 0 && (!a.all || held == asked)
}

// judge decides about a match of a rule's expression that begins at base: the
// part of it that is the secret, and whether it counts.
func (f *formats) judge(r *rule, path string, content []byte, base int, groups []int) (from, to int, ok bool) {
	from, to = base+groups[0], base+groups[1]
	first, last := from, to
	if r.SecretGroup > 0 && 2*r.SecretGroup+1 < len(groups) {
		first, last = base+groups[2*r.SecretGroup], base+groups[2*r.SecretGroup+1]
	} else if r.SecretGroup == 0 {
		for g := 2; g+1 < len(groups); g += 2 {
			if groups[g] >= 0 && groups[g+1] > groups[g] {
				first, last = base+groups[g], base+groups[g+1]
				break
			}
		}
	}
	secret := content[first:last]
	if r.Entropy > 0 && entropy(string(secret)) <= r.Entropy {
		return 0, 0, false
	}
	for r.assigned && from > 0 && from > base+groups[0]-50 && (isWord(content[from-1]) || content[from-1] == '.' || content[from-1] == '-') {
		from-- // what gitleaks takes into the match before the word
	}
	line := lineAround(content, first, last)
	for i := range r.allows {
		if r.allows[i].lets(path, secret, content[from:to], line) {
			return 0, 0, false
		}
	}
	if f.global.lets(path, secret, content[from:to], line) {
		return 0, 0, false
	}
	return first, last, true
}

// lineAround is the line that a stretch stands in, at most 1 KiB to each side.
func lineAround(content []byte, from, to int) []byte {
	const most = 1 << 10
	before, behind := max(0, from-most), min(len(content), to+most)
	if i := bytes.LastIndexByte(content[before:from], '\n'); i >= 0 {
		before += i + 1
	}
	if i := bytes.IndexByte(content[to:behind], '\n'); i >= 0 {
		behind = to + i
	}
	return content[before:behind]
}
