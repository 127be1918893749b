package logs

import (
	"fmt"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/words"
)

// loop renders the events of the loop itself.
func (f *Formatter) loop(e ralph.Event) []string {
	switch e.Kind {
	case ralph.EventIterationStart:
		return []string{f.paint(doc.Bold, f.sign(doc.Begin)+" "+StartTitle(e))}
	case ralph.EventIterationEnd:
		return f.iterationEnd(e.Record)
	case ralph.EventRetry:
		line := retryWords(e, words.Span)
		if why := doc.OneLine(e.Text, 500); why != "" {
			line += ": " + why
		}
		return []string{f.paint(doc.Yellow, f.sign(doc.Retry)+" "+line)}
	case ralph.EventKept:
		line := "Kept going"
		if why := doc.OneLine(e.Text, 500); why != "" {
			line += ": " + why
		}
		return []string{f.paint(doc.Yellow, f.sign(doc.Retry)+" "+line)}
	case ralph.EventGuardrailStart:
		return []string{f.paint(doc.Cyan, f.cut("› Guardrail: "+doc.OneLine(e.Text, 500)))}
	case ralph.EventGuardrailEnd:
		return f.verdict(e.Verdict)
	case ralph.EventCheckpoint:
		return f.checkpoint(e.Commit)
	case ralph.EventTaskStart:
		return []string{f.paint(doc.Cyan, f.cut("› SCM task: "+doc.OneLine(e.Text, 500)))}
	case ralph.EventTaskEnd:
		return f.task(e.Task)
	case ralph.EventNotice:
		return f.marked(doc.Plain, f.sign(doc.Note), e.Text)
	case ralph.EventWarning:
		return f.marked(doc.Yellow, f.sign(doc.Warn), e.Text)
	default:
		return nil
	}
}

// longWait is what a person wants to know the end of: no back-off is as long.
const longWait = 2 * time.Minute

// retryWords tells when the agent is asked again: "Trying again in 2s", or
// "Waiting 2h13m, until 18:00 UTC".
func retryWords(e ralph.Event, length func(time.Duration) string) string {
	switch {
	case e.Wait <= 0:
		return "Trying again"
	case e.Wait < longWait:
		return "Trying again in " + length(e.Wait)
	case e.At.IsZero():
		return "Waiting " + words.Span(e.Wait)
	}
	from, until := e.At.UTC(), e.At.Add(e.Wait).UTC().Round(time.Minute)
	format := "15:04 UTC"
	if from.Format(time.DateOnly) != until.Format(time.DateOnly) {
		format = "2006-01-02 15:04 UTC"
	}
	return "Waiting " + words.Span(e.Wait) + ", until " + until.Format(format)
}

// IterationTitle names an iteration: "Iteration 2 of 10".
func IterationTitle(n, limit int) string {
	if limit > 0 {
		return fmt.Sprintf("Iteration %d of %d", n, limit)
	}
	return fmt.Sprintf("Iteration %d", n)
}

func (f *Formatter) iterationEnd(it *ralph.Iteration) []string {
	if it == nil {
		return nil
	}
	r := words.NewRow(*it)
	facts := []string{r.Result, r.Time, words.Cost(it.Usage().Cost)}
	if step := words.Step(*it, true); step != "" {
		facts = append([]string{step}, facts...)
	}
	if r.Rounds != "" {
		facts = append(facts, r.Rounds)
	}
	if it.Change.Files > 0 {
		facts = append(facts, words.Plural(it.Change.Files, "file")+strings.TrimPrefix(r.Files, fmt.Sprint(it.Change.Files)))
	}
	if n := len(it.Verdicts); n > 0 {
		facts = append(facts, fmt.Sprintf("guardrails %d/%d", n-len(r.Failing), n))
	}
	return []string{f.paint(doc.Bold, fmt.Sprintf("%s Iteration %d: %s", f.sign(doc.End), it.Number, strings.Join(facts, ", ")))}
}

// verdict tells exit status and fail action of a guardrail.
func (f *Formatter) verdict(v *ralph.Verdict) []string {
	if v == nil {
		return nil
	}
	name := doc.OneLine(v.Command, 500)
	if v.Passed {
		return []string{f.paint(doc.Green, fmt.Sprintf("%s Guardrail passed: %s (exit code %d, %s)", f.sign(doc.Ok), name, v.ExitCode, words.Span(v.Duration)))}
	}
	what, reason := "failed", doc.OneLine(v.Reason, 300)
	if v.Broken {
		what = "could not be started"
	}
	if reason == "" {
		reason = fmt.Sprintf("exit code %d", v.ExitCode)
	}
	facts := []string{reason, words.Span(v.Duration)}
	if v.Action != "" {
		facts = append(facts, "action "+string(v.Action))
	}
	line := fmt.Sprintf("%s Guardrail %s: %s (%s)", f.sign(doc.Bad), what, name, strings.Join(facts, ", "))
	lines := append([]string{f.paint(doc.Red, line)}, f.output(v.Output)...)
	if v.LogFile != "" {
		lines = append(lines, f.paint(doc.Dim, "     log: "+doc.OneLine(v.LogFile, 300)))
	}
	return lines
}

// task tells how an SCM task ended, with its output when it failed.
func (f *Formatter) task(t *ralph.Task) []string {
	if t == nil {
		return nil
	}
	line := fmt.Sprintf("%s (%s, %s)", doc.OneLine(t.Command, 500), words.Exit(t.ExitCode), words.Span(t.Duration))
	if t.ExitCode == 0 {
		return []string{f.paint(doc.Green, f.sign(doc.Ok)+" SCM task done: "+line)}
	}
	return append([]string{f.paint(doc.Red, f.sign(doc.Bad)+" SCM task failed: "+line)}, f.output(t.Output)...)
}

func (f *Formatter) checkpoint(c *ralph.Commit) []string {
	if c == nil || c.SHA == "" {
		return nil
	}
	facts := []string{words.Plural(c.Files, "file")}
	if c.Own > 0 {
		facts = append(facts, words.Plural(c.Own, "commit")+" of the agent below")
	}
	switch {
	case c.Pushed:
		facts = append(facts, "pushed")
	case c.PushError != "":
		facts = append(facts, "not pushed: "+doc.OneLine(c.PushError, 300))
	}
	line := fmt.Sprintf("%s Commit %s %s (%s)", f.sign(doc.Saved), words.Sha(c.SHA), doc.OneLine(c.Subject, 100), strings.Join(facts, ", "))
	if c.PushError != "" {
		return []string{f.paint(doc.Yellow, line)}
	}
	return []string{line}
}
