package report_test

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html/atom"

	xhtml "golang.org/x/net/html"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/memory"
)

var forge = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote), goldmark.WithParserOptions(parser.WithAutoHeadingID()), goldmark.WithRendererOptions(html.WithUnsafe()))
})

// rendered is Markdown as a forge renders it (GFM, footnotes, raw HTML taken as
// it is), as a document.
func rendered(t *testing.T, markdown string) *xhtml.Node {
	t.Helper()
	var b bytes.Buffer
	if err := forge().Convert([]byte(markdown), &b); err != nil {
		t.Fatal(err)
	}
	doc, err := xhtml.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// What a forge acts upon in the text of a page, outside of code: GitHub's
// filters for mentions, references and keywords look at text nodes.
var acts = map[string]*regexp.Regexp{
	"mentions":   regexp.MustCompile(`(?:^|[^A-Za-z0-9_])@[A-Za-z0-9]`),
	"refers":     regexp.MustCompile(`(?i)#[0-9]|\bgh-[0-9]|![0-9]`),
	"closes":     regexp.MustCompile(`(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b:?\s+(?:\S*#\d|https?://)`),
	"links":      regexp.MustCompile(`(?i)://|\bwww\.\w|\w@\w`),
	"runs ANSI":  regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f]`),
	"turns text": regexp.MustCompile(`[\x{200b}\x{200c}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2060}-\x{2069}\x{feff}\x{e0000}-\x{e007f}]`),
}

// elements are those that our documents are made of, and their attributes.
const elements = " html head body h1 h2 h3 h4 p ul ol li blockquote pre code table thead tbody tr th td details summary sub b strong em br hr "

// shown is a text of a document.
type shown struct {
	text string
	code bool
}

// harmless checks that a document has nothing but text and our own elements.
func harmless(t *testing.T, what, markdown string, seen map[shown]bool) {
	t.Helper()
	for _, p := range harm(t, markdown, seen) {
		t.Errorf("%s of hostile text: %s; the Markdown is\n%s", what, p, markdown)
	}
}

// harm lists what a document has that is more than text in our own elements. The same
// texts stand in many places of several documents: those seen are not looked at again.
func harm(t *testing.T, markdown string, seen map[shown]bool) (problems []string) {
	t.Helper()
	var walk func(n *xhtml.Node, code bool)
	bad := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf(format, args...))
	}
	walk = func(n *xhtml.Node, code bool) {
		switch n.Type {
		case xhtml.ElementNode:
			if !strings.Contains(elements, " "+n.Data+" ") {
				bad("has the element <%s>", n.Data)
			}
			for _, a := range n.Attr {
				switch {
				case a.Key == "id" && n.DataAtom != atom.A, a.Key == "style" && (n.Data == "td" || n.Data == "th") && strings.HasPrefix(a.Val, "text-align:"):
				case a.Key == "align" && (n.Data == "td" || n.Data == "th"):
				case a.Key == "class" && n.Data == "code" && (a.Val == "language-text" || a.Val == "language-mermaid"):
				default:
					bad("has <%s %s=%q>", n.Data, a.Key, a.Val)
				}
			}
			code = code || n.Data == "code" || n.Data == "pre"
		case xhtml.TextNode:
			if seen[shown{n.Data, code}] {
				break
			}
			seen[shown{n.Data, code}] = true
			for does, re := range acts {
				if code && does != "runs ANSI" && does != "turns text" {
					continue
				}
				if m := re.FindString(n.Data); m != "" {
					bad("%s in its text %q: %q", does, m, n.Data)
				}
			}
		case xhtml.CommentNode:
			if strings.TrimSpace(n.Data) != "ralph-action" {
				bad("has the comment %q", n.Data)
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, code)
		}
	}
	walk(rendered(t, markdown), false)
	return problems
}

// The look at a document sees what it is to see.
func TestHarmIsSeen(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"@octocat", "&#64;octocat", "fixes #1", "octo/calc#1", "gh-1", "https://evil.example", "www.evil.example", "a@evil.example", "[x](https://evil.example)", "![x](y)", "![x][y]\n\n[y]: z",
		"<b onclick=x>x</b>", "<img src=x>", "<script>x</script>", "<!-- x", "x[^1]\n\n[^1]: note", "- [ ] task", "```mermaid2\nx\n```", "~~x~~",
	} {
		if len(harm(t, s, map[shown]bool{})) == 0 {
			t.Errorf("harm(%q) = nothing", s)
		}
	}
	if p := harm(t, "**bold** `@octocat fixes #1` text\n\n| a |\n|--:|\n| b |\n", map[shown]bool{}); len(p) > 0 {
		t.Errorf("harm(plain text) = %q", p)
	}
}

// spread puts s into every text of a report, and takes away what we link to.
func spread(v reflect.Value, s string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				spread(v.Field(i), s)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			spread(v.Index(i), s)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			spread(v.Elem(), s)
		}
	}
}

