package logs

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/words"
)

// Verbose renders events as the lines of `--verbose`, each with the prefix
// "[ralph] " and one line whatever is in it.
type Verbose struct {
	Completion ralph.Completion // what an iteration is searched for; zero: not named
	// Mask takes secrets out of a text; it sees prompts before they are cut, where
	// half a secret would go unnoticed. nil: nothing is masked.
	Mask func(string) string
}

const (
	verbosePrefix = "[ralph] "
	previewRunes  = 200
	verboseRunes  = 2000 // of one line
)

// Lines renders an event; nothing when it is told elsewhere.
func (v Verbose) Lines(e ralph.Event) []string {
	switch e.Kind {
	case ralph.EventIterationStart:
		text := fmt.Sprintf("Iteration %d starting", e.Iteration)
		if e.Max > 0 {
			text = fmt.Sprintf("Iteration %d/%d starting", e.Iteration, e.Max)
		}
		if step := words.StepTitle(e.Step); step != "" {
			text += ": " + step
		}
		return VerboseLines(text)
	case ralph.EventPrompt:
		return VerboseLines(v.prompt(e))
	case ralph.EventResult:
		if e.Turn != nil {
			return VerboseLines("Agent " + v.turn(*e.Turn))
		}
	case ralph.EventRetry:
		return VerboseLines(retryWords(e, operation) + ": " + doc.OneLine(e.Text, 500))
	case ralph.EventKept:
		return VerboseLines("Kept going: " + doc.OneLine(e.Text, 500))
	case ralph.EventGuardrailStart:
		return VerboseLines("Running guardrail: " + doc.OneLine(e.Text, 500))
	case ralph.EventGuardrailEnd:
		if e.Verdict != nil && e.Verdict.PassedIn > 0 {
			return VerboseLines(fmt.Sprintf("Guardrail passed on the same tree in iteration %d", e.Verdict.PassedIn))
		}
		if e.Verdict != nil {
			return VerboseLines("Guardrail " + ended(e.Verdict.ExitCode, e.Verdict.Reason, e.Verdict.Duration))
		}
	case ralph.EventTaskStart:
		return VerboseLines("Running SCM task: " + doc.OneLine(e.Text, 500))
	case ralph.EventTaskEnd:
		if e.Task != nil {
			return VerboseLines("SCM task " + ended(e.Task.ExitCode, "", e.Task.Duration))
		}
	case ralph.EventIterationEnd:
		if e.Record != nil {
			return VerboseLines(settled(*e.Record) + v.completion(*e.Record) + "\n" + timing(*e.Record))
		}
	}
	return nil
}

// VerboseLines is any text as lines of --verbose.
func VerboseLines(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(doc.Clean(text), "\n"), "\n") {
		if first, more := doc.FirstRunes(line, verboseRunes); more {
			line = first + "…"
		}
		lines = append(lines, verbosePrefix+line)
	}
	return lines
}

// LoadingSettings tells that a settings file is read.
func LoadingSettings(path string) string {
	return verbosePrefix + "Loading settings from " + doc.OneLine(path, 500)
}

// AgentCommand tells how the agent is started; the words stand as they are.
func AgentCommand(words ...string) string {
	return verbosePrefix + "Agent command: " + doc.OneLine(strings.Join(words, " "), verboseRunes)
}

// prompt shows the beginning of a prompt, with what cannot be seen spelled out.
func (v Verbose) prompt(e ralph.Event) string {
	text := strings.ToValidUTF8(e.Text, "\uFFFD")
	chars := len([]rune(text))
	if v.Mask != nil {
		text = v.Mask(text)
	}
	start, more := doc.FirstRunes(text, previewRunes)
	line := spelledOut(start)
	if more {
		line += "…"
	}
	what := "Prompt"
	if e.Attempt == 0 {
		what = "Prompt for the commit message"
	}
	return fmt.Sprintf("%s (%d chars): %s", what, chars, line)
}

// spelledOut spells out line ends, control characters and invisible ones.
func spelledOut(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func (v Verbose) turn(t ralph.Turn) string {
	reason := ""
	if t.Failure != nil && t.ExitCode <= 0 {
		reason = t.Failure.Kind.String()
	}
	return ended(t.ExitCode, reason, t.Duration)
}

// ended is "exited with code 0 (1.2s)", or how it ended else.
func ended(code int, reason string, took time.Duration) string {
	switch reason = doc.OneLine(reason, 300); {
	case reason != "":
		return fmt.Sprintf("failed: %s (%s)", reason, operation(took))
	case code < 0:
		return fmt.Sprintf("ended without an exit code (%s)", operation(took))
	}
	return fmt.Sprintf("exited with code %d (%s)", code, operation(took))
}

// completion tells what the search for the completion marker came to.
func (v Verbose) completion(it ralph.Iteration) string {
	if it.Rejection == ralph.NotRejected {
		return "Completion detected: " + v.marker()
	}
	why, found := words.Why(it)
	if !found {
		return "No completion: " + doc.OneLine(string(it.Rejection), 100)
	}
	return "No completion: " + words.Told(why.Verbose, it, v.marker())
}

func (v Verbose) marker() string {
	switch v.Completion.Kind {
	case ralph.CompletionPromise, ralph.CompletionResponse:
		return doc.OneLine(v.Completion.String(), 200)
	case ralph.CompletionDoneFile:
		return "the file DONE"
	case ralph.CompletionTasks:
		return "every story is done"
	}
	return "the completion marker"
}

// settled tells what an iteration was for, what it wrote that it may not, and how
// long its session went on; empty without a task list and a kept-going session.
func settled(it ralph.Iteration) string {
	text := ""
	if words := words.Step(it, true); words != "" {
		text = "Step: " + words + "\n"
	}
	for _, p := range it.Settled.Problems[:min(sessionProblems, len(it.Settled.Problems))] {
		text += "Put back: " + doc.OneLine(p, 500) + "\n"
	}
	if n := it.Rounds(); n > 1 {
		text += fmt.Sprintf("The session went on for %d iterations\n", n)
	}
	return text
}

// timing tells where the time of an iteration went.
func timing(it ralph.Iteration) string {
	var agent, checks, tasks time.Duration
	for _, t := range words.EveryTurn(it) {
		agent += t.Duration
	}
	for _, c := range it.Verdicts {
		checks += c.Duration
	}
	for _, t := range it.Delivery.Tasks {
		tasks += t.Duration
	}
	parts := fmt.Sprintf("agent %s, guardrails %s", operation(agent), operation(checks))
	if len(it.Delivery.Tasks) > 0 {
		parts += ", SCM tasks " + operation(tasks)
	}
	return fmt.Sprintf("Iteration %d took %s (%s)", it.Number, operation(it.Duration), parts)
}

// operation is how long something took: 1.2s, 6m7.4s.
func operation(d time.Duration) string {
	if d = max(0, d); d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Truncate(time.Millisecond).Seconds())
	}
	return d.Round(100 * time.Millisecond).String()
}
