package memory

import (
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
)

const titleRunes = 72

// Title is the pull request's title: the first line of the task in plain
// words, at most 72 characters, with mentions, references and words that keep
// checks from running defused because a squash merge makes it a commit message.
func Title(r ralph.Report) string {
	text, _ := doc.Head(r.Task, 4096)
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(strings.TrimLeft(line, "#>*-=+_`~ \t"))
		if line == "" {
			continue
		}
		return "ralph: " + shorten(quiet(strings.Join(strings.Fields(line), " ")), titleRunes-len("ralph: "))
	}
	return "ralph: unattended work"
}

// shorten cuts at a word where one ends near the limit.
func shorten(s string, limit int) string {
	if _, more := doc.FirstRunes(s, limit); !more {
		return s
	}
	s, _ = doc.FirstRunes(s, limit-1)
	if i := strings.LastIndexByte(s, ' '); i > len(s)/2 {
		s = s[:i]
	}
	return strings.TrimRight(s, " ,.;:") + "…"
}
