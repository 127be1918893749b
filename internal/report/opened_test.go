package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	xhtml "golang.org/x/net/html"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/transcript"
)

// told is what is kept of a report's iterations when each goes as the events say, and
// changes what the patch says.
func told(r ralph.Report, patch string, events ...ralph.Event) *transcript.Kept {
	k := &transcript.Kept{Mask: func(s string) string { return s }, Log: ".ralph/session.log"}
	for _, it := range r.Iterations {
		at := it.Started
		tell := func(e ralph.Event) {
			e.At, at = at, at.Add(time.Second)
			k.Event(e)
		}
		tell(ralph.Event{Kind: ralph.EventIterationStart, Iteration: it.Number})
		for _, e := range events {
			tell(e)
		}
		tell(ralph.Event{Kind: ralph.EventIterationEnd, Record: &it})
	}
	for _, it := range k.Iterations() {
		k.Changed(it, patch)
	}
	return k
}

// everyKind is an event of every kind that a transcript shows.
func everyKind(words string) []ralph.Event {
	return []ralph.Event{
		{Kind: ralph.EventPrompt, Attempt: 1, Text: words},
		{Kind: ralph.EventText, Message: "m", Text: words},
		{Kind: ralph.EventText, Echo: true, Text: words},
		{Kind: ralph.EventToolStart, Tool: "Bash", ToolID: "1", Text: words},
		{Kind: ralph.EventToolEnd, ToolID: "1", Text: words + "\nmore", Lines: 12, Chars: 34_567, IsError: true},
		{Kind: ralph.EventToolStart, Tool: words, ToolID: "2", Text: words},
		{Kind: ralph.EventTodo, Todos: []ralph.Todo{{Text: words, Status: ralph.TodoDone}, {Text: words}}},
		{Kind: ralph.EventProgress, Text: words},
		{Kind: ralph.EventResult, Turn: &ralph.Turn{Failure: &ralph.Failure{Kind: ralph.FailureAPI, Message: words}}},
		{Kind: ralph.EventRetry, Text: words},
		{Kind: ralph.EventPrompt, Attempt: 2, Text: words},
		{Kind: ralph.EventKept, Text: words},
		{Kind: ralph.EventNotice, Text: words},
		{Kind: ralph.EventWarning, Text: words},
		{Kind: ralph.EventPrompt, Attempt: 0, Text: words},
		{Kind: ralph.EventTaskEnd, Task: &ralph.Task{Command: words, ExitCode: 1, Output: words}},
	}
}

const somePatch = `# not in this patch: logo.png: not text, 1234 bytes
diff --git a/calc.go b/calc.go
index 1f0c2d3..9a8b7c6 100644
--- a/calc.go
+++ b/calc.go
@@ -1,3 +1,3 @@
 package calc
-func Add(a, b int) int { return a - b }
+func Add(a, b int) int { return a + b }
 // end
diff --git "a/odd \"name" "b/odd \"name"
new file mode 100644
index 0000000..9a8b7c6
--- /dev/null
+++ "b/odd \"name"
@@ -0,0 +1 @@
+diff --git a/not b/not
`

func TestGoldenPageThatOpens(t *testing.T) {
	t.Parallel()
	r := completed()
	page, err := report.HTML(r, told(r, somePatch, everyKind("some words")...))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "opened.html", withoutSources(string(page)))
}

// withoutSources leaves the style and the script out of a page.
func withoutSources(page string) string {
	return regexp.MustCompile(`(?s)(<(style|script)>).*?(</)|sha256-[^=]*`).ReplaceAllString(page, "$1$3")
}

