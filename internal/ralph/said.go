package ralph

import (
	"regexp"
	"strings"
	"unicode"
)

// Said is what an agent says of its own work at the end of a turn, for the commit and the
// pull request. All of it is foreign text, and may be missing.
type Said struct {
	Commit      string // one line: what the turn did
	Title       string // of the change as a whole, one line
	Description string // what changed and why, in Markdown
}

// Bounds of what an agent says, in bytes.
const (
	saidLine = 500
	saidText = 8 << 10
)

var (
	commitTag = lazily(`(?is)<commit>(.*?)</commit>`)
	changeTag = lazily(`(?is)<change>(.*?)</change>`)
	markerTag = lazily(`(?is)<promise>.{0,200}?</promise>|<response>.{0,200}?</response>|<verdict>.{0,200}?</verdict>`)
	saidOpen  = lazily(`(?im)^[ \t]*<(commit|change)>[ \t]*\n?`)
	saidClose = lazily(`(?im)\n?[ \t]*</(commit|change)>[ \t]*$`)
	emptyCode = lazily("(?m)^```[a-z]*\\n\\s*```$")
)

// ReadSaid reads the last message of a turn: a line between <commit> and </commit>, and
// between <change> and </change> a title, with the description below it. Of several, the last
// counts.
func ReadSaid(message string) Said {
	change := tagged(changeTag(), message)
	title, description, _ := strings.Cut(change, "\n")
	commit, _, _ := strings.Cut(tagged(commitTag(), changeTag().ReplaceAllString(message, "")), "\n")
	return Said{
		Commit:      firstBytes(strings.TrimSpace(commit), saidLine),
		Title:       firstBytes(strings.TrimSpace(strings.Trim(title, "#* \t")), saidLine),
		Description: firstBytes(strings.TrimSpace(description), saidText),
	}
}

// tagged is what the last pair of tags holds; empty when there are no words in it, as in the
// form that a prompt shows.
func tagged(tag *regexp.Regexp, message string) string {
	all := tag.FindAllStringSubmatch(message, -1)
	if len(all) == 0 {
		return ""
	}
	text := strings.TrimSpace(all[len(all)-1][1])
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return ""
	}
	return text
}

// Words is what a message says to people: without the tags that are for us.
func Words(message string) string {
	for _, tag := range []func() *regexp.Regexp{changeTag, commitTag, markerTag, emptyCode} {
		message = tag().ReplaceAllString(message, "")
	}
	return strings.TrimSpace(message)
}

// Labelled is a message, or a part of one, with labels in place of the tags of a commit
// and a change.
func Labelled(message string) string {
	return saidClose().ReplaceAllString(saidOpen().ReplaceAllString(message, "$1: "), "")
}

// firstBytes is at most the first n bytes of a text, whole characters.
func firstBytes(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "")
}

// keepNewest lets go of earlier descriptions when an iteration brings one: a run may have
// thousands.
func keepNewest(list []Iteration) {
	if n := len(list) - 1; n > 0 && list[n].Said.Description != "" {
		for i := range list[:n] {
			list[i].Said.Description = ""
		}
	}
}

// Said is what was said of the run's work as a whole: the newest title and description.
func (r Report) Said() Said {
	var s Said
	for _, it := range r.Iterations {
		if it.Said.Title != "" {
			s.Title = it.Said.Title
		}
		if it.Said.Description != "" {
			s.Description = it.Said.Description
		}
	}
	return s
}
