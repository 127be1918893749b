package trigger

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	notes "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// markup takes out of a text in Markdown what a forge's page does not show of it:
// comments of HTML outside of code, definitions of links and footnotes that
// nothing refers to. A space stays in the place of a comment.
func (c *cleaned) markup(source string) string {
	if !strings.ContainsAny(source, "<&[`~") {
		return source
	}
	p := &page{source: source}
	p.read()
	p.hide()
	slices.SortFunc(p.unseen, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	slices.SortFunc(p.code, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	c.aside, c.open = p.aside, p.open
	var out strings.Builder
	at, code := 0, p.code
	for _, s := range append(p.unseen, span{from: len(source), to: len(source)}) {
		if s.from < at { // within the one before
			continue
		}
		for ; len(code) > 0 && code[0].to <= s.from; code = code[1:] {
			if code[0].from < at { // within what is not shown
				continue
			}
			out.WriteString(c.entities(source[at:code[0].from]))
			out.WriteString(source[code[0].from:code[0].to])
			at = code[0].to
		}
		out.WriteString(c.entities(source[at:s.from]))
		out.WriteString(s.leaves)
		if at = s.to; s.to > s.from {
			c.remarks, c.removed = c.remarks+1, c.removed+utf8.RuneCountInString(source[s.from:s.to])
		}
	}
	return out.String()
}

// span is a part of a text.
type span struct {
	from, to int
	leaves   string // what stays in its place when it is taken out
}

// page is what a renderer of Markdown makes of a text (CommonMark 0.31, with
// GitHub's tables and footnotes).
type page struct {
	source string
	code   []span  // shown as it is
	html   []piece // goes into the page as it is
	unseen []span
	aside  int  // characters that are shown on demand only
	open   bool // a comment does not end
}

// piece is a part of a text that goes into the page as it is.
type piece struct {
	span
	node ast.Node
}

// read finds code, HTML and definitions that nothing refers to.
func (p *page) read() {
	root := parser.NewParser(
		parser.WithBlockParsers(append(parser.DefaultBlockParsers(), util.Prioritized(extension.NewFootnoteBlockParser(), 999))...),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(), util.Prioritized(extension.NewFootnoteParser(), 101))...),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(), util.Prioritized(&tables{ParagraphTransformer: extension.NewTableParagraphTransformer(), page: p}, 200))...),
	).Parse(text.NewReader([]byte(p.source)))
	links := references(root)
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.HTMLBlock:
			p.raw(n, n.Lines())
			if n.HasClosure() {
				p.html = append(p.html, piece{span{n.ClosureLine.Start, n.ClosureLine.Stop, ""}, n})
			}
		case *ast.RawHTML:
			p.raw(n, n.Segments)
		case *ast.FencedCodeBlock:
			p.code = append(p.code, spans(n.Lines())...)
			if n.Info != nil {
				_, more, _ := strings.Cut(string(n.Info.Value([]byte(p.source))), " ")
				p.aside += utf8.RuneCountInString(more)
			}
		case *ast.CodeBlock:
			p.code = append(p.code, spans(n.Lines())...)
		case *ast.CodeSpan:
			for child := n.FirstChild(); child != nil; child = child.NextSibling() {
				if t, ok := child.(*ast.Text); ok {
					p.code = append(p.code, span{from: t.Segment.Start, to: t.Segment.Stop})
				}
			}
		case *ast.LinkReferenceDefinition:
			label := util.ToLinkReference(n.Label)
			if !links[label] {
				p.unseen = append(p.unseen, whole(spans(n.Lines())))
			}
			delete(links, label) // of several definitions the first one counts
		case *notes.Footnote:
			if n.Index < 0 { // nothing refers to it
				p.unseen = append(p.unseen, p.note(n))
				return ast.WalkSkipChildren, nil
			}
		case *ast.Link:
			p.aside += utf8.RuneCount(n.Title)
			if !n.HasChildren() || bytes.ContainsAny(n.Destination, " \t") {
				p.aside += utf8.RuneCount(n.Destination)
			}
		case *ast.Image:
			p.aside += utf8.RuneCount(n.Title) + p.words(n)
		}
		return ast.WalkContinue, nil
	})
}

// maxCells bounds the cells of all tables of a text: more than can be written out in
// one, and few enough to be held. A renderer adds the cells that short rows lack.
const maxCells = 1 << 17

// tables reads tables. What would have more cells than are allowed is taken for
// unseen: GitHub gives up on such tables, too.
type tables struct {
	parser.ParagraphTransformer
	page  *page
	cells int
}

var tableRule = lazyregexp.New(`^[ \t|:-]*-[ \t|:-]*\n?$`)

// Transform makes a table of a paragraph that is one.
func (t *tables) Transform(n *ast.Paragraph, reader text.Reader, pc parser.Context) {
	columns := 0
	for _, s := range spans(n.Lines()) {
		if line := t.page.source[s.from:s.to]; tableRule.MatchString(line) {
			columns = max(columns, strings.Count(line, "|")+1)
		}
	}
	if t.cells += columns * n.Lines().Len(); columns > 0 && t.cells > maxCells {
		t.page.unseen = append(t.page.unseen, whole(spans(n.Lines())))
		return
	}
	t.ParagraphTransformer.Transform(n, reader, pc)
}

// references are the labels of the links of a text.
func references(root ast.Node) map[string]bool {
	labels := map[string]bool{}
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		var ref *ast.ReferenceLink
		switch n := n.(type) {
		case *ast.Link:
			ref = n.Reference
		case *ast.Image:
			ref = n.Reference
		}
		if entering && ref != nil {
			labels[util.ToLinkReference(ref.Value)] = true
		}
		return ast.WalkContinue, nil
	})
	return labels
}

