package trigger

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/lazyregexp"
)

// Bounds of texts, in bytes after cleaning. GitHub's own limit for the body of
// an issue is 65,536 characters.
const (
	maxRaw   = 256 << 10 // of a text as it came; what is beyond is not looked at
	maxBody  = 64 << 10  // of a body, a comment, a prompt
	maxTitle = 1 << 10
	maxShown = 256      // of a title that is shown on one line
	maxLog   = 16 << 10 // of the end of a job's log
	maxRun   = 32       // backticks in a row; more are cut to these
)

// cleaned is a text without what a reader of the page does not see.
type cleaned struct {
	text    string
	hidden  int // characters that cannot be seen
	remarks int // HTML comments and the like, definitions that nothing refers to
	cut     int // bytes that were left out
}

// clean makes a text of others' plain: lines end with \n, and only what can be
// seen is left. A text above limit is cut at its end.
func clean(raw string, limit int) cleaned {
	c := cleaned{}
	if len(raw) > maxRaw {
		c.cut, raw = len(raw)-maxRaw, raw[:maxRaw]
	}
	text := c.visible(raw)
	text = c.entities(text)
	text = c.comments(text)
	text = c.markup(c.footnotes(c.definitions(text)))
	text = shorten(text)
	text = strings.TrimRight(blank.ReplaceAllString(text, ""), " \t\n")
	if len(text) > limit {
		kept := strings.ToValidUTF8(text[:limit], "")
		c.cut, text = c.cut+len(text)-len(kept), kept
	}
	c.text = text
	return c
}

// blank is empty lines at the beginning: what is indented below them is code.
var blank = lazyregexp.New(`\A(?:[ \t]*\n)+`)

var (
	stamp = lazyregexp.New(`(?m)^\x{FEFF}?[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,18}Z `)
	ansi  = lazyregexp.New(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])`)
)

// tail is the end of a log of a job, as GitHub stores it: without the time in
// front of each line and without colours.
func tail(raw string, limit int) cleaned {
	c := cleaned{}
	if most := 8 * limit; len(raw) > most {
		c.cut, raw = len(raw)-most, raw[len(raw)-most:]
	}
	raw = ansi.ReplaceAllString(stamp.ReplaceAllString(raw, ""), "")
	text := strings.Trim(shorten(c.visible(raw)), "\n")
	if len(text) > limit {
		kept := text[len(text)-limit:]
		if _, rest, more := strings.Cut(kept, "\n"); more {
			kept = rest
		}
		kept = strings.ToValidUTF8(kept, "")
		c.cut, text = c.cut+len(text)-len(kept), kept
	}
	c.hidden = 0 // a log is shown as it is: what its programs print is no attempt to hide
	c.text = text
	return c
}

// String is the text, with a word about what was cut off.
func (c cleaned) String() string {
	if c.cut == 0 {
		return c.text
	}
	return fmt.Sprintf("%s\n[… %d bytes more are left out]", c.text, c.cut)
}

// end is the text of a tail, with a word about what was cut off.
func (c cleaned) end() string {
	if c.cut == 0 {
		return c.text
	}
	return fmt.Sprintf("[… %d bytes before this are left out]\n%s", c.cut, c.text)
}

// line is the first line of the text, at most maxShown bytes of it.
func (c cleaned) line() string {
	line, _, _ := strings.Cut(c.text, "\n")
	if len(line) > maxShown {
		line = strings.ToValidUTF8(line[:maxShown-len("…")], "") + "…"
	}
	return line
}

// notes says what was done to the text.
func (c cleaned) notes(whose string) []string {
	var notes []string
	if c.hidden > 0 {
		notes = append(notes, fmt.Sprintf("%s removed from %s", count(c.hidden, "hidden character was", "hidden characters were"), whose))
	}
	if c.remarks > 0 {
		notes = append(notes, fmt.Sprintf("%s removed from %s", count(c.remarks, "hidden comment was", "hidden comments were"), whose))
	}
	if c.cut > 0 {
		notes = append(notes, fmt.Sprintf("%s left out of %s, which is too long", count(c.cut, "byte was", "bytes were"), whose))
	}
	return notes
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// visible takes out the characters that are not seen.
func (c *cleaned) visible(raw string) string {
	raw = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\u0085", "\n").Replace(raw)
	var b strings.Builder
	b.Grow(len(raw))
	before := rune(0)
	for i, r := range raw {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(raw[i:], "\uFFFD"):
			r = '\uFFFD'
		case (r == '\uFE0F' || r == '\uFE0E') && presented(before):
		case invisible(r):
			c.hidden++
			continue
		}
		before = r
		b.WriteRune(r)
	}
	return b.String()
}

// presented says that a character may be followed by the choice between its
// plain and its colourful form.
func presented(r rune) bool {
	return r >= '0' && r <= '9' || r == '#' || r == '*' || r > unicode.MaxLatin1 && !invisible(r) || r == '©' || r == '®'
}

// invisible says that a character is not seen, or moves others about: controls,
// formats (zero width, directions, tags), selectors of variants, fillers, blanks,
// and those without a meaning of their own.
func invisible(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ' || r == 0x7f:
		return true
	case r < 0x7f:
		return false
	case r == '\u2800' || r == '\U0001D159': // signs without ink: empty Braille, the head of no note
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Co, unicode.Cs, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point) ||
		unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) ||
		r >= 0xE0000 && r <= 0xE0FFF
}

var entity = lazyregexp.New(`&(?:#[xX][0-9a-fA-F]{1,8};?|#[0-9]{1,8};?|(?:ZeroWidthSpace|NegativeThinSpace|NegativeMediumSpace|NegativeThickSpace|NegativeVeryThinSpace|NoBreak|shy|zwj|zwnj|lrm|rlm|InvisibleTimes|InvisibleComma|ApplyFunction|af|it|ic);)`)

// entities takes out what a page shows as a character that is not seen.
func (c *cleaned) entities(text string) string {
	if !strings.Contains(text, "&") {
		return text
	}
	return entity.ReplaceAllStringFunc(text, func(e string) string {
		digits, base := strings.Trim(e, "&#;"), 10
		switch {
		case e[1] != '#':
			c.hidden++
			return ""
		case digits[0] == 'x' || digits[0] == 'X':
			digits, base = digits[1:], 16
		}
		n, err := strconv.ParseInt(digits, base, 64)
		if err != nil || n > unicode.MaxRune || !invisible(rune(n)) {
			return e
		}
		c.hidden++
		return ""
	})
}

// comments takes out HTML comments, which no page shows. One that does not end
// hides the rest of the text. A space stays in their place, so that nothing
// around them becomes a comment.
func (c *cleaned) comments(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "<!--")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		c.remarks++
		b.WriteByte(' ')
		if _, text, found = strings.Cut(after, "-->"); !found {
			return b.String()
		}
	}
}

// shorten cuts long rows of backticks, which would make the fence around them
// as long.
func shorten(text string) string {
	if !strings.Contains(text, strings.Repeat("`", maxRun+1)) {
		return text
	}
	return backticks.ReplaceAllString(text, strings.Repeat("`", maxRun))
}

var backticks = lazyregexp.New("`{" + strconv.Itoa(maxRun) + ",}")
