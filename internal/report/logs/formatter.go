// Package logs renders events as the lines of the live log, of --verbose and of the
// restart manager, and iterations as the session log. Foreign text is cleaned, cut
// and kept on one line.
package logs

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/words"
)

// Formatter turns events into lines for the live log. It remembers tool calls,
// so that a result can name the tool it belongs to; use one Formatter per run,
// from one goroutine. The zero value prints plain text without limits. The
// lines hold no control characters except the colours it adds itself.
type Formatter struct {
	Emoji          bool // else text markers: [OK], [ERR]
	Color          bool // ANSI colours
	Timestamp      bool // [HH:MM:SS] before each line, in the time zone of Event.At
	MaxOutputLines int  // of a tool's or guardrail's output; 0: all, negative: none
	MaxOutputChars int  // of a tool's or guardrail's output, in runes; 0: all
	Width          int  // lines of tools and their output are cut there; 0: never
	// Quiet leaves out what the agent says and does, up to the line that ends its
	// turn: streamAgentOutput false, or a display filter that shows it.
	Quiet bool
	// Repeats is what was shown before, which is not shown again; nil: all is.
	Repeats *Repeats

	tools map[string]string // by id
	todos []ralph.Todo      // as shown last
}

// openTools bounds the memory of a stream whose tool calls never end: beyond
// it the older ones are forgotten.
const openTools = 4096

// lineRunes bounds one line of text that is cut nowhere else.
const lineRunes = 16 << 10

// Lines renders an event; nothing when there is nothing to see.
func (f *Formatter) Lines(e ralph.Event) []string {
	var lines []string
	switch e.Kind {
	case ralph.EventText, ralph.EventToolStart, ralph.EventToolEnd, ralph.EventTodo, ralph.EventProgress:
		if f.Quiet {
			return nil
		}
	}
	switch e.Kind {
	case ralph.EventText:
		lines = f.text(e)
	case ralph.EventToolStart:
		lines = f.toolStart(e)
	case ralph.EventToolEnd:
		lines = f.toolEnd(e)
	case ralph.EventTodo:
		lines = f.todo(e.Todos)
	case ralph.EventProgress:
		lines = f.marked(doc.Dim, "", e.Text)
	case ralph.EventResult:
		lines = f.turn(e.Turn)
	default:
		lines = f.loop(e)
	}
	if f.Timestamp && !e.At.IsZero() {
		prefix := "[" + e.At.Format("15:04:05") + "] "
		for i := range lines {
			lines[i] = strings.TrimRight(prefix+lines[i], " ")
		}
	}
	return lines
}

func (f *Formatter) text(e ralph.Event) []string {
	if e.Echo {
		return f.output(e.Text)
	}
	if where := f.Repeats.message(e.Text); where != "" {
		return []string{f.paint(doc.Dim, "… the same message as "+where)}
	}
	return f.marked(doc.Plain, "", ralph.Labelled(e.Text))
}

func (f *Formatter) toolStart(e ralph.Event) []string {
	name := doc.OneLine(e.Tool, 100)
	if e.ToolID != "" && len(e.ToolID) <= 256 {
		if f.tools == nil || len(f.tools) >= openTools {
			f.tools = map[string]string{}
		}
		f.tools[e.ToolID] = name
	}
	line := "› " + name
	if input := doc.OneLine(e.Text, 2000); input != "" {
		line += "(" + input + ")"
		if cut := f.Cut(line); cut != line {
			line = doc.CutTo(line, f.Width-1) + ")"
		}
	}
	return []string{f.paint(doc.Cyan, line)}
}

func (f *Formatter) toolEnd(e ralph.Event) []string {
	name := doc.OneLine(e.Tool, 100)
	if started, ok := f.tools[e.ToolID]; ok {
		delete(f.tools, e.ToolID)
		if name == "" {
			name = started
		}
	}
	if name == "" {
		name = "tool"
	}
	text := strings.Trim(doc.Clean(e.Text), "\n")
	lines := 0
	if text != "" {
		lines = strings.Count(text, "\n") + 1
	}
	chars := utf8.RuneCountInString(text)
	if e.Chars > 0 { // the text was cut
		lines, chars = e.Lines, e.Chars
	}
	mark, what, look := f.sign(doc.Ok), "Result", doc.Green
	if e.IsError {
		mark, what, look = f.sign(doc.Bad), "Error", doc.Red
	}
	line := fmt.Sprintf("%s %s ← %s (%s, %s)", mark, what, name, words.Plural(lines, "line"), words.Plural(chars, "char"))
	return append([]string{f.paint(look, line)}, f.beginning(text)...)
}

