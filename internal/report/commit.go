package report

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// Checkpoint is what the message of a checkpoint commit needs beyond its
// iteration.
type Checkpoint struct {
	Template string        // the owner's commit-message; empty: "ralph: iteration N"
	Run      string        // identifies the run; empty: no trailer
	Outcome  ralph.Outcome // empty while the run goes on
}

// The trailers of a checkpoint: the run's memory on the branch.
const (
	TrailerRun       = "Ralph-Run"
	TrailerIteration = "Ralph-Iteration"
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
	if cost := it.Usage().Cost; !cost.Unknown {
		trailer(TrailerCost, dollars(cost.Amount))
	}
	trailer(TrailerOutcome, string(c.Outcome))
	return b.String()
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
