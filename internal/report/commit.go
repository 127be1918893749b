package report

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
)

// Checkpoint is what the message of a checkpoint commit needs beyond its
// iteration.
type Checkpoint struct {
	// Template is the owner's commit-message; empty: "ralph: iteration N", or what
	// the iteration's step came to.
	Template string
	Run      string        // identifies the run; empty: no trailer
	Outcome  ralph.Outcome // empty while the run goes on
	// StoryDone says that the step's story is done, which a list without reviews
	// tells by nothing that an iteration records.
	StoryDone bool
}

// The trailers of a checkpoint: the run's memory on the branch.
const (
	TrailerRun       = "Ralph-Run"
	TrailerIteration = "Ralph-Iteration"
	TrailerStory     = "Ralph-Story"
	TrailerCost      = "Ralph-Cost-USD"
	TrailerOutcome   = "Ralph-Outcome"
)

var trailerLine = regexp.MustCompile(`^[A-Za-z0-9-]+: \S`)

// CommitMessage is the message of an iteration's checkpoint commit. A trailer
// of ours inside the template is dropped, so that the last paragraph is the
// only place where one can stand. An unknown cost has no trailer.
func CommitMessage(it ralph.Iteration, c Checkpoint) string {
	var lines []string
	for line := range strings.SplitSeq(clean(c.Template), "\n") {
		line = strings.TrimRight(line, " \t")
		if name, _, is := strings.Cut(line, ":"); is && strings.HasPrefix(strings.ToLower(strings.TrimSpace(name)), "ralph-") {
			continue
		}
		lines = append(lines, line)
	}
	subject := strings.TrimSpace(strings.Join(lines, "\n"))
	if subject == "" && stepped(it) {
		subject = stepSubject(it, c.StoryDone)
	}
	if subject == "" {
		subject = fmt.Sprintf("ralph: iteration %d", it.Number)
	}
	var b strings.Builder
	b.WriteString(subject + "\n")
	if !endsInTrailers(subject) {
		b.WriteByte('\n')
	}
	trailer := func(name, value string) {
		if value = oneLine(value, 200); value != "" {
			b.WriteString(name + ": " + value + "\n")
		}
	}
	trailer(TrailerRun, c.Run)
	trailer(TrailerIteration, fmt.Sprint(it.Number))
	trailer(TrailerStory, it.Step.Story)
	if cost := it.Usage().Cost; !cost.Unknown {
		trailer(TrailerCost, dollars(cost.Amount))
	}
	trailer(TrailerOutcome, string(c.Outcome))
	return b.String()
}

const subjectRunes = 100

// stepSubject is the subject of an iteration on a task list. 003-26
func stepSubject(it ralph.Iteration, done bool) string {
	if it.Step.Story == "" {
		return "chore: work after the last story"
	}
	story, _ := firstRunes(defuse(oneLine(it.Step.Story, storyRunes)), storyRunes)
	story = " [" + story + "]"
	switch it.Step.Mode {
	case stepReview:
		switch it.Settled.Status {
		case approved:
			return "review:" + story + " - approved"
		case changesRequested:
			return "review:" + story + " - changes requested"
		}
		return "chore:" + story + " - review without a verdict"
	case stepFix:
		return "fix:" + story + " - address review feedback"
	}
	if it.Settled.Status != needsReview && !it.Settled.Done && !done {
		return "chore:" + story + " - work in progress"
	}
	subject := "feat:" + story
	title := defuse(oneLine(it.Step.Title, subjectRunes))
	if title == "" {
		return subject
	}
	subject += " - "
	return subject + shorten(title, subjectRunes-utf8.RuneCountInString(subject))
}

// endsInTrailers says that the last paragraph, which is not the subject,
// consists of trailers (Signed-off-by and the like) that ours must join.
func endsInTrailers(message string) bool {
	i := strings.LastIndex(message, "\n\n")
	if i < 0 {
		return false
	}
	for line := range strings.SplitSeq(message[i+2:], "\n") {
		if !trailerLine.MatchString(line) {
			return false
		}
	}
	return true
}

// dollars is the exact amount without a sign, for machines: 0.0123.
func dollars(m ralph.MicroUSD) string {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	text := fmt.Sprintf("%s%d.%06d", sign, m/ralph.USD, m%ralph.USD)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