// output is the indented beginning of a text.
func (f *Formatter) output(text string) []string { return f.beginning(doc.Clean(text)) }

// beginning is output for a text that is clean.
func (f *Formatter) beginning(text string) []string {
	text = strings.Trim(text, "\n")
	if f.MaxOutputLines < 0 || strings.TrimSpace(text) == "" {
		return nil
	}
	cut := false
	if f.MaxOutputChars > 0 {
		text, cut = doc.FirstRunes(text, f.MaxOutputChars)
	}
	all := strings.Split(text, "\n")
	shown := all
	if f.MaxOutputLines > 0 && len(all) > f.MaxOutputLines {
		shown = all[:f.MaxOutputLines]
	}
	lines := make([]string, 0, len(shown)+1)
	for i, line := range f.news(shown, cut || len(shown) < len(all)) {
		prefix := "     "
		if i == 0 {
			prefix = "  ⎿  "
		}
		lines = append(lines, f.paint(doc.Dim, f.Cut(prefix+untab(line))))
	}
	switch n := len(all) - len(shown); {
	case n > 0:
		lines = append(lines, f.paint(doc.Dim, "     … "+words.Plural(n, "more line")))
	case cut:
		lines = append(lines, f.paint(doc.Dim, "     …"))
	}
	return lines
}

// news is the lines of an output with references to what was shown before; cut says
// that it goes on.
func (f *Formatter) news(all []string, cut bool) []string {
	if f.Repeats == nil {
		return all
	}
	var lines []string
	out := f.Repeats.Output()
	show := func(reference string, more []string) {
		if reference != "" {
			lines = append(lines, "… "+reference)
		}
		lines = append(lines, more...)
	}
	for _, line := range all {
		show(out.Line(line))
	}
	if cut {
		show(out.Cut())
	} else {
		show(out.End())
	}
	return lines
}

// todo is the agent's task list, shown again only when it changed.
func (f *Formatter) todo(todos []ralph.Todo) []string {
	if len(todos) == 0 || slices.Equal(todos, f.todos) {
		return nil
	}
	f.todos = slices.Clone(todos)
	done := 0
	lines := []string{f.paint(doc.Bold, f.sign(doc.List)+" Todo List")}
	for i, t := range todos {
		mark, suffix, look := f.sign(doc.Pending), "", doc.Plain
		switch t.Status {
		case ralph.TodoDone:
			mark, look = f.sign(doc.Finished), doc.Dim
			done++
		case ralph.TodoActive:
			mark, suffix, look = f.sign(doc.Active), " ← ACTIVE", doc.Plain
		}
		if i < 100 {
			lines = append(lines, f.paint(look, f.Cut("  "+mark+" "+doc.OneLine(t.Text, 500)+suffix)))
		}
	}
	return append(lines, fmt.Sprintf("  %s Progress: %d/%d (%d%%)", f.sign(doc.Progress), done, len(todos), done*100/len(todos)))
}

// turn is the line that ends an agent's run.
func (f *Formatter) turn(t *ralph.Turn) []string {
	if t == nil {
		return nil
	}
	facts := []string{"cost: " + t.Usage.Cost.String(), "tokens: " + words.Tokens(t.Usage.Tokens)}
	if t.CountsTools || t.Tools > 0 {
		facts = append(facts, fmt.Sprintf("tools: %d, errors: %d", t.Tools, t.ToolErrors))
	}
	facts = append(facts, "time: "+words.Span(t.Duration))
	tail := " (" + strings.Join(facts, ", ") + ")"
	if t.Failure == nil {
		return []string{f.paint(doc.Green, f.sign(doc.Ok)+" Complete"+tail)}
	}
	line := f.sign(doc.Bad) + " Failed: " + t.Failure.Kind.String()
	if m := doc.OneLine(t.Failure.Message, 500); m != "" {
		line += ": " + m
	}
	return []string{f.paint(doc.Red, line+tail)}
}

