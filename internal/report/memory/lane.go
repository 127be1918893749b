package memory

import (
	"strings"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
)

// The trailers of a story that a lane handed over.
const (
	TrailerLane        = "Ralph-Lane"
	TrailerReturned    = "Ralph-Returned"    // "true": the story was handed back, and is not in
	TrailerUnprotected = "Ralph-Unprotected" // why its approval could have been forged
)

// Laned is a story of a lane's that an integration decided about.
type Laned struct {
	Run         string // of the integration; empty: no trailer
	Story       string
	Title       string // foreign text
	Lane        string // key of the lane
	Cost        ralph.Cost
	In          bool   // else it was handed back
	Unprotected string // why its approval could have been forged; foreign text
}

// LaneMessage is the message of the commit that does what was decided.
func LaneMessage(l Laned) string {
	id, _ := doc.FirstRunes(quiet(doc.OneLine(l.Story, storyRunes)), storyRunes)
	subject := "feat: [" + id + "]"
	if !l.In {
		subject = "chore: [" + id + "] - handed back"
	} else if title := quiet(doc.OneLine(l.Title, subjectRunes)); title != "" {
		subject += " - "
		subject += shorten(title, subjectRunes-utf8.RuneCountInString(subject))
	}
	var b strings.Builder
	b.WriteString(subject + "\n\n")
	trailer := func(name, value string) {
		if value != "" {
			b.WriteString(name + ": " + value + "\n")
		}
	}
	trailer(TrailerRun, doc.OneLine(l.Run, trailerRunes))
	trailer(TrailerStory, quiet(doc.OneLine(l.Story, trailerRunes)))
	trailer(TrailerLane, doc.OneLine(l.Lane, trailerRunes))
	if !l.In {
		trailer(TrailerReturned, "true")
	}
	trailer(TrailerUnprotected, quiet(doc.OneLine(doc.Clean(l.Unprotected), trailerRunes)))
	costTrailers(trailer, l.Cost)
	return b.String()
}

// ReadLane reads what LaneMessage wrote, and the story of a lane's own commit. ok is false
// for all else. Text of others is in it.
func ReadLane(message string) (l Laned, ok bool) {
	for _, line := range trailerBlock(strings.TrimRight(message, " \t\r\n")) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case TrailerRun:
			l.Run = value
		case TrailerStory:
			l.Story = value
		case TrailerLane:
			l.Lane = value
		case TrailerReturned:
			l.In = false
			ok = true
		case TrailerUnprotected:
			l.Unprotected = value
		case TrailerCost:
			l.Cost.Amount, _ = amount(value)
		}
	}
	l.In = !ok
	return l, l.Story != ""
}

// StoryTrailer is a story's id as the trailer of a commit has it.
func StoryTrailer(id string) string { return quiet(doc.OneLine(id, trailerRunes)) }
