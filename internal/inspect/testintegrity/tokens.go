package testintegrity

import "bytes"

// tokens are the words and numbers of a text, strings included, of two
// characters or more or with a digit; at most maxTokens of them.
func tokens(text []byte, into map[string]bool) {
	const longest = 64
	for i := 0; i < len(text) && len(into) < maxTokens; {
		if !isWord(text[i]) {
			i++
			continue
		}
		from := i
		for i < len(text) && isWord(text[i]) {
			i++
		}
		if word := text[from:min(i, from+longest)]; len(word) > 1 || word[0] >= '0' && word[0] <= '9' {
			into[string(word)] = true
		}
	}
}

const maxTokens = 50_000

// survives reports whether most of what a text speaks of is in other: it was moved or
// put differently, not dropped.
func survives(text []byte, other map[string]bool) bool {
	own := map[string]bool{}
	tokens(text, own)
	if len(own) == 0 {
		return false
	}
	kept := 0
	for t := range own {
		if other[t] {
			kept++
		}
	}
	return kept*5 >= len(own)*4
}

// linesOf splits a text into its lines that are not empty, without indentation.
func linesOf(text []byte) [][]byte {
	var lines [][]byte
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// indentOf is how many blanks a line begins with.
func indentOf(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " \t")) }

// missing gives the lines of a that b does not have, or not as often.
func missing(a, b [][]byte) [][]byte {
	there := map[string]int{}
	for _, line := range b {
		there[string(line)]++
	}
	var out [][]byte
	for _, line := range a {
		if there[string(line)] > 0 {
			there[string(line)]--
			continue
		}
		out = append(out, line)
	}
	return out
}
