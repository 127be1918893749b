package report

// Style says what a terminal can show.
type Style struct {
	Emoji bool // else text markers
	Color bool // ANSI colours
	Width int  // columns: prose is wrapped there, the table cut; 0: never
}

// sign is a mark at the beginning of a line.
type sign int

const (
	ok sign = iota
	bad
	note
	warn
	list
	pending
	active
	finished
	progress
	retry
	begin
	end
	saved
)

// sign is the mark as an emoji or as text.
func (o Style) sign(s sign) string {
	emoji, text := "", ""
	switch s {
	case ok:
		emoji, text = "✅", "[OK]"
	case bad:
		emoji, text = "❌", "[ERR]"
	case note:
		emoji, text = "ℹ️", "[NOTE]"
	case warn:
		emoji, text = "⚠️", "[WARN]"
	case list:
		emoji, text = "📋", "[TODO]"
	case pending:
		emoji, text = "⏸️", "[ ]"
	case active:
		emoji, text = "🔄", "[>]"
	case finished:
		emoji, text = "✅", "[x]"
	case progress:
		emoji, text = "📊", "[=]"
	case retry:
		emoji, text = "🔁", "[RETRY]"
	case begin:
		emoji, text = "▶", ">"
	case end:
		emoji, text = "■", "="
	case saved:
		emoji, text = "💾", "[GIT]"
	}
	if o.Emoji {
		return emoji
	}
	return text
}

// colour is an ANSI rendition; plain adds nothing.
type colour string

const (
	plain  colour = ""
	bold   colour = "1"
	dim    colour = "2"
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
	cyan   colour = "36"
)

func (o Style) paint(s colour, line string) string {
	if !o.Color || s == plain || line == "" {
		return line
	}
	return "\x1b[" + string(s) + "m" + line + "\x1b[0m"
}

// cut shortens a line to the width of the terminal.
func (o Style) cut(line string) string {
	if o.Width <= 0 {
		return line
	}
	return cutTo(line, o.Width)
}

// cutTo shortens a line to width columns.
func cutTo(line string, width int) string {
	if _, more := firstRunes(line, width); !more || width < 2 {
		return line
	}
	first, _ := firstRunes(line, width-1)
	return first + "…"
}
