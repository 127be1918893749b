package trigger

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// Bounds of texts, in bytes after cleaning. GitHub's own limit for the body of
// an issue is 65,536 characters.
const (
	maxRaw   = 64 << 10 // characters of a text as it came; what is beyond is not looked at
	maxBody  = 64 << 10 // of a body, a comment, a prompt
	maxTitle = 1 << 10
	maxShown = 256      // of a title that is shown on one line
	maxLog   = 16 << 10 // of what is kept of a job's log, which is less
	maxRun   = 32       // backticks in a row; more are cut to these
)

// cleaned is a text without what a reader of the page does not see.
type cleaned struct {
	text    string
	hidden  int  // characters that cannot be seen
	remarks int  // HTML comments and the like, definitions that nothing refers to
	removed int  // characters of these
	open    bool // one of them does not end, and hid the rest of the text
	aside   int  // characters left in that a page shows only on demand, such as descriptions of images
	cut     int  // bytes that were left out
}

// clean returns what a page shows of a text in Markdown that others wrote:
// lines end with \n, and only what can be seen is left. A text above limit is cut
// at its end.
func clean(raw string, limit int) cleaned {
	return read(raw, limit, (*cleaned).markup)
}

// plain is clean for a text that no page renders, such as a title or an input:
// markup in it is text.
func plain(raw string, limit int) cleaned {
	return read(raw, limit, func(_ *cleaned, text string) string { return text })
}

func read(raw string, limit int, render func(*cleaned, string) string) cleaned {
	c := cleaned{}
	if kept := first(raw, maxRaw); len(kept) < len(raw) {
		c.cut, raw = len(raw)-len(kept), kept
	}
	text := shorten(c.visible(render(&c, lines(raw))))
	text = strings.TrimRight(blank.ReplaceAllString(text, ""), " \t\n")
	if len(text) > limit {
		kept := strings.ToValidUTF8(text[:limit], "")
		c.cut, text = c.cut+len(text)-len(kept), kept
	}
	c.text = text
	return c
}

// first is the beginning of a text, of at most n characters.
func first(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}

// blank is empty lines at the beginning: what is indented below them is code.
var blank = lazyregexp.New(`\A(?:[ \t]*\n)+`)

// String is the text, with a word about what was cut off.
func (c cleaned) String() string {
	if c.cut == 0 {
		return c.text
	}
	return fmt.Sprintf("%s\n[… %d bytes more are left out]", c.text, c.cut)
}

// line is the first line of the text, at most maxShown bytes of it.
func (c cleaned) line() string {
	line, _, _ := strings.Cut(c.text, "\n")
	if len(line) > maxShown {
		line = strings.ToValidUTF8(line[:maxShown-len("…")], "") + "…"
	}
	return line
}

// maxAside is how many characters that a page shows only on demand are left in
// a text without a word. The description of a screenshot is no news.
const maxAside = 200

// notes says what was done to the text, for people.
func (c cleaned) notes(whose string) []string {
	var notes []string
	if c.hidden > 0 {
		notes = append(notes, fmt.Sprintf("%s removed from %s", count(c.hidden, "hidden character was", "hidden characters were"), whose))
	}
	if c.remarks > 0 {
		note := fmt.Sprintf("%s removed from %s: %s that the page does not show, such as HTML comments",
			count(c.remarks, "hidden passage was", "hidden passages were"), whose, characters(c.removed))
		if c.open {
			note += ". The last one does not end, so that the page shows nothing below its beginning: close it, or put it in code"
		}
		notes = append(notes, note)
	}
	if c.aside > maxAside {
		notes = append(notes, fmt.Sprintf("%s of %s are shown by the page only on demand (descriptions of images, titles of links, attributes of HTML), and were left in", characters(c.aside), whose))
	}
	if c.cut > 0 {
		notes = append(notes, fmt.Sprintf("%s left out of %s, which is too long", count(c.cut, "byte was", "bytes were"), whose))
	}
	return notes
}

