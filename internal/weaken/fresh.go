package weaken

import (
	"bytes"
)

// fresh lists where a pattern stands in the new text, as often as it stands
// there more often than in the old; lines that were there before are not it.
func fresh(re *pattern, t *tested, inText bool) []int {
	find := func(s *source) [][]int {
		if s == nil {
			return nil
		}
		if inText {
			return s.find(re, inStrings)
		}
		if t.lang.name == "shell" || t.lang.name == "go" { // what their comments say counts
			if list := s.find(re, inComments); len(list) > 0 && re.String() != "" {
				return append(s.find(re, inCode), directives(s, list)...)
			}
		}
		return s.find(re, inCode)
	}
	was, is := find(t.old), find(t.now)
	more := len(is) - len(was)
	if more <= 0 {
		return nil
	}
	lines := map[string]int{}
	for _, m := range was {
		lines[key(t.old, m)]++
	}
	var out []int
	for _, m := range is {
		k := key(t.now, m)
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
