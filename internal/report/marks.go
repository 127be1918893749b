package report

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
func (f *Formatter) sign(s sign) string {
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
	if f.Emoji {
		return emoji
	}
	return text
}

// style is an ANSI rendition; plain adds nothing.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

func (f *Formatter) paint(s style, line string) string {
	if !f.Color || s == plain || line == "" {
		return line
	}
	return "\x1b[" + string(s) + "m" + line + "\x1b[0m"
}
