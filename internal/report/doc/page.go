package doc

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"strings"

	h "maragu.dev/gomponents"
)

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// Page is sections as a page of HTML, which loads nothing. Every text is escaped; the
// page's policy runs no script and no style but ours. There is a script only where a
// section has blocks to filter.
func Page(title, icon, tone string, sections []Section) ([]byte, error) {
	var top, body, footer h.Group
	script := ""
	for _, s := range sections {
		switch {
		case len(s.Title) == 0 && len(s.Blocks) == 0:
		case s.Name == "outcome" || s.Name == "facts" || s.Name == "reasons":
			if len(s.Title) > 0 {
				top = append(top, newLine, h.El("h1", texts(s.Title)))
			}
			top = append(top, blocks(s.Blocks))
		case s.Name == "footer":
			for _, b := range s.Blocks {
				footer = append(footer, texts(b.Text))
			}
		default:
			body = append(body, newLine, section(s))
		}
		if s.Each != nil {
			script = pageScript
		}
	}
	policy := "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + sourceHash(pageStyle)
	if script != "" {
		policy += "; script-src " + sourceHash(script)
	}
	page := h.El("html", h.Attr("lang", "en"), newLine,
		h.El("head",
			newLine, h.El("meta", h.Attr("charset", "utf-8")),
			newLine, meta("viewport", "width=device-width, initial-scale=1"),
			newLine, h.El("meta", h.Attr("http-equiv", "Content-Security-Policy"), h.Attr("content", policy)),
			newLine, meta("referrer", "no-referrer"),
			newLine, meta("color-scheme", "light dark"),
			newLine, h.El("title", h.Text(icon+" "+title)),
			newLine, h.El("style", h.Raw(pageStyle)), newLine,
		), newLine,
		h.El("body",
			newLine, h.El("main",
				newLine, h.El("header", class(tone), top, newLine), body,
				newLine, h.El("footer", footer), newLine),
			h.If(script != "", h.Group{newLine, h.El("script", h.Raw(script))}), newLine,
		), newLine,
	)
	b := bytes.NewBufferString("<!doctype html>\n")
	if err := page.Render(b); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

var newLine = h.Raw("\n")

func meta(name, content string) h.Node {
	return h.El("meta", h.Attr("name", name), h.Attr("content", content))
}

func class(name string) h.Node { return h.Attr("class", name) }

// coordinate is an attribute of a drawing.
func coordinate(name string, value any) h.Node { return h.Attr(name, fmt.Sprint(value)) }

func section(s Section) h.Node {
	switch {
	case s.Each != nil:
		keys := h.El("span", key("/"), h.Text(" filter "), key("j"), h.Text(" "), key("k"), h.Text(" move "), key("Enter"), h.Text(" open "), key("Esc"), h.Text(" close"))
		search := h.El("input", h.Attr("type", "search"), h.Attr("aria-label", "Show the iterations that hold a text"), h.Attr("placeholder", "Filter"))
		all := h.Group{h.El("h2", texts(s.Title)), newLine, h.El("p", class("find"), h.Attr("hidden"), search, h.Text(" "), h.El("output"), h.Text(" "), keys)}
		for b := range s.Each {
			all = append(all, block(b))
		}
		return h.El("section", h.Attr("id", "iterations"), all, newLine)
	case len(s.Title) > 0:
		return h.El("section", errorsClass(s), h.El("h2", texts(s.Title)), blocks(s.Blocks), newLine)
	case len(s.Fold) > 0:
		return h.El("section", errorsClass(s), h.El("details", h.El("summary", texts(s.Fold)), blocks(s.Blocks)), newLine)
	}
	return h.El("section", errorsClass(s), blocks(s.Blocks), newLine)
}

func errorsClass(s Section) h.Node {
	return h.If(len(s.Blocks) > 0 && s.Blocks[0].Kind == CautionBlock, class("errors"))
}

func key(name string) h.Node { return h.El("kbd", h.Text(name)) }

func texts(t Text) h.Node { return h.Map(t, word) }

func word(p Part) h.Node {
	switch p.Form {
	case foreignForm:
		return h.Text(OneLine(p.Words, p.Limit))
	case monoForm, bareForm:
		return h.El("code", h.Text(OneLine(p.Words, p.Limit)))
	case strongForm:
		return h.El("b", texts(p.In))
	case linkForm:
		return h.El("a", h.Attr("href", p.URL), h.Attr("rel", "noreferrer noopener"), texts(p.In))
	case jumpForm:
		return h.El("a", h.Attr("href", "#"+p.URL), h.Text(p.Words))
	case faintForm:
		return h.El("span", class("faint"), h.Text(p.Words))
	case breakForm:
		return h.El("br")
	}
	return h.Text(p.Words)
}

func blocks(all []Block) h.Node { return h.Map(all, block) }

func block(b Block) h.Node {
	switch b.Kind {
	case paraBlock:
		return h.Group{newLine, h.El("p", texts(b.Text))}
	case softBlock, smallBlock:
		return h.Group{newLine, h.El("p", class("soft"), texts(b.Text))}
	case TitleBlock:
		return h.Group{newLine, h.El("h2", texts(b.Text))}
	case ListBlock:
		return h.Group{newLine, list(b.Lines)}
	case CautionBlock:
		return h.Group{h.El("h2", h.Text("Publishing went wrong")), newLine, list(b.Lines)}
	case WarningBlock:
		return h.Map(b.Lines, func(t Text) h.Node { return h.Group{newLine, h.El("p", class("warn"), h.Text("⚠️ "), texts(t))} })
	case preBlock:
		return h.El("pre", h.Text(b.trimmed()))
	case saidBlock:
		return h.El("p", class("said"), h.Text(b.trimmed()))
	case lineBlock:
		return h.El("p", class("line"), texts(b.Text))
	case diffBlock:
		return h.El("pre", class("diff"), h.Map(b.changes(), change))
	case foldBlock:
		if b.ID != "" {
			return h.Group{newLine, h.El("details", class("opened"), h.El("summary", texts(b.Text)), h.El("div", h.Attr("id", b.ID), blocks(b.Blocks)))}
		}
		return h.Group{newLine, h.El("details", h.El("summary", texts(b.Text)), blocks(b.Blocks))}
	case FactsBlock:
		facts := h.Map(b.Facts, func(f Fact) h.Node {
			return h.Group{newLine, h.El("div", h.El("dt", h.Text(f.Name)), h.El("dd", texts(f.Text)))}
		})
		return h.Group{newLine, h.El("dl", facts, newLine)}
	case GridBlock:
		return h.Group{newLine, b.Grid.told().table()}
	case ChartBlock:
		return h.Group{newLine, b.Chart.plot().figure()}
	case TimesBlock:
		return h.Group{newLine, b.Times.laid().figure()}
	}
	return nil
}

func list(lines []Text) h.Node {
	return h.El("ul", h.Map(lines, func(t Text) h.Node { return h.El("li", texts(t)) }))
}

func change(c changed) h.Node {
	switch c.sign {
	case "+":
		return h.El("ins", h.Text(c.lines))
	case "-":
		return h.El("del", h.Text(c.lines))
	case "":
		return h.Text(c.lines)
	}
	return h.El("i", h.Text(c.lines))
}

func (g Grid) table() h.Node {
	head, rows := h.Group{}, h.Group{}
	for _, c := range g.Columns {
		head = append(head, h.El("th", h.If(c.Right, class("n")), h.Text(c.Title)))
	}
	cells := func(row []Text, classed bool) h.Node {
		var all h.Group
		for i, t := range row {
			c := g.Columns[i]
			name := ""
			switch {
			case c.Right:
				name = "n"
			case classed:
				name = c.Class
			}
			all = append(all, h.El("td", h.If(name != "", class(name)), texts(t)))
		}
		return h.El("tr", all)
	}
	for _, row := range g.Rows {
		rows = append(rows, newLine, cells(row, true))
	}
	all := h.Group{newLine, h.El("thead", h.El("tr", head)), newLine, h.El("tbody", rows, newLine)}
	if g.Total != nil {
		all = append(all, newLine, h.El("tfoot", cells(g.Total, false)))
	}
	return h.El("div", class("scroll"), h.El("table", all, newLine))
}

// drawing is a figure with a caption and what is drawn.
func drawing(name, title, label string, width, height int, drawn ...h.Node) h.Node {
	return h.El("figure", class(name), h.El("figcaption", h.Text(title)), newLine,
		h.El("svg", h.Attr("viewBox", fmt.Sprintf("0 0 %d %d", width, height)), h.Attr("role", "img"), h.Attr("aria-label", label), h.Group(drawn), newLine))
}

func (p plot) figure() h.Node {
	var all h.Group
	for _, l := range p.Grid {
		all = append(all, h.El("line", h.Attr("x1", "46"), h.Attr("x2", "452"), coordinate("y1", l.Y), coordinate("y2", l.Y)),
			h.El("text", h.Attr("x", "40"), coordinate("y", l.Y), h.Attr("dy", "4"), h.Attr("text-anchor", "end"), h.Text(l.Label)))
	}
	for _, b := range p.Bars {
		all = append(all, h.El("rect", coordinate("x", b.X), coordinate("y", b.Y), coordinate("width", b.Width), coordinate("height", b.Height), h.Attr("rx", "2"),
			h.El("title", h.Text(b.Tip))))
	}
	for _, t := range p.Ticks {
		all = append(all, h.El("text", coordinate("x", t.X), h.Attr("y", "192"), h.Attr("text-anchor", "middle"), h.Text(t.Label)))
	}
	caption := p.Title + ", " + p.Unit
	return drawing(p.Class, caption, caption, p.Width, p.Height, all)
}

func (l laidTimeline) figure() h.Node {
	lines, labels, rows := h.Group{}, h.Group{}, h.Group{}
	for _, t := range l.Ticks {
		lines = append(lines, h.El("line", coordinate("x1", t.X), coordinate("x2", t.X), h.Attr("y1", "6"), coordinate("y2", l.Bottom)))
		labels = append(labels, h.El("text", coordinate("x", t.X), coordinate("y", l.Bottom), h.Attr("dy", "16"), h.Attr("text-anchor", "middle"), h.Text(t.Label)))
	}
	for _, r := range l.Rows {
		rows = append(rows, h.El("text", h.Attr("x", "60"), coordinate("y", r.Middle), h.Attr("text-anchor", "end"), h.Text(r.Label)))
		for _, b := range r.Bars {
			rows = append(rows, h.El("rect", class(b.Class), coordinate("x", b.X), coordinate("y", r.Y), coordinate("width", b.Width), h.Attr("height", "18"), h.Attr("rx", "3"),
				h.El("title", h.Text(b.Tip))))
			if b.Label != "" {
				rows = append(rows, h.El("text", class("in"), coordinate("x", b.X), h.Attr("dx", "5"), coordinate("y", r.Middle), h.Text(b.Label)))
			}
		}
	}
	return drawing("times", l.Title, l.Title, l.Width, l.Height, lines, rows, labels)
}

// sourceHash is how a Content-Security-Policy names a script or style of the page.
func sourceHash(source string) string {
	sum := sha256.Sum256([]byte(source))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// trimmed is the text of a preformatted block.
func (b Block) trimmed() string { return strings.Trim(b.Pre, "\n") }

// changed is lines of a patch in a row that have the same sign.
type changed struct{ sign, lines string }

// changes is the lines of a patch by their signs: "+", "-", "@" for what tells where the
// next ones stand, none for those that stay. Before the first "@" nothing has a sign.
func (b Block) changes() []changed {
	var all []changed
	sign, from, hunks := "", 0, false
	for at := 0; at < len(b.Pre); {
		end := len(b.Pre)
		if i := strings.IndexByte(b.Pre[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		hunks = hunks || strings.HasPrefix(b.Pre[at:], "@@ ")
		now := ""
		if hunks && strings.IndexByte("+-@", b.Pre[at]) >= 0 {
			now = b.Pre[at : at+1]
		}
		if now != sign && at > from {
			all = append(all, changed{sign, Visible(b.Pre[from:at])})
			from = at
		}
		sign, at = now, end
	}
	if from < len(b.Pre) {
		all = append(all, changed{sign, Visible(b.Pre[from:])})
	}
	return all
}
