package doc

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"strings"
	"sync"
)

//go:embed page.html.tmpl
var pageTemplate string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// page is parsed when the first page is made.
var page = sync.OnceValues(func() (*template.Template, error) {
	return template.New("page").Funcs(template.FuncMap{
		"code": func(p Part) string { return OneLine(p.Words, p.Limit) },
		"plot": Series.plot,
		"laid": Timeline.laid,
		"told": Grid.told,
	}).Parse(pageTemplate)
})

// Page is sections as a page of HTML, which loads nothing. The template escapes every
// text; the page's policy runs no script and no style but ours. There is a script only
// where a section has blocks to filter.
func Page(title, icon, tone string, sections []Section) ([]byte, error) {
	t, err := page()
	if err != nil {
		return nil, err
	}
	doc := struct {
		Title, Icon, Tone     string
		Style                 template.CSS
		Script                template.JS
		StyleHash, ScriptHash string
		Head, Sections        []Section // what stands on top, and what below it
		Footer                Section
	}{Title: title, Icon: icon, Tone: tone, Style: template.CSS(pageStyle), StyleHash: sourceHash(pageStyle)} // #nosec G203 -- a constant of ours
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
		if s.Each != nil {
			doc.Script, doc.ScriptHash = template.JS(pageScript), sourceHash(pageScript) // #nosec G203 -- a constant of ours
		}
	}
	var b bytes.Buffer
	if err := t.Execute(&b, doc); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// sourceHash is how a Content-Security-Policy names a script or style of the page.
func sourceHash(source string) string {
	sum := sha256.Sum256([]byte(source))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Boxed is the text of a preformatted block of the page.
func (b Block) Boxed() string { return strings.Trim(b.Pre, "\n") }

// changed is lines of a patch in a row that have the same sign.
type changed struct{ Sign, Lines string }

// Changes is the lines of a patch by their signs: "+", "-", "@" for what tells where the
// next ones stand, none for those that stay. Before the first "@" nothing has a sign.
func (b Block) Changes() []changed {
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
