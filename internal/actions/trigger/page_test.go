package trigger_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	markdown "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html"
)

// shown is what a page shows of a text in Markdown, and what it hides in
// comments; what it shows on demand only, such as attributes, is in neither.
func shown(t *testing.T, source string) (visible, comments string) {
	t.Helper()
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Footnote), goldmark.WithRendererOptions(markdown.WithUnsafe()))
	var page bytes.Buffer
	if err := md.Convert([]byte(source), &page); err != nil {
		t.Fatal(err)
	}
	for tokens := html.NewTokenizer(&page); ; {
		switch tokens.Next() {
		case html.ErrorToken:
			return visible, comments
		case html.TextToken:
			visible += " " + string(tokens.Text())
		case html.CommentToken, html.DoctypeToken:
			comments += " " + string(tokens.Text())
		}
	}
}

// marker is a word that the fuzzer's texts tell apart.
var marker = regexp.MustCompile(`w[0-9]w`)

// FuzzPage holds what becomes a prompt against a real renderer and a real parser
// of HTML: each word that a page shows is in the prompt, and none that it hides
// in a comment.
func FuzzPage(f *testing.F) {
	for _, s := range []string{
		"w0w<!-- w1w -->w2w", "`<!-- w0w`\n\nw1w <!-- w2w", "<!-- w0w\n\nw1w\n", "```\n<!-- w0w\n```\nw1w", "<div><!--\n\nw0w\n\n--></div> w1w\n\nw2w",
		"> <!-- w0w\n> w1w\n\nw2w -->", "|a|b|\n|-|-|\n|`w0w|<!-- w1w -->|`|", "- a\n\n      <!-- w0w -->\n  <!-- w1w -->", "<? w0w > w1w ?>", "w0w </ 4 w1w > x <? w2w",
		"[//]: # (w0w)\n\nw1w [x]\n\n[x]: /w2w", "w0w[^1]\n\n[^1]: w1w\n[^2]: w2w", "<a title=\"w0w <!-- w1w -->\">w2w</a>", "[a](b '`') <!-- w0w --> `w1w", "\\<!-- w0w --> <w1w-x>", "<!--> w0w <!---> w1w --!> w2w",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		odd := func(r rune) bool { return r != '\n' && (r < ' ' || r > unicode.MaxASCII-1) }
		if strings.ContainsFunc(body, odd) || len(body) > 4<<10 || rawText.MatchString(body) {
			return // what is not seen has tests of its own; for script and the like see rawText
		}
		visible, comments := shown(t, body)
		prompt := prompt(t, body).Prompt
		for _, word := range marker.FindAllString(visible, -1) {
			if !strings.Contains(prompt, word) {
				t.Errorf("%q shows %q, and the prompt lacks it: %q", body, word, prompt)
			}
		}
		for _, word := range marker.FindAllString(comments, -1) {
			if strings.Count(body, word) == 1 && strings.Contains(prompt, word) {
				t.Errorf("%q hides %q, and the prompt has it: %q", body, word, prompt)
			}
		}
	})
}

// rawText are elements whose content a parser of HTML takes for text. A forge
// shows their tags as text (GFM, 6.11), so that their content is Markdown and HTML.
var rawText = regexp.MustCompile(`(?i)<(title|textarea|style|xmp|iframe|noembed|noframes|noscript|script|plaintext)`)