// aboutIt says what was done to the text, for the agent; empty when nothing was.
func (c cleaned) aboutIt() string {
	var about []string
	if c.hidden > 0 {
		about = append(about, count(c.hidden, "hidden character", "hidden characters")+" removed")
	}
	if c.remarks > 0 {
		about = append(about, fmt.Sprintf("%s of %s removed", count(c.remarks, "hidden passage", "hidden passages"), characters(c.removed)))
	}
	if c.aside > maxAside {
		about = append(about, characters(c.aside)+" are shown by its page only on demand")
	}
	if len(about) == 0 {
		return ""
	}
	return "; " + strings.Join(about, "; ")
}

func characters(n int) string { return count(n, "character", "characters") }

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// lines ends each line with \n.
func lines(raw string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\u0085", "\n").Replace(raw)
}

// visible takes out the characters that are not seen.
func (c *cleaned) visible(raw string) string {
	var b strings.Builder
	b.Grow(len(raw))
	before, flag := rune(0), 0
	for i, r := range raw {
		switch {
		case i < flag: // within a flag of a part of a country
		case r == utf8.RuneError && !strings.HasPrefix(raw[i:], "\uFFFD"):
			r = '\uFFFD'
		case (r == '\uFE0F' || r == '\uFE0E') && presented(before):
		case (r == zwnj || r == zwj) && joins(before, r, raw[i+utf8.RuneLen(r):]):
		case r == blackFlag:
			flag = i + len(regionalFlag(raw[i:]))
		case invisible(r):
			c.hidden++
			continue
		}
		before = r
		b.WriteRune(r)
	}
	return b.String()
}

const (
	zwnj      = '\u200C' // zero-width non-joiner
	zwj       = '\u200D' // zero-width joiner
	blackFlag = '\U0001F3F4'
)

// joining are the scripts whose spelling needs joiners (Unicode, UAX #31, 2.3).
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
	unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// joins reports whether a joiner between a character and the text behind it is a
// part of the spelling: behind a letter of a script that needs joiners, or
// between two pictures that it makes one.
func joins(before, joiner rune, after string) bool {
	if unicode.In(before, joining...) && (unicode.IsLetter(before) || unicode.IsMark(before)) {
		return true
	}
	next, _ := utf8.DecodeRuneInString(after)
	return joiner == zwj && (picture(before) || before == '\uFE0F' || before >= 0x1F3FB && before <= 0x1F3FF) && picture(next)
}

// picture reports whether a character may be a part of an emoji.
func picture(r rune) bool { return r > unicode.MaxLatin1 && unicode.Is(unicode.So, r) }

// regionalFlag is the emoji of the flag of England, Scotland or Wales that a text
// begins with: the only ones with tag characters that are in use.
func regionalFlag(text string) string {
	for _, region := range []string{"gbeng", "gbsct", "gbwls"} {
		flag := string(blackFlag) + strings.Map(func(r rune) rune { return 0xE0000 + r }, region) + "\U000E007F"
		if strings.HasPrefix(text, flag) {
			return flag
		}
	}
	return ""
}

// presented reports whether a character may be followed by the choice between its
// plain and its colourful form.
func presented(r rune) bool {
	return r >= '0' && r <= '9' || r == '#' || r == '*' || r > unicode.MaxLatin1 && !invisible(r) || r == '©' || r == '®'
}

// invisible reports whether a character is not seen, or moves others about: controls,
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

// shorten cuts long rows of backticks, which would make the fence around them
// as long.
func shorten(text string) string {
	if !strings.Contains(text, strings.Repeat("`", maxRun+1)) {
		return text
	}
	return backticks.ReplaceAllString(text, strings.Repeat("`", maxRun))
}

var backticks = lazyregexp.New("`{" + strconv.Itoa(maxRun) + ",}")
