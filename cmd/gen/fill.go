package main

import (
	"fmt"
	"regexp"
	"strings"
)

// A block begins behind a line with the first marker and ends before one with the
// second, in a comment of whatever kind the file has: <!-- generated: NAME -->, # generated:
// NAME; <!-- /generated -->, # /generated.
var (
	opening = regexp.MustCompile(`^(?:<!--|#|//) generated: ([a-z-]+)(?: -->)?$`)
	closing = regexp.MustCompile(`^(?:<!--|#|//) /generated(?: -->)?$`)
)

// fill puts each block's text between its markers.
func fill(text string, blocks map[string]func() string) (string, error) {
	var b strings.Builder
	open := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimRight(line, "\r\n")
		switch m := opening.FindStringSubmatch(trimmed); {
		case m != nil && open != "":
			return "", fmt.Errorf("%q begins inside of the block %s", trimmed, open)
		case m != nil:
			body, ok := blocks[m[1]]
			if !ok {
				return "", fmt.Errorf("%q: nothing is generated under this name", trimmed)
			}
			open = m[1]
			b.WriteString(line)
			b.WriteString(strings.TrimRight(body(), "\n") + "\n")
		case closing.MatchString(trimmed):
			if open == "" {
				return "", fmt.Errorf("%q ends no block", trimmed)
			}
			open = ""
			b.WriteString(line)
		case open == "":
			b.WriteString(line)
		}
	}
	if open != "" {
		return "", fmt.Errorf("the block %s does not end", open)
	}
	return b.String(), nil
}

// table is a table in Markdown.
func table(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		for _, cell := range cells {
			b.WriteString("|" + cell)
		}
		b.WriteString("|\n")
	}
	line(head)
	rule := make([]string, len(head))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
	return b.String()
}
