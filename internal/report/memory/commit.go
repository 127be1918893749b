package memory

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/words"
)

// Checkpoint is what the message of a checkpoint commit needs beyond its
// iteration.
type Checkpoint struct {
	// Template is the owner's commit-message; empty: what the agent said when it
	// was asked for one, else what the iteration's step came to, else what the agent
	// said that it did, else the files, else "ralph: iteration N".
	Template string
	Files    []ralph.File // that the commit changes
	Run      string       // identifies the run; empty: no trailer
	Before   int          // iterations that earlier runs on the branch counted
	// Cost is what was spent since this run's previous checkpoint, so that the
	// sum over its checkpoints is the cost of the run.
	Cost    ralph.Cost
	Outcome ralph.Outcome // empty while the run goes on
	// StoryDone reports whether the step's story is done, which a list without reviews
	// tells by nothing that an iteration records.
	StoryDone bool
	Base      string          // of the lane that the commit is from; empty: from none
	LeftOut   []ralph.Missing // of the work so far
	Signoff   string          // "Name <email>" of who signs the commit off; empty: nobody
}

// trailerRunes bounds the value of a trailer.
const trailerRunes = 200

// CommitMessage is the message of an iteration's checkpoint commit. Trailers
// join those that the template ends in, as git interpret-trailers adds them. A
// trailer of ours inside the template is dropped, so that there is none but
// ours. A cost of which nothing is known has no trailer. The sign-off is the
// last line, as git commit --signoff puts it, unless the template ends in
// trailers that hold it. What the agent says of the change as a whole stands below a
// subject that has nothing below it, and its title in a trailer, so that a later run
// finds both.
func CommitMessage(it ralph.Iteration, c Checkpoint) string {
	number := c.Before + it.Number + it.Kept
	text, title := subject(it, c, number), ""
	if !strings.Contains(text, "\n") {
		title = quiet(doc.OneLine(it.Said.Title, trailerRunes))
		text = explained(text, it.Said.Description)
	}
	var b strings.Builder
	b.WriteString(text + "\n")
	block := trailerBlock(text)
	if len(block) == 0 {
		b.WriteByte('\n')
	}
	trailer := func(name, value string) { // value is clean; cleaning it again would undo quiet
		if value != "" {
			b.WriteString(name + ": " + value + "\n")
		}
	}
	trailer(TrailerRun, doc.OneLine(c.Run, trailerRunes))
	trailer(TrailerIteration, strconv.Itoa(number))
	trailer(TrailerTitle, title)
	trailer(TrailerStory, quiet(doc.OneLine(it.Step.Story, trailerRunes)))
	trailer(TrailerBase, c.Base)
	costTrailers(trailer, c.Cost)
	trailer(TrailerOutcome, doc.OneLine(string(c.Outcome), trailerRunes))
	for _, missing := range c.LeftOut[:min(len(c.LeftOut), mostLeftOut)] {
		if value := leftOutValue(missing); len(value) <= trailerRunes {
			trailer(TrailerLeftOut, value)
		}
	}
	if who := doc.OneLine(c.Signoff, 1000); who != "" && !slices.Contains(block, trailerSignoff+": "+who) {
		b.WriteString(trailerSignoff + ": " + who + "\n")
	}
	return b.String()
}

// costTrailers are those of a cost. One of which nothing is known has none.
func costTrailers(trailer func(name, value string), c ralph.Cost) {
	switch {
	case !c.Unknown:
		trailer(TrailerCost, dollars(c.Amount))
	case c.Amount > 0:
		trailer(TrailerAtLeast, dollars(c.Amount))
	}
	if c.Estimated && c.Amount > 0 {
		trailer(TrailerEstimated, "true")
	}
}

// mostLeftOut bounds how many changes a message says are missing.
const mostLeftOut = 10

// leftOutValue is plain ASCII that refers to nobody; readLeftOut reads it.
func leftOutValue(m ralph.Missing) string {
	path := strings.ReplaceAll(url.QueryEscape(m.Path), "%2F", "/")
	return strings.TrimSpace(path + " " + m.ID)
}

// subject is what stands above our trailers.
func subject(it ralph.Iteration, c Checkpoint, number int) string {
	var lines []string
	for line := range strings.SplitSeq(doc.Clean(c.Template), "\n") {
		if !isOurs(line) {
			lines = append(lines, strings.TrimRight(line, " \t"))
		}
	}
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	message := it.Delivery.Message
	if len(it.Delivery.Tasks) > 0 { // the commit of the SCM tasks has it
		message = ""
	}
	switch described := described(message); {
	case text != "":
		return text
	case described != "":
		return described
	case it.Step != ralph.Step{}:
		return stepSubject(it, c.StoryDone)
	}
	if said := described(doc.OneLine(it.Said.Commit, 2*subjectRunes)); said != "" {
		return said
	}
	return cmp.Or(filesSubject(c.Files), fmt.Sprintf("ralph: iteration %d", number))
}

// filesSubject says which files a change is about; empty when it changes none.
func filesSubject(files []ralph.File) string {
	if len(files) == 0 {
		return ""
	}
	did := "Change "
	if !slices.ContainsFunc(files, func(f ralph.File) bool { return !f.New }) {
		did = "Add "
	} else if !slices.ContainsFunc(files, func(f ralph.File) bool { return !f.Gone }) {
		did = "Delete "
	}
	did += quiet(doc.OneLine(files[0].Path, pathRunes))
	if n := len(files) - 1; n > 0 {
		did += " and " + words.Plural(n, "more file")
	}
	return did
}

const (
	subjectRunes = 100
	storyRunes   = 40 // of a story's id
	pathRunes    = 50
	bodyColumns  = 72 // of a description
)

