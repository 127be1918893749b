package doc

import (
	"bytes"
	_ "embed"
	"html/template"
	"strings"
)

//go:embed page.html.tmpl
var pageTemplate string

// Page is sections as a page of HTML. The template escapes every text.
func Page(title, icon, tone string, sections []Section) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"code": func(p Part) string { return OneLine(p.Words, p.Limit) },
		"plot": Series.plot,
	}).Parse(pageTemplate)
	if err != nil {
		return nil, err
	}
	doc := struct {
		Title, Icon, Tone string
		Head, Sections    []Section // what stands on top, and what below it
		Footer            Section
	}{Title: title, Icon: icon, Tone: tone}
	for _, s := range sections {
		switch {
		case len(s.Title) == 0 && len(s.Blocks) == 0:
		case s.Name == "outcome" || s.Name == "facts" || s.Name == "reasons":
			doc.Head = append(doc.Head, s)
		case s.Name == "footer":
			doc.Footer = s
		default:
			doc.Sections = append(doc.Sections, s)
		}
	}
	var b bytes.Buffer
	if err := t.Execute(&b, doc); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Boxed is the text of a preformatted block of the page.
func (b Block) Boxed() string { return strings.Trim(b.Pre, "\n") }
