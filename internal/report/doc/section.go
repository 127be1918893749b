// Package doc is what documents are made of: sections, blocks and texts, and how
// they look as Markdown, as a page of HTML and on a terminal. Words that are not
// ours are told apart from ours, and made harmless by the rendering: nothing in
// them becomes markup, a mention, a reference or a control character.
package doc

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A document is a loop over sections, a section holds blocks, a block holds
// texts. They are built once from the record; markdown.go, page.go and
// terminal.go render them.

// Section is a part of a document that is kept whole or left out whole.
type Section struct {
	Name   string // by which it is told that it was left out for length; empty: its title
	Title  Text   // empty: none
	Fold   Text   // what Markdown folds the section under; empty: it is open
	Blocks []Block
	Each   iter.Seq[Block] // of the page: blocks that are made one after the other, and can be filtered
}

// Block is a part of a section.
type Block struct {
	Kind   blockKind
	ID     string // of a fold, for the links of the page
	Text   Text   // of a paragraph; the summary of a fold
	Lines  []Text
	Pre    string // of a preformatted text, foreign
	Facts  []Fact
	Grid   Grid
	Chart  Series
	Times  Timeline
	Blocks []Block // of a fold
}

// blockKind is a name that the page's template asks for.
type blockKind string

// The kinds of blocks.
const (
	paraBlock    blockKind = "para"
	softBlock    blockKind = "soft"  // a remark on what stands above it
	smallBlock   blockKind = "small" // small print
	TitleBlock   blockKind = "title" // of a part of the section
	ListBlock    blockKind = "list"
	LinesBlock   blockKind = "lines"   // of a terminal, laid out
	CautionBlock blockKind = "caution" // what failed, in a box
	WarningBlock blockKind = "warning"
	preBlock     blockKind = "pre"
	foldBlock    blockKind = "fold"
	FactsBlock   blockKind = "facts"
	GridBlock    blockKind = "grid"
	ChartBlock   blockKind = "chart"
	TimesBlock   blockKind = "times"

	// Of the page alone.
	lineBlock blockKind = "line" // among folds, with nothing to open
	saidBlock blockKind = "said"
	diffBlock blockKind = "diff"
)

// Fact is a figure with its name. A Plain one speaks for itself in a sentence.
type Fact struct {
	Name  string
	Plain bool
	Text  Text
}

// Grid is a table.
type Grid struct {
	Columns []Column
	Rows    [][]Text
	Total   []Text // the last row; nil: none
}

// told is the table without the columns, after the first, for which no row has a value,
// such as the tokens of a plain script.
func (g Grid) told() Grid {
	rows := g.Rows
	if g.Total != nil { // of rows that are not shown, too
		rows = append(slices.Clip(rows), g.Total)
	}
	empty := func(column int) bool {
		return !slices.ContainsFunc(rows, func(cells []Text) bool {
			return !slices.Contains([]string{"", Nothing, "unknown"}, cells[column].Plain())
		})
	}
	kept := Grid{Rows: make([][]Text, len(g.Rows))}
	for i, c := range g.Columns {
		if i > 0 && empty(i) {
			continue
		}
		kept.Columns = append(kept.Columns, c)
		for row, cells := range g.Rows {
			kept.Rows[row] = append(kept.Rows[row], cells[i])
		}
		if g.Total != nil {
			kept.Total = append(kept.Total, g.Total[i])
		}
	}
	return kept
}

// Column is a column of a table. Class is for the page.
type Column struct {
	Title string
	Right bool // numbers
	Class string
	Room  int // runes of its longest word, which is not to be broken
}

// Text is a line: words of ours, and foreign ones, which each rendering makes
// harmless in its own way.
type Text []Part

// Part is a piece of a text.
type Part struct {
	Form  form
	Words string
	Limit int // runes of foreign words
	URL   string
	Shown bool // the address, where a link cannot be followed
	In    Text
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
	jumpForm    form = "jump" // a link to a fold of the page
	faintForm   form = "faint"
	breakForm   form = "break" // a new line within a cell
)

// Line makes a text of strings, which are words of ours, parts and texts.
func Line(parts ...any) Text {
	var t Text
	for _, one := range parts {
		switch one := one.(type) {
		case string:
			t = append(t, Part{Words: one})
		case Part:
			t = append(t, one)
		case Text:
			t = append(t, one...)
		default:
			panic(fmt.Sprintf("doc.Line takes strings, parts and texts, not a %T", one))
		}
	}
	return t
}

// Foreign is somebody else's words, at most limit runes of them.
func Foreign(s string, limit int) Part { return Part{Form: foreignForm, Words: s, Limit: limit} }

// Mono is somebody else's words as code, in quotes where there is no such thing.
func Mono(s string, limit int) Part { return Part{Form: monoForm, Words: s, Limit: limit} }

// Bare is Mono without quotes.
func Bare(s string, limit int) Part { return Part{Form: bareForm, Words: s, Limit: limit} }

