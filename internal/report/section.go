package report

import (
	"strings"
	"unicode/utf8"
)

// A document is a loop over sections, a section holds blocks, a block holds
// texts. They are built once from the record; markdown.go, page.go and
// terminal.go render them.

// section is a part of a document that is kept whole or left out whole.
type section struct {
	Name   string // by which it is told that it was left out for length; empty: its title
	Title  text   // empty: none
	Fold   text   // what Markdown folds the section under; empty: it is open
	Blocks []block
}

// block is a part of a section.
type block struct {
	Kind   blockKind
	Text   text // of a paragraph; the summary of a fold
	Lines  []text
	Pre    string // of a preformatted text, foreign
	Facts  []fact
	Grid   grid
	Chart  series
	Blocks []block // of a fold
}

// blockKind is a name that the page's template asks for.
type blockKind string

// The kinds of blocks.
const (
	paraBlock    blockKind = "para"
	softBlock    blockKind = "soft"  // a remark on what stands above it
	smallBlock   blockKind = "small" // small print
	titleBlock   blockKind = "title" // of a part of the section
	listBlock    blockKind = "list"
	linesBlock   blockKind = "lines"   // of a terminal, laid out
	cautionBlock blockKind = "caution" // what failed, in a box
	warningBlock blockKind = "warning"
	preBlock     blockKind = "pre"
	foldBlock    blockKind = "fold"
	factsBlock   blockKind = "facts"
	gridBlock    blockKind = "grid"
	chartBlock   blockKind = "chart"
)

// fact is a figure with its name. A Plain one speaks for itself in a sentence.
type fact struct {
	Name  string
	Plain bool
	Text  text
}

// grid is a table.
type grid struct {
	Columns []column
	Rows    [][]text
	Total   []text // the last row; nil: none
}

// column is a column of a table. Class is for the page.
type column struct {
	Title string
	Right bool // numbers
	Class string
	Room  int // runes of its longest word, which is not to be broken
}

// text is a line: words of ours, and foreign ones, which each rendering makes
// harmless in its own way.
type text []part

// part is a piece of a text.
type part struct {
	Form  form
	Words string
	Limit int // runes of foreign words
	URL   string
	Shown bool // the address, where a link cannot be followed
	In    text
}

// form is how a part looks.
type form string

// The forms of parts.
const (
	ownForm     form = ""        // our words, as they are
	tightForm   form = "tight"   // our words, not to be broken over two lines
	foreignForm form = "foreign" // somebody else's words
	monoForm    form = "mono"    // somebody else's words as code, in quotes where there is no such thing
	bareForm    form = "bare"    // as code, without quotes elsewhere
	strongForm  form = "strong"
	linkForm    form = "link"
	breakForm   form = "break" // a new line within a cell
)

// line makes a text of strings, which are words of ours, parts and texts.
func line(parts ...any) text {
	var t text
	for _, one := range parts {
		switch one := one.(type) {
		case string:
			t = append(t, part{Words: one})
		case part:
			t = append(t, one)
		case text:
			t = append(t, one...)
		}
	}
	return t
}

func foreign(s string, limit int) part { return part{Form: foreignForm, Words: s, Limit: limit} }
func mono(s string, limit int) part    { return part{Form: monoForm, Words: s, Limit: limit} }
func bare(s string, limit int) part    { return part{Form: bareForm, Words: s, Limit: limit} }
func tight(s string) part              { return part{Form: tightForm, Words: s} }
func strong(parts ...any) part         { return part{Form: strongForm, In: line(parts...)} }
func lineBreak() part                  { return part{Form: breakForm} }

// linked is a link where the address is a plain web address, else its words.
func linked(address string, parts ...any) text {
	if address = webAddress(address); address == "" {
		return line(parts...)
	}
	return text{{Form: linkForm, URL: address, In: line(parts...)}}
}

// joined is texts in a row.
func joined(texts []text, between string) text {
	var all text
	for i, t := range texts {
		if i > 0 {
			all = append(all, part{Words: between})
		}
		all = append(all, t...)
	}
	return all
}

func para(parts ...any) block  { return block{Kind: paraBlock, Text: line(parts...)} }
func soft(parts ...any) block  { return block{Kind: softBlock, Text: line(parts...)} }
func small(parts ...any) block { return block{Kind: smallBlock, Text: line(parts...)} }
func pre(s string) block       { return block{Kind: preBlock, Pre: s} }

// bulleted is a list, or nothing.
func bulleted(lines []text) []block {
	if len(lines) == 0 {
		return nil
	}
	return []block{{Kind: listBlock, Lines: lines}}
}

// fold hides blocks under a summary.
func fold(summary text, blocks ...block) block {
	return block{Kind: foldBlock, Text: summary, Blocks: blocks}
}

// wording is what a rendering makes of each form of words.
type wording struct {
	foreign, mono func(s string, limit int) string
	tight         func(s string) string
	strong        [2]string
	link          func(label, address string) string
	newline       string
	bare          bool // there is no markup
}

func (w wording) text(t text) string {
	var b strings.Builder
	for _, s := range t {
		switch s.Form {
		case ownForm:
			b.WriteString(s.Words)
		case tightForm:
			b.WriteString(w.tight(s.Words))
		case foreignForm:
			b.WriteString(w.foreign(s.Words, s.Limit))
		case monoForm:
			b.WriteString(w.mono(s.Words, s.Limit))
		case bareForm:
			if w.bare {
				b.WriteString(oneLine(s.Words, s.Limit))
			} else {
				b.WriteString(w.mono(s.Words, s.Limit))
			}
		case strongForm:
			b.WriteString(w.strong[0] + w.text(s.In) + w.strong[1])
		case linkForm:
			b.WriteString(w.link(w.text(s.In), s.URL))
			if s.Shown && w.bare {
				b.WriteString(" " + oneLine(s.URL, 500))
			}
		case breakForm:
			b.WriteString(w.newline)
		}
	}
	return b.String()
}

// plain is the text without markup.
func (t text) plain() string {
	same := func(s string) string { return s }
	return wording{
		foreign: oneLine, mono: func(s string, limit int) string { return "'" + oneLine(s, limit) + "'" }, tight: same,
		link: func(label, _ string) string { return label }, newline: ", ", bare: true,
	}.text(t)
}

// longest is the runes of the longest of some texts.
func longest(texts []string) int {
	n := 0
	for _, t := range texts {
		n = max(n, utf8.RuneCountInString(t))
	}
	return n
}

// nothing stands in a table where there is no value.
const nothing = "–"