// everywhere is a report that says s wherever it says anything.
func everywhere(s string, o ralph.Outcome) ralph.Report {
	r := hostile()
	r.Tasks, r.Wave = hostileTasks().Tasks, hostileWave().Wave
	r.Iterations = append(r.Iterations[:1:1], hostileTasks().Iterations[0])
	spread(reflect.ValueOf(&r).Elem(), s)
	for i := range r.Findings {
		r.Findings[i].Severity, r.Findings[i].Kind = []ralph.Severity{ralph.Block, ralph.Draft}[i%2], ralph.FindingTests
	}
	for i := range r.Iterations {
		r.Iterations[i].Rejection = ralph.RejectedGuardrails
	}
	r.Outcome, r.Now.Took = o, time.Minute
	r.Publication.Checks.State = ralph.ChecksFailed
	r.Publication.Issue, r.Publication.PullRequest = 0, ralph.PullRequest{}
	r.RunURL, r.Publication.ServerURL, r.Publication.Comment = "", "", ""
	return r
}

func checkRendered(t *testing.T, s string) {
	t.Helper()
	blocked, goesOn, failed := everywhere(s, ralph.Blocked), everywhere(s, ""), everywhere(s, ralph.GitFailed)
	seen := map[shown]bool{}
	for _, r := range []ralph.Report{blocked, goesOn} {
		harmless(t, "Comment", report.Comment(r, "<!-- ralph-action -->"), seen)
		harmless(t, "Body", report.Body(r, report.BodyOptions{Marker: "<!-- ralph-action -->"}), seen)
	}
	harmless(t, "Summary", report.Summary(blocked), seen)
	for _, r := range []ralph.Report{blocked, failed} {
		text := report.Text(r, report.Style{Width: 100})
		for _, does := range []string{"runs ANSI", "turns text"} {
			if m := acts[does].FindString(strings.ReplaceAll(text, "\n", " ")); m != "" {
				t.Errorf("Text of %q %s: %q", s, does, m)
			}
		}
	}
	said := ralph.Said{Commit: s, Title: s, Description: s}
	for _, r := range []ralph.Report{{Task: s}, {Iterations: []ralph.Iteration{{Said: said}}}, {Iterations: []ralph.Iteration{{Said: ralph.Said{Commit: s}}}}, {Publication: ralph.Publication{Files: []ralph.File{{Path: s}}}}} {
		title := memory.Title(r)
		for _, does := range []string{"mentions", "refers", "closes", "links", "runs ANSI", "turns text"} {
			if m := acts[does].FindString(title); m != "" {
				t.Errorf("Title(%q) = %q %s: %q", s, title, does, m)
			}
		}
	}
	checkMessage(t, s, memory.CommitMessage(ralph.Iteration{Number: 1, Said: said}, memory.Checkpoint{Run: "42", Outcome: ralph.Completed}))
	checkMessage(t, s, memory.CommitMessage(ralph.Iteration{Number: 1}, memory.Checkpoint{Run: "42", Outcome: ralph.Completed, Files: []ralph.File{{Path: s}}}))
	it := ralph.Iteration{Number: 1, Delivery: ralph.Delivery{Message: s}}
	message := memory.CommitMessage(it, memory.Checkpoint{Run: "42", Outcome: ralph.Completed})
	checkMessage(t, s, message)
	it = ralph.Iteration{Number: 1, Step: ralph.Step{Mode: "implement", Story: s, Title: s}}
	checkMessage(t, s, memory.CommitMessage(it, memory.Checkpoint{Run: "42", Outcome: ralph.Completed, StoryDone: true}))
}

var (
	ours     = regexp.MustCompile(`(?im)^\s*ralph-(?:run|iteration|title|story|cost-\S+|outcome)\s*:`)
	person   = regexp.MustCompile(`(?im)^\s*(?:co-authored-by|signed-off-by|skip-checks)\s*:`)
	skipping = regexp.MustCompile(`(?i)\[(?:skip|ci skip|no ci|actions skip)[^\]\x{200d}]*\]|\*\*\*NO_CI\*\*\*`)
)

// checkMessage checks that a commit's message has no trailers but ours, and
// makes a forge do nothing.
func checkMessage(t *testing.T, s, message string) {
	t.Helper()
	text, trailers, _ := strings.Cut(message, "\nRalph-Run: 42\n")
	if ours.MatchString(text) || strings.Contains("\n"+trailers, "\nRalph-Run:") {
		t.Errorf("CommitMessage of %q forges a trailer:\n%s", s, message)
	}
	if person.MatchString(message) {
		t.Errorf("CommitMessage of %q speaks for a person:\n%s", s, message)
	}
	if skipping.MatchString(message) {
		t.Errorf("CommitMessage of %q keeps checks from running:\n%s", s, message)
	}
	for _, does := range []string{"mentions", "refers", "closes", "links", "runs ANSI", "turns text"} {
		if m := acts[does].FindString(message); m != "" {
			t.Errorf("CommitMessage of %q %s: %q in\n%s", s, does, m, message)
		}
	}
}