// Tight is our words, not to be broken over two lines.
func Tight(s string) Part { return Part{Form: tightForm, Words: s} }

// Strong is a text that stands out.
func Strong(parts ...any) Part { return Part{Form: strongForm, In: Line(parts...)} }

// LineBreak begins a new line in a cell.
func LineBreak() Part { return Part{Form: breakForm} }

// Linked is a link where the address is a plain web address, else its words.
func Linked(address string, parts ...any) Text {
	if address = WebAddress(address); address == "" {
		return Line(parts...)
	}
	return Text{{Form: linkForm, URL: address, In: Line(parts...)}}
}

// Jump is our words with a link to a fold, on the page.
func Jump(id, words string) Part { return Part{Form: jumpForm, URL: id, Words: words} }

// Faint is our words, less important than what stands beside them.
func Faint(words string) Part { return Part{Form: faintForm, Words: words} }

// Joined is texts in a row.
func Joined(texts []Text, between string) Text {
	var all Text
	for i, t := range texts {
		if i > 0 {
			all = append(all, Part{Words: between})
		}
		all = append(all, t...)
	}
	return all
}

// Para is a paragraph.
func Para(parts ...any) Block { return Block{Kind: paraBlock, Text: Line(parts...)} }

// Soft is a remark on what stands above it.
func Soft(parts ...any) Block { return Block{Kind: softBlock, Text: Line(parts...)} }

// Small is small print.
func Small(parts ...any) Block { return Block{Kind: smallBlock, Text: Line(parts...)} }

// Pre is somebody else's text, line by line.
func Pre(s string) Block { return Block{Kind: preBlock, Pre: s} }

// Item is a line among folds.
func Item(parts ...any) Block { return Block{Kind: lineBlock, Text: Line(parts...)} }

// Said is somebody else's prose.
func Said(s string) Block { return Block{Kind: saidBlock, Pre: s} }

// Diff is the lines of a file's patch.
func Diff(s string) Block { return Block{Kind: diffBlock, Pre: s} }

// Bulleted is a list, or nothing.
func Bulleted(lines []Text) []Block {
	if len(lines) == 0 {
		return nil
	}
	return []Block{{Kind: ListBlock, Lines: lines}}
}

// Fold hides blocks under a summary.
func Fold(summary Text, blocks ...Block) Block {
	return Block{Kind: foldBlock, Text: summary, Blocks: blocks}
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

func (w wording) text(t Text) string {
	var b strings.Builder
	for _, s := range t {
		switch s.Form {
		case ownForm, jumpForm, faintForm:
			b.WriteString(s.Words)
		case tightForm:
			b.WriteString(w.tight(s.Words))
		case foreignForm:
			b.WriteString(w.foreign(s.Words, s.Limit))
		case monoForm:
			b.WriteString(w.mono(s.Words, s.Limit))
		case bareForm:
			if w.bare {
				b.WriteString(OneLine(s.Words, s.Limit))
			} else {
				b.WriteString(w.mono(s.Words, s.Limit))
			}
		case strongForm:
			b.WriteString(w.strong[0] + w.text(s.In) + w.strong[1])
		case linkForm:
			b.WriteString(w.link(w.text(s.In), s.URL))
			if s.Shown && w.bare {
				b.WriteString(" " + OneLine(s.URL, 500))
			}
		case breakForm:
			b.WriteString(w.newline)
		}
	}
	return b.String()
}

// Plain is the text without markup.
func (t Text) Plain() string {
	same := func(s string) string { return s }
	return wording{
		foreign: OneLine, mono: func(s string, limit int) string { return "'" + OneLine(s, limit) + "'" }, tight: same,
		link: func(label, _ string) string { return label }, newline: ", ", bare: true,
	}.text(t)
}

// Fitting are the rows of a table, at most so many of so many bytes, and what they
// are of. sorted puts to the front what is to be shown where there is no room for all.
func Fitting[T any](list []T, sorted func([]T) []T, row func(T) []Text, most, bytes int) (shown []T, rows [][]Text) {
	if rows = fitting(list, row, most, bytes); len(rows) < len(list) {
		list = sorted(list)
		rows = fitting(list, row, most, bytes)
	}
	return list[:len(rows)], rows
}

func fitting[T any](list []T, row func(T) []Text, most, bytes int) (rows [][]Text) {
	for i, one := range list {
		cells := row(one)
		if bytes -= len(MarkdownRow(cells)); i == most || bytes < 0 {
			break
		}
		rows = append(rows, cells)
	}
	return rows
}

// Count is a count that does not shout when there is none.
func Count(n int) string {
	if n <= 0 {
		return Nothing
	}
	return strconv.Itoa(n)
}

// Longest is the runes of the longest of some texts.
func Longest(texts []string) int {
	n := 0
	for _, t := range texts {
		n = max(n, utf8.RuneCountInString(t))
	}
	return n
}

// Nothing stands in a table where there is no value.
const Nothing = "–"
