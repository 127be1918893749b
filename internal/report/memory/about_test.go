package memory_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/memory"
)

// What a body remembers is read back from it, also after an editor of the forge
// changed its line ends.
func TestAboutIsRemembered(t *testing.T) {
	t.Parallel()
	sha := strings.Repeat("0123456789", 4)
	for name, about := range map[string]memory.About{
		"base":         {Base: "main"},
		"all":          {Base: "main", StoodOn: []memory.BaseCommit{{Base: "release/1.x", SHA: sha}, {Base: "a,b@c", SHA: strings.Repeat("f", 40)}}, Tip: sha, Issues: []int{7, 12}, Title: memory.TitleMark("x"), Said: true},
		"strange base": {Base: "a-->b <!-- @ = + % ü"},
	} {
		body := report.Body(ralph.Report{Outcome: ralph.Completed}, report.BodyOptions{Marker: "<!-- ralph-action -->", About: about, Extra: "Cc"})
		for _, body := range []string{body, strings.ReplaceAll(body, "\n", "\r\n"), "\n" + body} {
			if got := memory.ReadAbout(body); !reflect.DeepEqual(got, about) {
				t.Errorf("%s: ReadAbout(Body()) = %+v, want %+v\n%s", name, got, about, body)
			}
		}
		lines := strings.Split(body, "\n")
		if !strings.HasPrefix(lines[1], "<!-- ralph-action about ") || strings.Count(lines[1], "-->") != 1 || !strings.HasSuffix(lines[1], " -->") {
			t.Errorf("%s: the second line is %q, want one comment", name, lines[1])
		}
	}
}

// Only the line below the marker counts, and an issue only while its closing line
// stands in the body.
func TestAboutIsOurs(t *testing.T) {
	t.Parallel()
	const line = "<!-- ralph-action about base=main fixes=7,8,0,-1,x title=ab -->"
	for name, c := range map[string]struct {
		body string
		want []int
	}{
		"ours":                {"<!-- ralph-action -->\n" + line + "\n\nFixes #7\nFixes #8\n", []int{7, 8}},
		"one was taken out":   {"<!-- ralph-action -->\n" + line + "\n\nFixes #8\n", []int{8}},
		"without its line":    {"<!-- ralph-action -->\n\nFixes #7\n", nil},
		"further below":       {"<!-- ralph-action -->\n\n" + line + "\nFixes #7\n", nil},
		"in a fence":          {"<!-- ralph-action -->\n```\n<!-- ralph-action -->\n" + line + "\nFixes #7\n```\n", nil},
		"no marker":           {"Hello\n" + line + "\nFixes #7\n", nil},
		"not the whole line":  {"<!-- ralph-action -->\n" + line + " more\nFixes #7\n", nil},
		"no number":           {"<!-- ralph-action -->\n<!-- ralph-action about base=main fixes=#7 -->\nFixes #7\n", nil},
		"within a line":       {"<!-- ralph-action -->\n" + line + "\nnot Fixes #7\n", nil},
		"nothing":             {"", nil},
		"the marker alone":    {"<!-- ralph-action -->", nil},
		"an issue it has not": {"<!-- ralph-action -->\n" + line + "\nFixes #9\n", nil},
	} {
		if got := memory.ReadAbout(c.body).Issues; !slices.Equal(got, c.want) {
			t.Errorf("%s: ReadAbout().Issues = %v, want %v", name, got, c.want)
		}
	}
	for _, at := range []string{"main", "main@abc", "%zz@" + strings.Repeat("a", 40), "main@" + strings.Repeat("A", 40)} {
		if got := memory.ReadAbout("<!-- ralph-action -->\n<!-- ralph-action about base=main at=" + at + " -->"); len(got.StoodOn) > 0 {
			t.Errorf("ReadAbout(at=%s) = %+v, want no commit", at, got)
		}
	}
}

// Each issue has a line of its own, once; and no more of them than a body holds.
func TestClosingLines(t *testing.T) {
	t.Parallel()
	body := report.Body(ralph.Report{}, report.BodyOptions{Marker: "<!-- m -->", Closes: 7, About: memory.About{Base: "main", Issues: []int{3, 7}}})
	if !strings.Contains(body, "\n\nFixes #3\nFixes #7\n\n") || strings.Count(body, "Fixes #7") != 1 {
		t.Errorf("Body() = %q, want a line for each issue", body)
	}
	var about memory.About
	for n := range 200 {
		about = about.With(n)
	}
	for n := range 30 {
		about = about.On(memory.BaseCommit{Base: "main", SHA: fmt.Sprintf("%040d", n%15)})
	}
	if len(about.StoodOn) != 10 || about.StoodOn[0].SHA != fmt.Sprintf("%040d", 14) || about.StoodOn[9].SHA != fmt.Sprintf("%040d", 5) {
		t.Errorf("On() keeps %v, want the newest ten", about.StoodOn)
	}
	if len(about.Issues) != 50 || about.Issues[49] != 199 {
		t.Errorf("With() keeps %v, want the newest 50", about.Issues)
	}
}