// attacks are what text can try on a forge that renders it.
func attacks() []string {
	long := strings.Repeat("a", 5000)
	return []string{
		"@octocat", "@octo/team", "x @octocat y", "(@octocat)", "**@octocat**", "&#64;octocat", "&#x40;octocat", "&commat;octocat", "@\u200boctocat", "@\u00adoctocat", "\\@octocat", "`@octocat", "@<b></b>octocat", "@&#111;ctocat",
		"#1", "fixes #1", "Closes: #1", "RESOLVED octo/calc#1", "fixes GH-1", "gh-1", "octo/calc#1", "fixes &#35;1", "fixes &num;1", "fixes \\#1", "fixes #\u200b1", "fıxes #1", "ﬁxes #1", "fixes ＃1", "!1", "octo/calc@0123456789012345678901234567890123456789",
		"closes https://github.com/octo/calc/issues/1", "https://evil.example", "HTTP://evil.example", "www.evil.example", "WwW.evil.example", "ftp://evil.example", "a@evil.example", "mailto:a@evil.example", "xmpp:a@evil.example/x", "<https://evil.example>", "<a@evil.example>", "https&#58;//evil.example", "http:&sol;/evil.example", "http:/\\/evil.example",
		"![x](https://evil.example/p.png)", "![x][y]\n\n[y]: https://evil.example/p.png", "![x]", "[x](https://evil.example)", "[x](<javascript:alert(1)>)", "[x]\n\n[x]: //evil.example", "[x]: evil 'title'", "[^1]\n\n[^1]: note", "^[note]", "[[wiki]]", "[x](\nevil)", "]( evil", "![", "](", "!\\[x](y)", "[x]\\(y)",
		"<b>x</b>", "<img src=//evil.example/p.png>", "<img src=x onerror=alert(1)", "<script>alert(1)</script>", "<!-- open", "-->", "<!", "<![CDATA[x]]>", "<?php ?>", "</details>", "</summary></details>", "<details><summary>", "</sub>", "</code>", "</td></tr></table>", "<", ">", "&lt;b&gt;", "&#60;b&#62;", "<svg/onload=alert(1)>", "<iframe\nsrc=x>", "\\<b>", "<b\n>", "< b>",
		"a | b\n|---|---|\n| c | d |", "|", "\\|", "||||", "`|`", "a\n---", "a\n===", "---", "***", "# h", "####### h", "> quote", "> [!CAUTION]\n> x", "- item", "* item", "+ item", "1. item", "1) item", "- [ ] task", "- [x] task", "\titem", "    code", ": definition",
		"```", "```mermaid\ngraph TD\n```", "````\n```", "~~~", "~~~~geojson\n{}\n~~~~", "```text\n</details>\n@octocat", "`", "``", "``` ` ```", "`` ` ``", "\\`", "$x$", "$$\nx\n$$", "$`x`$", "```math\nx\n```", "*x*", "_x_", "~~x~~", "**", "__", "~", "\\", "\\\\", "\\\n", "x  \ny", ":shipit:", ":tada:",
		"\x1b[31mred\x1b[0m", "\x1b]8;;https://evil.example\x07x\x1b]8;;\x07", "\u202eevil", "\U000e0041\U000e0042", "a\x00b", "a\rb", "a\r\nb", "a\u2028b", "a\u0085b", "\xff\xfe", "\ufeffx", long, strings.Repeat("`", 3000), strings.Repeat("> ", 200), strings.Repeat("[", 200), strings.Repeat("<b>", 100), strings.Repeat("@a ", 100),
		"subject\n\nRalph-Outcome: completed\nRalph-Cost-USD: 0", "subject\n\nralph-run : 1", "subject\n\n Ralph-Run: 1", "subject\r\rRalph-Run: 1", "Ralph-Run: 1", "x\n\nRalph-Run: 1\n\nprose", "x\n\nCo-authored-by: A <a@b.example>", "x\n\nCo-authored-by: A <a@b.example>\n\nprose\nand more\n", "x\n\nSigned-off-by: A\n\nmore", "x\n\n\nskip-checks:true", "x\n\nskip-checks: true\n\nprose",
		"**a #*1***", "https:*//evil.example*", "#*1*", "G*H-*1", "w*ww.*evil.example", "*fixes* #*12*",
		"[skip ci]", "[ci skip]", "[no ci]", "[skip actions]", "[SKIP CI] x", "[skip\u200b ci]", "[skip azurepipelines]", "***NO_CI***", "[skip travis]", "[skip-ci]", "[ci-skip]",
	}
}

// No text of anybody else's becomes more than text when a forge renders what we
// publish, nor in a commit's message.
func TestHostileTextIsRenderedAsText(t *testing.T) {
	t.Parallel()
	all := attacks()
	for _, s := range all { // the others are seeds of FuzzRendered
		if len(s) > fuzzedBytes {
			checkRendered(t, s)
		}
	}
	for i := range all { // two next to each other
		if i%7 == 0 && len(all[i]) < 500 {
			checkRendered(t, all[i]+all[(i*31+17)%len(all)]+"\n"+all[(i*13+5)%len(all)])
		}
	}
}

// fuzzedBytes is the length of a text that FuzzRendered looks at, at most.
const fuzzedBytes = 4000

func FuzzRendered(f *testing.F) {
	for _, s := range attacks() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) <= fuzzedBytes {
			checkRendered(t, s)
		}
	})
}
