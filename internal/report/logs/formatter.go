package logs

import (
	"fmt"
	"slices"
	"strings"
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
	// turn: streamAgentOutput false, or a display filter that shows it. 001-03
	Quiet bool

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
	return f.marked(doc.Plain, "", e.Text)
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
		if cut := f.cut(line); cut != line {
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
	for i, line := range shown {
		prefix := "     "
		if i == 0 {
			prefix = "  ⎿  "
		}
		lines = append(lines, f.paint(doc.Dim, f.cut(prefix+untab(line))))
	}
	switch n := len(all) - len(shown); {
	case n > 0:
		lines = append(lines, f.paint(doc.Dim, "     … "+words.Plural(n, "more line")))
	case cut:
		lines = append(lines, f.paint(doc.Dim, "     …"))
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
			lines = append(lines, f.paint(look, f.cut("  "+mark+" "+doc.OneLine(t.Text, 500)+suffix)))
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
func (f *Formatter) cut(line string) string                 { return f.style().Cut(line) }
