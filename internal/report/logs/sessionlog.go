package logs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/words"
)

const rule = 80

func ruled(c string) string { return strings.Repeat(c, rule) + "\n" }

// SessionHeader opens an iteration in the session log; without a task list the step is zero.
func SessionHeader(iteration int, mode string, step ralph.Step, start time.Time) string {
	about := ""
	if title := words.StepTitle(step); title != "" {
		about = "Step: " + title + "\n"
	}
	return ruled("=") +
		fmt.Sprintf("ITERATION %d\n", iteration) +
		ruled("=") +
		"Mode: " + doc.OneLine(mode, 100) + "\n" +
		about +
		"Start Time: " + words.Stamp(start) + "\n" +
		ruled("-")
}

// CopyIteration copies an iteration from a session log, and reports whether there was
// one. The agent's own lines stand in the log as they are, and may look like a header.
func CopyIteration(to io.Writer, log io.Reader, iteration int) (found bool, err error) {
	r := bufio.NewReader(log)
	within, whole, ruler := false, true, false // ruler: the line before is one, and not copied yet
	for err == nil {
		piece, e := r.ReadSlice('\n') // of a line that may have any length
		if e != nil && !errors.Is(e, bufio.ErrBufferFull) && !errors.Is(e, io.EOF) {
			return found, e
		}
		of := 0
		if whole && ruler {
			title := string(piece[:min(len(piece), rule)])
			if _, odd := fmt.Sscanf(title, "ITERATION %d\n", &of); odd == nil || title == summaryTitle {
				within = of == iteration
				found = found || within
			}
		}
		if ruler && within {
			_, err = io.WriteString(to, ruled("="))
		}
		ruler = whole && string(piece) == ruled("=")
		if within && !ruler && err == nil {
			_, err = to.Write(piece)
		}
		whole = e == nil
		if errors.Is(e, io.EOF) {
			if ruler && within {
				_, err = io.WriteString(to, ruled("="))
			}
			return found, err
		}
	}
	return found, err
}

// SessionRetry tells in the session log that an attempt failed and why, and that
// the iteration goes on.
func SessionRetry(why string) string {
	return "Attempt failed (" + doc.OneLine(why, 500) + "); the iteration is tried again.\n"
}

const summaryTitle = "SESSION SUMMARY\n"

const sessionProblems = 20 // told of one iteration

// SessionFooter closes an iteration in the session log. Lines whose value the
// agent did not report are left out.
func SessionFooter(it ralph.Iteration) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			b.WriteString(name + ": " + value + "\n")
		}
	}
	messages := 0
	for _, t := range words.EveryTurn(it) {
		messages += t.Messages
	}
	b.WriteString(ruled("-"))
	fmt.Fprintf(&b, "ITERATION %d COMPLETE\n", it.Number)
	line("End Time", words.Stamp(it.Started.Add(it.Duration)))
	line("Duration", words.Span(it.Duration))
	if messages > 0 {
		line("API Requests", strconv.Itoa(messages))
	}
	line("Model", doc.OneLine(it.Last().Model, 200))
	if messages > 0 {
		line("Messages", strconv.Itoa(messages))
	}
	if cost := it.Usage().Cost; len(it.Turns) > 0 && (!cost.Unknown || cost.Amount > 0) {
		line("Cost", cost.String())
	}
	if n := len(it.Turns) - 1; n > 0 {
		line("Retries", strconv.Itoa(n))
	}
	line("Step", words.Step(it, true))
	for _, p := range it.Settled.Problems[:min(sessionProblems, len(it.Settled.Problems))] {
		line("Put Back", doc.OneLine(p, 500))
	}
	if n := len(it.Settled.Problems) - sessionProblems; n > 0 {
		line("Put Back", fmt.Sprintf("and %d more", n))
	}
	if n := it.Rounds(); n > 1 {
		line("Session Rounds", strconv.Itoa(n))
	} else if n := words.Kept(it); n > 0 {
		line("Kept Going", strconv.Itoa(n))
	}
	for _, t := range it.Delivery.Tasks {
		line("SCM Task", fmt.Sprintf("%s (%s)", doc.OneLine(t.Command, 300), words.Exit(t.ExitCode)))
	}
	line("Status", sessionStatus(it))
	b.WriteString(ruled("=") + "\n")
	return b.String()
}

// sessionStatus begins with success or failed, which is what the session
// summary counts: a failed iteration is one whose agent failed.
func sessionStatus(it ralph.Iteration) string {
	if failedTurn(it) {
		_, text, detail := words.Result(it)
		if detail = doc.OneLine(detail, 300); detail != "" {
			text += ": " + detail
		}
		return "failed (" + text + ")"
	}
	why, _ := words.Why(it)
	status := words.Told(why.Status, it, "")
	if why := doc.OneLine(it.Delivery.Error, 300); it.Rejection == ralph.RejectedSCM && why != "" {
		status += ": " + why
	}
	if status != "" {
		return "success (" + status + ")"
	}
	if (it.Marker || it.Settled.Done) && it.Rejection == ralph.NotRejected {
		return "success (complete)"
	}
	return "success"
}

func failedTurn(it ralph.Iteration) bool {
	return it.Last().Failure != nil || it.Rejection == ralph.RejectedTurn
}

// SessionSummary ends the session log.
func SessionSummary(r ralph.Report) string {
	failed := 0
	for _, it := range r.Iterations {
		// What met a usage limit and nothing else is no iteration.
		if failedTurn(it) && (it.Rounds() > 0 || len(it.Turns) == 0) {
			failed++
		}
	}
	reason := string(r.Outcome)
	if text := doc.OneLine(r.Reason, 500); text != "" {
		reason += ": " + text
	}
	about := ""
	if words.HasTasks(r) {
		about = "Stories: " + words.StoryCount(r.Tasks) + "\n"
	}
	if status := words.SessionStatus(r); status != "" {
		about += "Session Status: " + status + "\n"
	}
	return ruled("=") +
		summaryTitle +
		ruled("=") +
		fmt.Sprintf("Total Iterations: %d\n", r.Rounds()) +
		fmt.Sprintf("Successful: %d\n", r.Rounds()-failed) +
		fmt.Sprintf("Failed: %d\n", failed) +
		"Total Duration: " + words.Span(r.Duration) + "\n" +
		about +
		"Exit Reason: " + reason + "\n" +
		fmt.Sprintf("Exit Code: %d\n", r.ExitCode) +
		ruled("=")
}
