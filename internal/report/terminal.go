package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Style says what a terminal can show.
type Style struct {
	Emoji bool // else text markers
	Color bool // ANSI colours
	Width int  // columns: prose is wrapped there, the table cut; 0: never
}

// terminal is sections as lines of a terminal.
func terminal(o Style, sections []section) string {
	t := screen{f: Formatter{Emoji: o.Emoji, Color: o.Color, Width: o.Width}}
	for _, s := range sections {
		t.section(s)
	}
	return t.b.String()
}

// screen collects the lines.
type screen struct {
	f Formatter
	b strings.Builder
}

func (t *screen) line(s style, text string) { t.b.WriteString(t.f.paint(s, t.f.cut(text)) + "\n") }

// prose is a line that may be wrapped; a sign in front of it gives it its colour.
func (t *screen) prose(s style, mark, text string) {
	for _, sign := range []struct {
		icon  string
		sign  sign
		style style
	}{{"❌", bad, red}, {"⛔", bad, red}, {"⚠️", warn, yellow}, {"✂️", warn, yellow}, {"✅", ok, s}, {"⏳", note, s}, {"👀", note, s}} {
		if rest, found := strings.CutPrefix(text, sign.icon+" "); found {
			mark, text, s = mark+t.sign(sign.icon, sign.sign)+" ", rest, sign.style
		}
	}
	for _, l := range wrap(mark, text, t.f.Width) {
		t.b.WriteString(t.f.paint(s, l) + "\n")
	}
}

// sign is an icon, or what stands for it.
func (t *screen) sign(icon string, s sign) string {
	if t.f.Emoji {
		return icon
	}
	return t.f.sign(s)
}

func (t *screen) section(s section) {
	switch {
	case len(s.Title) == 0 && len(s.Blocks) == 0:
		return
	case s.Name == "outcome":
		t.prose(plain, "", s.Title.plain())
		return
	case len(s.Title) > 0:
		t.b.WriteByte('\n')
		t.prose(bold, "", s.Title.plain())
	case s.Name != "reasons":
		t.b.WriteByte('\n')
	}
	for _, b := range s.Blocks {
		t.block(b)
	}
}

func (t *screen) block(b block) {
	switch b.Kind {
	case paraBlock:
		t.prose(plain, "  ", b.Text.plain())
	case softBlock, smallBlock:
		t.prose(dim, "  ", b.Text.plain())
	case titleBlock:
		t.b.WriteByte('\n')
		t.prose(bold, "", b.Text.plain())
	case listBlock:
		for _, l := range b.Lines {
			t.prose(plain, "  - ", l.plain())
		}
	case linesBlock:
		for _, l := range b.Lines {
			t.line(plain, "  "+l.plain())
		}
	case cautionBlock:
		for _, l := range b.Lines {
			t.prose(plain, "", "❌ "+l.plain())
		}
	case warningBlock:
		for _, l := range b.Lines {
			t.prose(plain, "  ", "⚠️ "+l.plain())
		}
	case factsBlock:
		for _, f := range b.Facts {
			t.b.WriteString(fmt.Sprintf("%-13s %s", f.Name, f.Text.plain()) + "\n")
		}
	case gridBlock:
		for i, l := range b.Grid.laidOut() {
			t.line([]style{dim, plain}[min(i, 1)], l)
		}
	}
}