func (p *page) raw(n ast.Node, lines *text.Segments) {
	for _, s := range spans(lines) {
		p.html = append(p.html, piece{s, n})
	}
}

func spans(lines *text.Segments) []span {
	var all []span
	for _, line := range lines.Sliced(0, lines.Len()) {
		all = append(all, span{from: line.Start, to: line.Stop})
	}
	return all
}

// whole is from the beginning of the first to the end of the last.
func whole(spans []span) span {
	s := span{}
	for i, one := range spans {
		if i == 0 || one.from < s.from {
			s.from = one.from
		}
		s.to = max(s.to, one.to)
	}
	return s
}

// words counts the characters of the text below a node.
func (p *page) words(n ast.Node) int {
	sum := 0
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if t, ok := child.(*ast.Text); ok {
			sum += utf8.RuneCountInString(p.source[t.Segment.Start:t.Segment.Stop])
		}
		sum += p.words(child)
	}
	return sum
}

// note is a whole footnote, with its label.
func (p *page) note(n *notes.Footnote) span {
	s := span{from: n.Pos(), to: n.Pos() + len("[^]:") + len(n.Ref)}
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if entering && n.Type() == ast.TypeBlock {
			s.to = max(s.to, whole(spans(n.Lines())).to)
		}
		return ast.WalkContinue, nil
	})
	s.to = s.from + len(strings.TrimRight(p.source[s.from:s.to], "\n"))
	return s
}

// hide finds what a parser of HTML takes for comments: <!-- -->, and what begins
// like a declaration, an instruction or the end of a tag and is none (HTML
// standard, "bogus comment state"). A comment that its block does not end goes on
// through the blocks below, and so does an attribute in quotes; the others end
// with the next tag, which the renderer writes.
func (p *page) hide() {
	slices.SortStableFunc(p.html, func(a, b piece) int { return cmp.Compare(a.from, b.from) })
	var h markupState
	for i, one := range p.html {
		if i > 0 && one.node != p.html[i-1].node {
			p.between(&h, p.html[i-1].to)
		}
		for at := one.from; at < one.to; {
			at = p.step(&h, at, one.to)
		}
	}
	if h.in != markupText && len(p.html) > 0 {
		p.between(&h, p.html[len(p.html)-1].to)
	}
	if h.in != markupText {
		p.open = true
		p.unseen = append(p.unseen, span{h.begin, len(p.source), " "})
	}
}

// markupState is where a parser of HTML is.
type markupState struct {
	in      int // one of the constants below
	begin   int // of the comment or the tag
	equals  bool
	quote   byte // that an attribute of the tag is in
	crossed bool // the tag began in another block
}

const (
	markupText = iota
	markupComment
	markupBogus
	markupTag
)

// between ends at what does not go on through the blocks below.
func (p *page) between(h *markupState, at int) {
	switch {
	case h.in == markupBogus:
		p.unseen = append(p.unseen, span{h.begin, at, " "})
		h.in = markupText
	case h.in == markupTag && h.quote == 0:
		p.tag(h, at)
	}
	h.crossed = h.in == markupTag
}

// step reads on from at, and returns up to where.
func (p *page) step(h *markupState, at, to int) int {
	rest := p.source[at:to]
	switch h.in {
	case markupComment:
		end := commentEnd.FindStringIndex(rest)
		if end == nil {
			return to
		}
		p.unseen = append(p.unseen, span{h.begin, at + end[1], " "})
		h.in = markupText
		return at + end[1]
	case markupBogus:
		end := strings.IndexByte(rest, '>')
		if end < 0 {
			return to
		}
		p.unseen = append(p.unseen, span{h.begin, at + end + 1, " "})
		h.in = markupText
		return at + end + 1
	case markupTag:
		return p.within(h, at)
	}
	next := strings.IndexByte(rest, '<')
	if next < 0 {
		return to
	}
	rest, at = rest[next:], at+next
	*h = markupState{begin: at}
	switch m := markupBegin.FindStringSubmatch(rest); {
	case m == nil:
		return at + 1
	case m[1] != "": // <!--> and <!--->
		p.unseen = append(p.unseen, span{at, at + len(m[1]), " "})
	case m[2] != "":
		h.in = markupComment
	case m[3] != "":
		h.in = markupTag
	default:
		h.in = markupBogus
	}
	return at + len(markupBegin.FindString(rest))
}

var (
	commentEnd  = lazyregexp.New(`--!?>`)
	markupBegin = lazyregexp.New(`^(?:(<!--?-?>|</>)|(<!--)|(</?[a-zA-Z])|<[!?]|</(?:[^>]|\z))`)
)

// within reads one character of a tag.
func (p *page) within(h *markupState, at int) int {
	switch c := p.source[at]; {
	case h.quote != 0:
		if c == h.quote {
			h.quote = 0
		}
	case c == '>':
		p.tag(h, at+1)
	case h.equals && (c == '"' || c == '\''):
		h.quote, h.equals = c, false
	case c == '=':
		h.equals = true
	case c != ' ' && c != '\t' && c != '\n':
		h.equals = false
	}
	return at + 1
}

// tag ends a tag. What is shown of it, if anything, is shown on demand, but for
// addresses. What a quotation of it swallowed is not.
func (p *page) tag(h *markupState, end int) {
	h.in = markupText
	if h.crossed {
		p.unseen = append(p.unseen, span{h.begin, end, " "})
		return
	}
	for _, m := range attribute.FindAllStringSubmatch(p.source[h.begin:end], -1) {
		switch strings.ToLower(m[1]) {
		case "href", "src", "srcset":
		default:
			p.aside += utf8.RuneCountInString(m[1] + m[2])
		}
	}
}

var attribute = lazyregexp.New(`\s([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?`)
