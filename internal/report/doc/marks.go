package doc

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
