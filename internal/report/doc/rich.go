package doc

import (
	"bytes"
	"fmt"
	"html"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	table "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Rich is somebody else's Markdown as blocks, at most limit runes of it: paragraphs, lists and
// code. A heading is a paragraph that stands out, a table a list of its rows, a link its
// words with its host, an image what stands in its place; HTML is shown as it was written.
func Rich(markdown string, limit int) []Block {
	markdown, cut := Head(markdown, limit)
	r := rich{source: []byte(markdown), limit: limit}
	p := parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...), parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(), util.Prioritized(extension.NewTableParagraphTransformer(), 200))...),
	)
	r.blocks(p.Parse(text.NewReader(r.source)))
	if cut {
		r.list = append(r.list, Soft("Cut here; report.json has all of it."))
	}
	return r.list
}

// wrappedRunes is how long a line is at least that ends only because it is full.
const wrappedRunes = 60

// rich collects the blocks of a Markdown text.
type rich struct {
	source []byte
	limit  int
	list   []Block
	strong bool // within what stands out already
}

func (r *rich) blocks(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			r.strong = true
			if t := r.line(n); len(t) > 0 {
				r.list = append(r.list, Para(Strong(t)))
			}
			r.strong = false
		case *ast.Paragraph, *ast.TextBlock:
			if t := r.line(n); len(t) > 0 {
				r.list = append(r.list, Para(t))
			}
		case *ast.List:
			r.list = append(r.list, Bulleted(r.items(n))...)
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			if code := string(n.Lines().Value(r.source)); strings.TrimSpace(code) != "" {
				r.list = append(r.list, Pre(code))
			}
		case *ast.HTMLBlock:
			r.list = append(r.list, Para(r.foreign(strings.TrimSpace(string(n.Lines().Value(r.source))))))
		case *table.Table:
			r.list = append(r.list, Bulleted(r.rows(n))...)
		default:
			r.blocks(n)
		}
	}
}

// items are the lines of a list; those of a list within it follow the item they belong to.
func (r *rich) items(list *ast.List) (lines []Text) {
	number := list.Start
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		var t Text
		if list.IsOrdered() {
			t = Line(Foreign(fmt.Sprintf("%d.", number), 20))
			number++
		}
		var below []Text
		for n := item.FirstChild(); n != nil; n = n.NextSibling() {
			if inner, is := n.(*ast.List); is {
				below = append(below, r.items(inner)...)
				continue
			}
			if len(t) > 0 {
				t = append(t, Part{Words: " "})
			}
			t = append(t, r.line(n)...)
		}
		lines = append(append(lines, t), below...)
	}
	return lines
}

// rows are the lines of a table, as a list.
func (r *rich) rows(t *table.Table) (lines []Text) {
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []Text
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, r.line(cell))
		}
		lines = append(lines, Joined(cells, " · "))
	}
	return lines
}

// line is what stands within a block.
func (r *rich) line(n ast.Node) Text {
	switch n := n.(type) {
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		return r.code(string(n.Lines().Value(r.source)))
	case *ast.HTMLBlock:
		return r.foreign(string(n.Lines().Value(r.source)))
	}
	var t Text
	var plain strings.Builder // words in a row are one text: a reference may be made of several
	flush := func() {
		t = append(t, r.foreign(plain.String())...)
		plain.Reset()
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			plain.WriteString(html.UnescapeString(string(util.UnescapePunctuations(c.Value(r.source)))))
			if !c.SoftLineBreak() && !c.HardLineBreak() {
				continue
			}
			// A forge breaks lines where the author did, unless that only wrapped them.
			if line := r.source[:c.Segment.Stop]; utf8.RuneCount(line[bytes.LastIndexByte(line, '\n')+1:]) < wrappedRunes {
				flush()
				t = append(t, LineBreak())
			} else {
				plain.WriteByte(' ')
			}
			continue
		case *ast.String:
			plain.Write(c.Value)
			continue
		case *ast.RawHTML:
			plain.Write(c.Segments.Value(r.source))
			continue
		case *ast.AutoLink:
			plain.Write(c.URL(r.source))
			continue
		}
		flush()
		switch c := c.(type) {
		case *ast.CodeSpan:
			var code strings.Builder
			for in := c.FirstChild(); in != nil; in = in.NextSibling() {
				if in, is := in.(*ast.Text); is {
					code.Write(in.Value(r.source))
				}
			}
			t = append(t, r.code(code.String())...)
		case *ast.Emphasis:
			if c.Level < 2 || r.strong {
				t = append(t, r.line(c)...)
				continue
			}
			r.strong = true
			t = append(t, Strong(r.line(c)))
			r.strong = false
		case *ast.Link:
			t = append(append(t, r.line(c)...), host(c.Destination)...)
		case *ast.Image:
			t = append(append(t, r.line(c)...), host(c.Destination)...)
		default:
			t = append(t, r.line(c)...)
		}
	}
	flush()
	return t
}

func (r *rich) code(s string) Text {
	if OneLine(s, r.limit) == "" {
		return nil
	}
	return Line(Bare(s, r.limit))
}

// foreign keeps the spaces around words, which stand beside others.
func (r *rich) foreign(s string) Text {
	words := strings.TrimSpace(s)
	if words == "" {
		return spaced(s)
	}
	before, after, _ := strings.Cut(s, words)
	return Line(spaced(before), Foreign(words, r.limit), spaced(after))
}

func spaced(s string) Text {
	if s == "" {
		return nil
	}
	return Line(" ")
}

// host says where a link leads.
func host(address []byte) Text {
	u, err := url.Parse(string(address))
	if err != nil || u.Host == "" {
		return nil
	}
	return Line(" (", Bare(u.Host, 100), ")")
}