// inert lists what a page has that is more than text in our own elements, apart from the
// one style and the one script that its policy allows.
func inert(t testing.TB, page []byte) (problems []string) {
	t.Helper()
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if !utf8.Valid(page) {
		bad("is not UTF-8")
	}
	if i := bytes.IndexFunc(page, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
	}); i >= 0 {
		bad("has %q", page[i:min(i+20, len(page))])
	}
	doc, err := xhtml.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	policy, ids, jumps := "", map[string]bool{}, map[string]bool{}
	sources := map[string][]string{}
	var walk func(n *xhtml.Node)
	walk = func(n *xhtml.Node) {
		if n.Type == xhtml.CommentNode {
			bad("has the comment %q", n.Data)
		}
		if n.Type == xhtml.ElementNode {
			if !strings.Contains(" html head meta title style body main header h1 h2 dl div dt dd section p ul li pre code b i a br span kbd input output table thead tbody tfoot tr th td figure figcaption svg line text rect details summary ins del footer script ", " "+n.Data+" ") {
				bad("has the element <%s>", n.Data)
			}
			for _, a := range n.Attr {
				switch {
				case a.Key == "http-equiv":
					policy = n.Attr[slices.IndexFunc(n.Attr, func(a xhtml.Attribute) bool { return a.Key == "content" })].Val
				case a.Key == "id" && ids[a.Val]:
					bad("has two elements %q", a.Val)
				case a.Key == "id":
					ids[a.Val] = true
				case a.Key == "href" && strings.HasPrefix(a.Val, "#"):
					jumps[a.Val[1:]] = true
				case a.Key == "href" && !strings.HasPrefix(a.Val, "https://"), a.Key == "src", a.Key == "style", strings.HasPrefix(a.Key, "on"):
					bad("has <%s %s=%q>", n.Data, a.Key, a.Val)
				}
			}
			if n.Data == "style" || n.Data == "script" {
				text := ""
				if n.FirstChild != nil {
					text = n.FirstChild.Data
				}
				sources[n.Data] = append(sources[n.Data], text)
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(doc)
	for jump := range jumps {
		if !ids[jump] {
			bad("leads to %q, which is not there", jump)
		}
	}
	hash := func(kind string) string {
		if len(sources[kind]) != 1 {
			bad("has %d elements <%s>", len(sources[kind]), kind)
			return ""
		}
		sum := sha256.Sum256([]byte(sources[kind][0]))
		return base64.StdEncoding.EncodeToString(sum[:])
	}
	if want := fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-%s'; script-src 'sha256-%s'", hash("style"), hash("script")); policy != want {
		bad("has the policy %q, want %q", policy, want)
	}
	return problems
}

// What the agent said, did and changed is text and nothing else.
func TestOpenedPageIsInert(t *testing.T) {
	t.Parallel()
	r := hostile()
	for _, words := range []string{
		nasty, "</script><script>alert(1)</script>", "</pre></details><img src=x onerror=alert(1)>", "<style>*{background:url(//evil.example)}</style>", `<a href="javascript:alert(1)">`,
		"\x1b]8;;https://evil.example\x07x\x1b]8;;\x07\x1b[2J", "\xff\xfe\xc0\x80", "\u202eeslaf\u202c", "<!--", "{{.}}", strings.Repeat("x", 200<<10),
	} {
		for _, patch := range []string{words, "diff --git " + words + "\n@@ " + words + "\n+" + words + "\n-" + words + "\r\n\\" + words + "\n" + words, strings.ReplaceAll(somePatch, "calc", words)} {
			page, err := report.HTML(r, told(r, patch, everyKind(words)...))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range inert(t, page) {
				t.Errorf("the page of %.100q %s", words, p)
			}
		}
	}
}

func FuzzOpenedPage(f *testing.F) {
	f.Add(nasty, somePatch)
	f.Add("\x00\x1b[0m", "diff --git \n@@ \n\n+\n")
	r := completed()
	f.Fuzz(func(t *testing.T, words, patch string) {
		page, err := report.HTML(r, told(r, patch, everyKind(words)...))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range inert(t, page) {
			t.Errorf("the page of %q and %q %s", words, patch, p)
		}
	})
}

// long is a run of 200 iterations with 20 MB of transcript and as much of patches.
func long() (ralph.Report, string, []ralph.Event) {
	r := completed()
	one := r.Iterations[0]
	r.Iterations = nil
	for n := 1; n <= 200; n++ {
		one.Number = n
		r.Iterations = append(r.Iterations, one)
	}
	line := "func TestOrdinary(t *testing.T) { t.Log(\"a line of <ordinary> output & code\") }\n"
	events := []ralph.Event{{Kind: ralph.EventPrompt, Attempt: 1, Text: strings.Repeat(line, 20)}}
	for i := range 50 {
		id := fmt.Sprint(i)
		events = append(events, ralph.Event{Kind: ralph.EventText, Message: id, Text: strings.Repeat("The agent says something. ", 8)},
			ralph.Event{Kind: ralph.EventToolStart, Tool: "Bash", ToolID: id, Text: "go test ./..."}, ralph.Event{Kind: ralph.EventToolEnd, ToolID: id, Text: strings.Repeat(line, 22)})
	}
	return r, strings.TrimSuffix(somePatch, "\n") + strings.Repeat("\n+"+strings.TrimSpace(line), 1200), events
}

func TestOpenedPageIsBounded(t *testing.T) {
	t.Parallel()
	r, patch, events := long()
	kept := told(r, patch, events...)
	page, err := report.HTML(r, kept)
	if err != nil || len(page) > 12<<20 || len(page) < 5<<20 {
		t.Errorf("HTML() = %d bytes, %v; want at most 12 MB and more than 5", len(page), err)
	}
	for _, part := range []string{`id="iteration-1"`, `id="iteration-200"`, "bytes left out here …", "All that the agent put out is in <code>.ralph/session.log</code>", "bytes of the diff are left out here; commit <code>1f0c2d3</code> has all of it"} {
		if !strings.Contains(string(page), part) {
			t.Errorf("the page lacks %q", part)
		}
	}
}

func BenchmarkOpenedPage(b *testing.B) {
	r, patch, events := long()
	kept := told(r, patch, events...)
	for b.Loop() {
		if _, err := report.HTML(r, kept); err != nil {
			b.Fatal(err)
		}
	}
}

// What is not known is said.
func TestChangesThatAreNotKnown(t *testing.T) {
	t.Parallel()
	r := completed()
	kept := told(r, "")
	kept.Iterations()[1].NoDiff = "not known: nobody looked at the files"
	page, err := report.HTML(r, kept)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"Changes · none", "Changes · not known: nobody looked at the files", "the agent printed nothing"} {
		if !strings.Contains(string(page), part) {
			t.Errorf("the page lacks %q", part)
		}
	}
}