// marked is a text of any number of lines with a mark before the first.
func (f *Formatter) marked(look doc.Colour, mark, text string) []string {
	text = strings.Trim(doc.Clean(text), "\n")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if mark != "" {
		mark += " "
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if first, more := doc.FirstRunes(line, lineRunes); more {
			line = first + "…"
		}
		lines = append(lines, f.paint(look, strings.TrimRight(mark+line, " \t")))
		if mark != "" {
			mark = strings.Repeat(" ", utf8.RuneCountInString(mark))
		}
	}
	return lines
}

func untab(s string) string { return strings.ReplaceAll(s, "\t", "    ") }

// style is how the lines look.
func (f *Formatter) style() doc.Style {
	return doc.Style{Emoji: f.Emoji, Color: f.Color, Width: f.Width}
}

func (f *Formatter) sign(s doc.Sign) string                 { return f.style().Sign(s) }
func (f *Formatter) paint(c doc.Colour, line string) string { return f.style().Paint(c, line) }

// Cut shortens a line to Width.
func (f *Formatter) Cut(line string) string { return f.style().Cut(line) }

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
		return []string{f.paint(doc.Cyan, f.Cut("› Guardrail: "+doc.OneLine(e.Text, 500)))}
	case ralph.EventGuardrailEnd:
		return f.verdict(e.Verdict)
	case ralph.EventCheckpoint:
		return f.checkpoint(e.Commit)
	case ralph.EventTaskStart:
		return []string{f.paint(doc.Cyan, f.Cut("› SCM task: "+doc.OneLine(e.Text, 500)))}
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
	if len(words.OfSettings(it.Verdicts)) > 0 {
		_, passed, _ := strings.Cut(r.Guardrails, " ")
		facts = append(facts, "guardrails "+passed)
	}
	return []string{f.paint(doc.Bold, fmt.Sprintf("%s Iteration %d: %s", f.sign(doc.End), it.Number, strings.Join(facts, ", ")))}
}

// Running says what has been running for a while, beside others. last is the line that
// it printed last; empty: none.
func Running(what string, took time.Duration, others int, last string) string {
	const limit = 160
	line := fmt.Sprintf("%s, running for %s", doc.OneLine(what, limit), words.Span(took))
	if others > 0 {
		line += fmt.Sprintf(" (and %d more)", others)
	}
	if last != "" {
		line += ": " + doc.OneLine(last, limit)
	}
	return line
}

// verdict tells exit status and fail action of a guardrail.
func (f *Formatter) verdict(v *ralph.Verdict) []string {
	if v == nil {
		return nil
	}
	name := doc.OneLine(v.Command, 500)
	if v.PassedIn > 0 {
		return []string{f.paint(doc.Green, fmt.Sprintf("%s Guardrail passed on the same tree in iteration %d: %s", f.sign(doc.Ok), v.PassedIn, name))}
	}
	if v.Passed {
		return []string{f.paint(doc.Green, fmt.Sprintf("%s Guardrail passed: %s (exit code %d, %s)", f.sign(doc.Ok), name, v.ExitCode, words.Span(v.Duration)))}
	}
	what, reason, sign, colour := "failed", doc.OneLine(v.Reason, 300), doc.Bad, doc.Red
	switch {
	case v.Unfinished:
		what, sign, colour = "not finished", doc.Warn, doc.Yellow
	case v.Broken:
		what = "could not be started"
	}
	if reason == "" {
		reason = fmt.Sprintf("exit code %d", v.ExitCode)
	}
	facts := []string{reason, words.Span(v.Duration)}
	if v.Action != "" && !v.Unfinished {
		facts = append(facts, "action "+string(v.Action))
	}
	line := fmt.Sprintf("%s Guardrail %s: %s (%s)", f.sign(sign), what, name, strings.Join(facts, ", "))
	lines := append([]string{f.paint(colour, line)}, f.output(v.Output)...)
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
	case c.Lane && c.Pushing:
		facts = append(facts, "being handed over")
	case c.Pushing:
		facts = append(facts, "being pushed")
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

// StartTitle names an iteration that starts: "Iteration 2 of 10", and with a task
// list ": review US-001" after it. Foreign text is on one line and cut.
func StartTitle(e ralph.Event) string {
	title := IterationTitle(e.Iteration, e.Max)
	if step := words.StepName(e.Step); step != "" {
		title += ": " + step
	}
	return title
}
