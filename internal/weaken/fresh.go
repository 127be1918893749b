package weaken

import (
	"bytes"
	"slices"
	"strings"
)

// fresh lists where a pattern stands in the new text, as often as it stands
// there more often than in the old; lines that were there before are not it.
func fresh(re *pattern, t *tested, inText bool) []int {
	was, is := t.find(re, t.old, inText), t.find(re, t.now, inText)
	more := len(is) - len(was)
	if more <= 0 {
		return nil
	}
	lines, owned := map[string]int{}, map[string]int{}
	of := func(s *source, list []testCase, m []int) string {
		if i := owner(list, m[1]-1); i >= 0 {
			return list[i].name + "\x00" + key(s, m)
		}
		return key(s, m)
	}
	for _, m := range was {
		lines[key(t.old, m)]++
		owned[of(t.old, t.before, m)]++
	}
	is = slices.DeleteFunc(is, func(m []int) bool { // its test had it
		id := of(t.now, t.after, m)
		owned[id]--
		if owned[id] >= 0 {
			lines[key(t.now, m)]--
		}
		return owned[id] >= 0
	})
	var out []int
	for _, m := range is {
		k := key(t.now, m)
		if t.left[k] {
			continue
		}
		if lines[k] > 0 {
			lines[k]--
			continue
		}
		if len(out) < more {
			at := m[0]
			for at < m[1]-1 && !isWord(t.now.code[at]) && t.now.code[at] != '@' && t.now.code[at] != '#' && t.now.code[at] != '[' {
				at++
			}
			out = append(out, at)
		}
	}
	return out
}

// find is where a pattern stands in one of the texts of a file, imports left out.
func (t *tested) find(re *pattern, s *source, inText bool) [][]int {
	if s == nil {
		return nil
	}
	layer := inCode
	if inText {
		layer = inStrings
	}
	list := slices.DeleteFunc(s.find(re, layer), func(m []int) bool {
		line := key(s, m)
		return strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "from ")
	})
	if !inText && (t.lang.name == "shell" || t.lang.name == "go") { // what their comments say counts
		list = append(list, directives(s, s.find(re, inComments))...)
	}
	return list
}

// directives are the matches in comments that tools obey: those that begin a
// comment at the beginning of a line.
func directives(s *source, list [][]int) [][]int {
	var out [][]int
	for _, m := range list {
		if start := int(s.starts[s.lineOf(m[0])-1]); bytes.HasPrefix(s.text[start:], []byte("//go:build")) || bytes.HasPrefix(s.text[start:], []byte("# bats test_tags")) {
			out = append(out, m)
		}
	}
	return out
}

// key is the line in which a match ends.
func key(s *source, m []int) string {
	line := s.lineOf(max(m[0], m[1]-1)) - 1
	start, end := int(s.starts[line]), len(s.text)
	if line+1 < len(s.starts) {
		end = int(s.starts[line+1])
	}
	return string(bytes.TrimSpace(s.text[start:min(end, start+200)]))
}
