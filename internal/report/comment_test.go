package report_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
)

func TestCommentWhileItRuns(t *testing.T) {
	t.Parallel()
	r := running()
	golden(t, "running.comment.md", report.Comment(r, marker))
	golden(t, "running.body.md", report.Body(r, report.BodyOptions{Marker: marker}))
	r.MaxIterations, r.Iterations, r.History, r.Budget = 0, nil, ralph.History{}, ralph.Budget{}
	for n, want := range map[int]string{0: "### 🔄 Starting\n", 1: "### 🔄 Working: iteration 1\n"} {
		r.Now = ralph.Activity{Iteration: n}
		if got := report.Comment(r, ""); !strings.HasPrefix(got, want) || strings.Contains(got, "So far") {
			t.Errorf("Comment(iteration %d) = %q, want %q first", n, got, want)
		}
	}
	if got := report.Comment(ralph.Report{}, ""); got != "### 🔄 Starting\n" {
		t.Errorf("Comment(nothing) = %q", got)
	}
	stories := tasksRun()
	if got := report.Comment(goesOn(stories), ""); !strings.Contains(got, "stories") || !strings.Contains(got, "review US-002: approved") {
		t.Errorf("Comment(task list) = %s, want the stories and the steps", got)
	}
}

func TestCommentWhenItEnded(t *testing.T) {
	t.Parallel()
	r := continuedRun()
	got := report.Comment(r, marker)
	for _, part := range []string{
		marker + "\n\n### ✅ Completed in 2 iterations — $0.0274, 41s\n", "[#12](https://github.com/octo/calc/pull/12) (updated", "✅ 5 checks passed", "cost of the branch: about $5.08 of $20.00",
		"[log of this run](https://github.com/octo/calc/actions/runs/42)",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("Comment(completed) lacks %q:\n%s", part, got)
		}
	}
	if got := report.Comment(maxIterations(), ""); !strings.Contains(got, "### What is left to do\n") {
		t.Errorf("Comment(max-iterations) does not say what is left:\n%s", got)
	}
	if got := report.Comment(invalid(), ""); !strings.Contains(got, "is not a number") {
		t.Errorf("Comment(invalid) does not say why:\n%s", got)
	}
	for what, r := range map[string]ralph.Report{"ended": huge(), "running": huge()} {
		if what == "running" {
			r = goesOn(r)
			r.Now.Iteration = 1001
		}
		got := report.Comment(r, marker)
		if len(got) > 16_000 || !strings.HasPrefix(got, marker) || !strings.Contains(got, "1001") && what == "running" {
			t.Errorf("Comment of a huge run that is %s has %d bytes", what, len(got))
		}
	}
}

// The first lines of a body are what finds it again and what it closes.
func TestBodyBegins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    report.BodyOptions
		want string
	}{
		"all":          {report.BodyOptions{Extra: "For the *team*.\r\n\r\nCc @mona", Marker: marker, Closes: 7}, marker + "\n\nFor the *team*.\n\nCc @mona\n\nFixes #7\n\n### ✅"},
		"no text":      {report.BodyOptions{Marker: marker, Closes: 7}, marker + "\n\nFixes #7\n\n### ✅"},
		"no issue":     {report.BodyOptions{Marker: marker}, marker + "\n\n### ✅"},
		"no number":    {report.BodyOptions{Closes: -1}, "### ✅"},
		"open fence":   {report.BodyOptions{Extra: "So:\n````go\nx := 1\n```"}, "So:\n````go\nx := 1\n```\n````\n\n### ✅"},
		"closed fence": {report.BodyOptions{Extra: "So:\n~~~\nx\n~~~~\n`` ``` ``"}, "So:\n~~~\nx\n~~~~\n`` ``` ``\n\n### ✅"},
		"open comment": {report.BodyOptions{Extra: "So.\n<!-- to do\n```"}, "So.\n<!-- to do\n```\n-->\n\n### ✅"},
		"a comment":    {report.BodyOptions{Extra: "<!-- a\nb --> c\n    ```\n"}, "<!-- a\nb --> c\n    ```\n\n### ✅"},
	} {
		if got := report.Body(completed(), c.o); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: Body begins %q, want %q", name, got[:min(len(got), len(c.want)+20)], c.want)
		}
	}
}

// A body has at most the characters that a forge takes, whatever their width,
// and what was cut is closed.
func TestBodyOfManyBytes(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"ü", "日本", "👩‍👩‍👧", "a"} {
		r := huge()
		r.Task, r.Iterations[999].Turns[0].FinalText = strings.Repeat(word, 100_000), strings.Repeat(word, 100_000)
		body := report.Body(r, report.BodyOptions{Extra: "```\n" + strings.Repeat(word+"\n\n", 70_000), Marker: marker, Closes: 7})
		if n := utf8.RuneCountInString(body); n > 65_536 || !utf8.ValidString(body) {
			t.Errorf("Body of %q has %d characters, want at most 65536", word, n)
		}
		if before, _, found := strings.Cut(body, "\nFixes #7\n"); !found || strings.Count(before, "```") != 2 || len(before) > 21_000 {
			t.Errorf("Body of %q does not close what it cut, or begins with %d bytes of the owner's", word, len(before))
		}
	}
}