// wrap breaks text at words, with mark before the first line and as much room
// before the others. A word longer than a line is left whole.
func wrap(mark, text string, width int) []string {
	indent := strings.Repeat(" ", utf8.RuneCountInString(mark))
	if width <= len(indent)+10 {
		return []string{mark + text}
	}
	var lines []string
	line, empty := mark, true
	for _, word := range strings.Fields(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return append(lines, line)
}

// laidOut is a table in columns. Those for which no row has a value, such as the
// tokens of a plain script, are left out.
func (g grid) laidOut() []string {
	table := make([][]string, len(g.Rows)+1)
	var right []bool
	for i, c := range g.Columns {
		empty := func(cells []text) bool { return cells[i].plain() == nothing || cells[i].plain() == "unknown" }
		if c.Class != "kept" && !slices.ContainsFunc(g.Rows, func(cells []text) bool { return !empty(cells) }) {
			continue
		}
		right = append(right, c.Right)
		table[0] = append(table[0], c.Title)
		for row, cells := range g.Rows {
			table[row+1] = append(table[row+1], cells[i].plain())
		}
	}
	widths := make([]int, len(table[0]))
	for _, cells := range table {
		for i, c := range cells {
			widths[i] = max(widths[i], columns(c))
		}
	}
	lines := make([]string, 0, len(table))
	for _, cells := range table {
		var b strings.Builder
		for i, c := range cells {
			pad := strings.Repeat(" ", widths[i]-columns(c))
			if right[i] {
				b.WriteString("  " + pad + c)
			} else {
				b.WriteString("  " + c + pad)
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

// columns is the width on a terminal: the two marks of the guardrails are the
// only wide characters here.
func columns(s string) int {
	return utf8.RuneCountInString(s) + strings.Count(s, "✅") + strings.Count(s, "❌")
}

// iterationLines is the table of the newest iterations for a terminal. Where there
// are steps, they and what they came to take the room of less important columns.
func (m record) iterationLines(o Style) section {
	if len(m.Iterations) == 0 {
		return section{}
	}
	g := grid{Columns: []column{
		{Title: "#", Right: true, Class: "kept"}, {Title: "time", Right: true, Class: "kept"}, {Title: "turns", Right: true}, {Title: "tools", Right: true},
		{Title: "tokens in / out", Right: true}, {Title: "cost", Right: true}, {Title: "files"}, {Title: "guardrails"}, {Title: "commit"}, {Title: "result"},
	}}
	steps := anyStep(m.Iterations)
	if steps {
		g.Columns = slices.Concat(g.Columns[:2], g.Columns[5:6], g.Columns[7:9], []column{{Title: "step"}}, g.Columns[9:])
	}
	for _, it := range newest(m.Iterations, m.rows) {
		r := newRow(it)
		checks, short := r.Guardrails, r.SHA
		if !o.Emoji {
			checks = strings.NewReplacer("✅ ", "ok ", "❌ ", "failed ").Replace(checks)
		}
		if short == "" {
			short = nothing
		}
		cells := []string{r.Number, r.Time, r.Turns, r.Tools, r.Tokens, r.Cost, r.Files, checks, short, r.Result}
		if steps {
			cells = []string{r.Number, r.Time, r.Cost, checks, short, stepWords(it, m.Tasks.SkipReview), r.Result}
		}
		var row []text
		for _, c := range cells {
			row = append(row, line(c))
		}
		g.Rows = append(g.Rows, row)
	}
	s := section{Name: "iterations", Blocks: []block{{Kind: gridBlock, Grid: g}}}
	if n := len(m.Iterations) - m.rows; n > 0 {
		s.Blocks = append(s.Blocks, soft(plural(n, "earlier iteration")+" not shown"))
	}
	return s
}

// whereabouts is where the work is and what it cost.
func (m record) whereabouts() []fact {
	var facts []fact
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, fact{Name: name, Text: line(value)})
		}
	}
	if status := SessionStatus(m.Report); status != "" {
		add("Session", status+" after "+plural(m.Rounds(), "iteration"))
	}
	p := m.Publication
	if pr := p.PullRequest; pr.Number > 0 {
		add("Pull request", fmt.Sprintf("#%d", pr.Number)+pullWords(pr)+" "+oneLine(pr.URL, 500))
	}
	if p.Branch != "" {
		text := oneLine(p.Branch, 200)
		if n := commits(m.Report); n > 0 {
			text += ", " + plural(n, "commit")
		}
		if p.Pushed {
			text += ", pushed"
		}
		if p.Fork != "" {
			text += " to " + oneLine(p.Fork, 200)
		}
		if words := commitWords(p); p.Pushed && words != "" {
			text += ", " + words
		}
		add("Branch", text)
	}
	u := m.Usage()
	if len(m.Iterations) > 0 {
		add("Cost", u.Cost.String()+", tokens "+tokenWords(u.Tokens))
		add("", priceNote(m.Report))
	}
	if text := branchCostWords(m.Report); text != "" {
		add("The branch", text+", "+plural(m.History.Iterations()+lastNumber(m.Report), "iteration")+" in "+plural(len(m.History.Runs)+1, "run"))
	}
	_, checks := checksWords(p.Checks)
	add("Checks", checks)
	rows, more := workerRows(m.Report)
	name := "Agents"
	for _, w := range rows {
		add(name, fmt.Sprintf("%s, %s: %s in %s, tokens %s", w.Agent, w.Model, w.Cost, plural(w.Iterations, "iteration"), w.Tokens))
		name = ""
	}
	if more > 0 {
		add("", fmt.Sprintf("and %d more", more))
	}
	add("Time", span(m.Duration))
	add("Mode", oneLine(m.Mode, 40))
	add("Isolation", oneLine(m.Isolation, 300))
	return facts
}
