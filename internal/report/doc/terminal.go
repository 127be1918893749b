package doc

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

// Sign is a mark at the beginning of a line.
type Sign int

// The signs.
const (
	Ok Sign = iota
	Bad
	Note
	Warn
	List
	Pending
	Active
	Finished
	Progress
	Retry
	Begin
	End
	Saved
)

// Sign is the mark as an emoji or as text.
func (o Style) Sign(s Sign) string {
	mark := [...][2]string{
		Ok: {"✅", "[OK]"}, Bad: {"❌", "[ERR]"}, Note: {"ℹ️", "[NOTE]"}, Warn: {"⚠️", "[WARN]"}, List: {"📋", "[TODO]"},
		Pending: {"⏸️", "[ ]"}, Active: {"🔄", "[>]"}, Finished: {"✅", "[x]"}, Progress: {"📊", "[=]"}, Retry: {"🔁", "[RETRY]"},
		Begin: {"▶", ">"}, End: {"■", "="}, Saved: {"💾", "[GIT]"},
	}[s]
	if o.Emoji {
		return mark[0]
	}
	return mark[1]
}

// Colour is an ANSI rendition; plain adds nothing.
type Colour string

// The colours.
const (
	Plain  Colour = ""
	Bold   Colour = "1"
	Dim    Colour = "2"
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
	Cyan   Colour = "36"
)

// Paint gives a line a colour where the terminal shows colours.
func (o Style) Paint(s Colour, line string) string {
	if !o.Color || s == Plain || line == "" {
		return line
	}
	return "\x1b[" + string(s) + "m" + line + "\x1b[0m"
}

// Cut shortens a line to the width of the terminal.
func (o Style) Cut(line string) string {
	if o.Width <= 0 {
		return line
	}
	return CutTo(line, o.Width)
}

// CutTo shortens a line to width columns.
func CutTo(line string, width int) string {
	if _, more := FirstRunes(line, width); !more || width < 2 {
		return line
	}
	first, _ := FirstRunes(line, width-1)
	return first + "…"
}

// Terminal is sections as lines of a terminal.
func Terminal(o Style, sections []Section) string {
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

func (t *screen) line(s Colour, text string) { t.b.WriteString(t.Paint(s, t.Cut(text)) + "\n") }

// icon is a sign of our lines, with what stands for it where there are no emoji,
// and the colour that it gives a line; plain is the line's own.
type icon struct {
	emoji  string
	sign   Sign
	colour Colour
}

func icons() []icon {
	return []icon{
		{"✅", Ok, Plain}, {"❌", Bad, Red}, {"⛔", Bad, Red}, {"⚠️", Warn, Yellow}, {"✂️", Warn, Yellow},
		{"⏳", Warn, Yellow}, {"🛑", Warn, Yellow}, {"⏭️", Warn, Yellow}, {"👀", Note, Plain},
	}
}

// words is a text in the characters of the terminal.
func (t *screen) words(text Text) string { return t.signs(text.Plain()) }

func (t *screen) signs(s string) string {
	if t.Emoji {
		return s
	}
	for _, i := range icons() {
		s = strings.ReplaceAll(s, i.emoji, t.Sign(i.sign))
	}
	return s
}

// prose is a line that may be wrapped; a sign in front of it gives it its colour.
func (t *screen) prose(s Colour, mark string, line Text) {
	text := line.Plain()
	for _, i := range icons() {
		if i.colour != Plain && strings.HasPrefix(text, i.emoji) {
			s = i.colour
		}
	}
	for _, l := range Wrap(mark, t.signs(text), t.Width) {
		t.b.WriteString(t.Paint(s, l) + "\n")
	}
}

func (t *screen) section(s Section) {
	switch {
	case len(s.Title) == 0 && len(s.Blocks) == 0:
		return
	case s.Name == "outcome":
		t.prose(Green, "", s.Title)
		return
	case len(s.Title) > 0:
		t.b.WriteByte('\n')
		t.prose(Bold, "", s.Title)
	case s.Name != "reasons":
		t.b.WriteByte('\n')
	}
	for _, b := range s.Blocks {
		t.block(b)
	}
}

func (t *screen) block(b Block) {
	switch b.Kind {
	case paraBlock:
		t.prose(Plain, "  ", b.Text)
	case softBlock, smallBlock:
		t.prose(Dim, "  ", b.Text)
	case TitleBlock:
		t.b.WriteByte('\n')
		t.prose(Bold, "", b.Text)
	case ListBlock:
		for _, l := range b.Lines {
			t.prose(Plain, "  - ", l)
		}
	case preBlock:
		for l := range strings.SplitSeq(Clean(b.Boxed()), "\n") {
			t.line(Dim, "    "+l)
		}
	case LinesBlock:
		for _, l := range b.Lines {
			t.line(Plain, "  "+t.words(l))
		}
	case CautionBlock:
		for _, l := range b.Lines {
			t.prose(Plain, "", Line("❌ ", l))
		}
	case WarningBlock:
		for _, l := range b.Lines {
			t.prose(Plain, "  ", Line("⚠️ ", l))
		}
	case FactsBlock:
		for _, f := range b.Facts {
			t.b.WriteString(fmt.Sprintf("%-13s %s", f.Name, t.words(f.Text)) + "\n")
		}
	case GridBlock:
		for i, l := range b.Grid.laidOut(t.words) {
			t.line([]Colour{Dim, Plain}[min(i, 1)], l)
		}
	}
}

// Wrap breaks text at words, with mark before the first line and as much room
// before the others. A word longer than a line is left whole.
func Wrap(mark, text string, width int) []string {
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

// laidOut is a table in columns.
func (g Grid) laidOut(words func(Text) string) []string {
	g = g.told()
	rows := g.Rows
	if g.Total != nil {
		rows = append(slices.Clip(rows), g.Total)
	}
	table := make([][]string, len(rows)+1)
	var right []bool
	for i, c := range g.Columns {
		right = append(right, c.Right)
		table[0] = append(table[0], c.Title)
		for row, cells := range rows {
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
