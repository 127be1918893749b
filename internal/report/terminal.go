package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// terminal is sections as lines of a terminal.
func terminal(o Style, sections []section) string {
	t := screen{Style: o}
	for _, s := range sections {
		t.section(s)
	}
	return t.b.String()
}

// screen collects the lines.
type screen struct {
	Style
	b strings.Builder
}

func (t *screen) line(s colour, text string) { t.b.WriteString(t.paint(s, t.cut(text)) + "\n") }

// icon is a sign of our lines, with what stands for it where there are no emoji,
// and the colour that it gives a line; plain is the line's own.
type icon struct {
	emoji  string
	sign   sign
	colour colour
}

func icons() []icon {
	return []icon{
		{"✅", ok, plain}, {"❌", bad, red}, {"⛔", bad, red}, {"⚠️", warn, yellow}, {"✂️", warn, yellow},
		{"⏳", warn, yellow}, {"🛑", warn, yellow}, {"⏭️", warn, yellow}, {"👀", note, plain},
	}
}

// words is a text in the characters of the terminal.
func (t *screen) words(text text) string {
	s := text.plain()
	if t.Emoji {
		return s
	}
	for _, i := range icons() {
		s = strings.ReplaceAll(s, i.emoji, t.sign(i.sign))
	}
	return s
}

// prose is a line that may be wrapped; a sign in front of it gives it its colour.
func (t *screen) prose(s colour, mark string, line text) {
	for _, i := range icons() {
		if i.colour != plain && strings.HasPrefix(line.plain(), i.emoji) {
			s = i.colour
		}
	}
	for _, l := range wrap(mark, t.words(line), t.Width) {
		t.b.WriteString(t.paint(s, l) + "\n")
	}
}

func (t *screen) section(s section) {
	switch {
	case len(s.Title) == 0 && len(s.Blocks) == 0:
		return
	case s.Name == "outcome":
		t.prose(green, "", s.Title)
		return
	case len(s.Title) > 0:
		t.b.WriteByte('\n')
		t.prose(bold, "", s.Title)
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
		t.prose(plain, "  ", b.Text)
	case softBlock, smallBlock:
		t.prose(dim, "  ", b.Text)
	case titleBlock:
		t.b.WriteByte('\n')
		t.prose(bold, "", b.Text)
	case listBlock:
		for _, l := range b.Lines {
			t.prose(plain, "  - ", l)
		}
	case linesBlock:
		for _, l := range b.Lines {
			t.line(plain, "  "+t.words(l))
		}
	case cautionBlock:
		for _, l := range b.Lines {
			t.prose(plain, "", line("❌ ", l))
		}
	case warningBlock:
		for _, l := range b.Lines {
			t.prose(plain, "  ", line("⚠️ ", l))
		}
	case factsBlock:
		for _, f := range b.Facts {
			t.b.WriteString(fmt.Sprintf("%-13s %s", f.Name, t.words(f.Text)) + "\n")
		}
	case gridBlock:
		for i, l := range b.Grid.laidOut(t.words) {
			t.line([]colour{dim, plain}[min(i, 1)], l)
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
func (g grid) laidOut(words func(text) string) []string {
	table := make([][]string, len(g.Rows)+1)
	var right []bool
	for i, c := range g.Columns {
		empty := func(cells []text) bool { return slices.Contains([]string{nothing, "unknown"}, cells[i].plain()) }
		if c.Class != "kept" && !slices.ContainsFunc(g.Rows, func(cells []text) bool { return !empty(cells) }) {
			continue
		}
		right = append(right, c.Right)
		table[0] = append(table[0], c.Title)
		for row, cells := range g.Rows {
			table[row+1] = append(table[row+1], words(cells[i]))
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