// describedBytes bounds what the agent says of a commit.
const describedBytes = 4000

// skipsChecks finds the words in a message that keep checks from running: those
// of GitHub, and of other CIs that watch a repository (Azure's is the last).
var skipsChecks = lazyregexp.New(`(?i)\[\s*(?:(?:skip|no)[ _-]+[\w -]{1,30}|[\w]{1,30}[ _-]+skip)\s*\]|\*\*\*NO_CI\*\*\*`)

// quiet is foreign text of a commit's message: it refers to nobody and nothing,
// and keeps no checks from running.
func quiet(s string) string {
	return doc.Defuse(skipsChecks.ReplaceAllStringFunc(s, func(s string) string { return s[:1] + doc.Joiner + s[1:] }))
}

// described is the agent's own message for a commit: foreign, so it refers to
// nobody and nothing, keeps no checks from running, and ends in no trailers,
// with which it could sign off for a person.
func described(message string) string {
	message, cut := doc.Head(message, describedBytes)
	if i := strings.LastIndexByte(message, '\n'); cut && i > 0 {
		message = message[:i]
	}
	lines := strings.Split(strings.TrimSpace(message), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t")
	}
	lines[0] = shorten(lines[0], subjectRunes)
	if len(lines) > 1 && lines[1] != "" {
		lines = slices.Insert(lines, 1, "")
	}
	return quiet(withoutTrailers(lines))
}

// explained is a subject with a description below it, in lines as git's users like them.
func explained(subject, description string) string {
	description, _ = doc.Head(description, describedBytes)
	lines, code := []string{subject, ""}, false
	for line := range strings.SplitSeq(strings.TrimSpace(description), "\n") {
		mark := listMark.FindString(line)
		if fence := strings.HasPrefix(strings.TrimSpace(line), "```"); code || fence || utf8.RuneCountInString(line) <= bodyColumns {
			lines, code = append(lines, strings.TrimRight(line, " \t")), code != fence
			continue
		}
		lines = append(lines, doc.Wrap(mark, line[len(mark):], bodyColumns)...)
	}
	return subject + quiet(strings.TrimPrefix(withoutTrailers(lines), subject))
}

// listMark is what stands before the words of an item of a list.
var listMark = lazyregexp.New(`^\s*(?:[-*+]|\d{1,3}[.)])?\s*`)

// withoutTrailers joins the lines of a message of the agent's: those that would speak for a
// person, or for us, are taken out, and the trailers at its end.
func withoutTrailers(lines []string) string {
	lines = slices.DeleteFunc(lines, func(line string) bool { return isOurs(line) || speaksFor(line) })
	for len(lines) > 0 {
		block := trailerBlock(strings.Join(lines, "\n"))
		if len(block) == 0 {
			break
		}
		lines = lines[:len(lines)-len(block)]
		for len(lines) > 0 && lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// stepSubject is the subject of an iteration on a task list.
func stepSubject(it ralph.Iteration, done bool) string {
	if it.Step.Story == "" {
		return "chore: work after the last story"
	}
	story, _ := doc.FirstRunes(quiet(doc.OneLine(it.Step.Story, storyRunes)), storyRunes)
	story = " [" + story + "]"
	switch it.Step.Mode {
	case ralph.StepReview:
		switch it.Settled.Status {
		case ralph.StoryApproved:
			if it.Settled.AtCap {
				return "review:" + story + " - approved, auto-approved at the cap"
			}
			if it.Settled.Unprotected {
				return "review:" + story + " - " + words.ApprovedUnprotected
			}
			return "review:" + story + " - approved"
		case ralph.StoryChangesRequested:
			return "review:" + story + " - changes requested"
		}
		return "chore:" + story + " - review without a verdict that counts"
	case ralph.StepFix:
		return "fix:" + story + " - address review feedback"
	}
	if it.Settled.Status != ralph.StoryNeedsReview && !it.Settled.Done && !done {
		return "chore:" + story + " - work in progress"
	}
	subject := "feat:" + story
	title := quiet(doc.OneLine(it.Step.Title, subjectRunes))
	if title == "" {
		return subject
	}
	subject += " - "
	return subject + shorten(title, subjectRunes-utf8.RuneCountInString(subject))
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

const titleRunes = 72

// Title is the pull request's title: what the agent calls the change, else what it said of
// its first commit, else the files, else the first line of the task; plain words, at most
// 72 characters, with mentions, references and words that keep checks from running
// defused because a squash merge makes it a commit message.
func Title(r ralph.Report) string {
	if title := SaidTitle(r); title != "" {
		return title
	}
	if len(r.Tasks.Stories) == 0 { // else the list says what it is about
		for _, it := range r.Iterations {
			if line := titled(it.Said.Commit); line != "" {
				return line
			}
		}
		if line := filesSubject(r.Publication.Files); line != "" {
			return line
		}
		for _, it := range r.Iterations { // the run goes on, and its files are not counted yet
			if line := titled(it.Commit.Subject); it.Commit.Ours && line != "" && !strings.HasPrefix(line, "ralph: ") {
				return line
			}
		}
	}
	text, _ := doc.Head(r.Task, 4096)
	for line := range strings.SplitSeq(text, "\n") {
		if line = titled(strings.TrimLeft(line, "#>*-=+_`~ \t")); line != "" {
			return "ralph: " + shorten(line, titleRunes-len("ralph: "))
		}
	}
	return "ralph: unattended work"
}

// SaidTitle is what the agent calls the change, as Title has it; empty when it did not say.
func SaidTitle(r ralph.Report) string { return titled(r.Said().Title) }

// titled is a line as a title.
func titled(line string) string {
	return shorten(quiet(doc.OneLine(line, 4*titleRunes)), titleRunes)
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
