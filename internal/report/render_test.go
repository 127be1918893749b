package report_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/logs"
	"github.com/org/ralph-action/internal/report/memory"
)

func TestTheFirstLineTellsTheOutcome(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"completed":      "✅ Completed in 2 iterations — $0.0274, 41s",
		"max-iterations": "⚠️ Stopped at the iteration limit (3 iterations), not complete — $0.0369, 6m7s",
		"budget":         "⚠️ Stopped by the budget ($5.00) after 3 iterations, not complete — $5.76, 6m7s",
		"deadline":       "⚠️ Stopped at the time limit after 3 iterations, not complete — $0.0369, 6m7s",
		"stalled":        "⚠️ Stopped: no progress after 3 iterations, not complete — $0.0369, 6m7s",
		"waiting":        "⏳ Waiting for a person after 3 iterations — $0.0369, 6m7s",
		"blocked":        "❌ Blocked after 3 iterations: the work may not be published — $0.0369, 6m7s",
		"quota":          "⏳ Stopped by the provider's usage limit after 1 iteration — ≥ $0.0123, 6m7s",
		"interrupted":    "🛑 Interrupted after 1 iteration — $0.0123, 6m7s",
		"invalid":        "❌ Not started: configuration error",
		"plan-missing":   "❌ Not started: there is no implementation plan",
		"prompt-invalid": "❌ Not started: the prompt never asks for the completion signal",
		"skipped":        "⏭️ Nothing to do",
		"agent-failed":   "❌ The agent failed after 1 iteration — cost unknown, 6m7s",
		"git-failed":     "❌ Git or the pull request failed after 2 iterations — $0.0274, 41s",
		"unknown-costs":  "✅ Completed in 2 iterations — cost unknown, 41s",
	}
	for name, r := range samples() {
		line, ok := want[name]
		if !ok {
			continue
		}
		for what, text := range map[string]string{"Summary": report.Summary(r), "Body": report.Body(r, report.BodyOptions{}), "Text": report.Text(r, report.Style{Emoji: true})} {
			first, _, _ := strings.Cut(text, "\n")
			if first = strings.TrimLeft(first, "# "); first != line {
				t.Errorf("%s(%s) begins %q, want %q", what, name, first, line)
			}
		}
		page, err := report.HTML(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if h1 := "<h1>" + strings.NewReplacer("'", "&#39;", "+", "&#43;").Replace(line) + "</h1>"; !strings.Contains(string(page), h1) {
			t.Errorf("HTML(%s) lacks %q", name, h1)
		}
	}
}

func TestUnknownCostIsNeverNothing(t *testing.T) {
	t.Parallel()
	r := unknownCosts()
	page, err := report.HTML(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"Summary": report.Summary(r), "Body": report.Body(r, report.BodyOptions{}), "HTML": string(page), "Text": report.Text(r, report.Style{}),
		"SessionFooter": logs.SessionFooter(r.Iterations[0]), "CommitMessage": memory.CommitMessage(r.Iterations[0], memory.Checkpoint{Cost: r.Usage().Cost}),
	} {
		if strings.Contains(text, "$0") || strings.Contains(text, "Cost-USD") || strings.Contains(text, "Cost per iteration") {
			t.Errorf("%s shows an unknown cost as nothing:\n%s", what, text)
		}
	}
	if s := report.Summary(r); !strings.Contains(s, "No cost chart: the cost of some iterations is unknown.") {
		t.Errorf("Summary does not say why there is no chart of costs:\n%s", s)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	r := huge()
	summary := report.Summary(r)
	if len(summary) >= 1<<20 {
		t.Errorf("Summary has %d bytes, want less than 1 MiB", len(summary))
	}
	body := report.Body(r, report.BodyOptions{Extra: "First.\n\n" + strings.Repeat("wörd ", 20_000), Marker: marker, Closes: 1})
	if n := utf8.RuneCountInString(body); n > 65_536 {
		t.Errorf("Body has %d characters, want at most 65536", n)
	}
	for what, text := range map[string]string{"Summary": summary, "Body": body} {
		for _, part := range []string{"| 1000 |", "999 |", "### Guardrail failures", "left out here; report.json has them all", "What is left to do", "exit code 1"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %q", what, part)
			}
		}
		if strings.Contains(text, "\n| 1 |") {
			t.Errorf("%s keeps the first iteration of a thousand", what)
		}
		if n := strings.Count(text, "<details>"); n != strings.Count(text, "</details>") {
			t.Errorf("%s has %d details, not all closed", what, n)
		}
	}
	if !strings.HasPrefix(body, marker+"\n\nFirst.\n\n…\n") || !strings.Contains(body, "\nFixes #1\n") {
		t.Errorf("Body begins %q, want the marker, the owner's text and what it closes", body[:200])
	}
	page, err := report.HTML(r, nil)
	if err != nil || len(page) > 8<<20 {
		t.Errorf("HTML = %d bytes, %v; want at most 8 MiB", len(page), err)
	}
	if text := report.Text(r, report.Style{Width: 120}); len(text) > 256<<10 {
		t.Errorf("Text has %d bytes, want at most 256 KiB", len(text))
	}
	if title := memory.Title(r); utf8.RuneCountInString(title) > 80 {
		t.Errorf("Title has %d runes, want at most 80", utf8.RuneCountInString(title))
	}
}

// What does not fit at all is left out whole and named.
func TestBodyLeavesOutWholeSections(t *testing.T) {
	t.Parallel()
	r := huge()
	wide := strings.Repeat("`", 2400) // fences grow with what they hold
	for i := range r.Iterations {
		r.Iterations[i].Verdicts[0].Output = wide
	}
	body := report.Body(r, report.BodyOptions{Extra: strings.Repeat("x", 23_000)})
	if len(body) > 65_536 || !strings.Contains(body, "Left out for length: ") {
		t.Errorf("Body has %d bytes and ends %q, want it to name what was left out", len(body), body[len(body)-200:])
	}
}

var liveHTML = regexp.MustCompile(`<(script|img|a|/?b)\b|javascript:`)

func TestHTMLIsInert(t *testing.T) {
	t.Parallel()
	for name, r := range samples() {
		page, err := report.HTML(r, nil)
		if err != nil {
			t.Fatalf("HTML(%s) = %v", name, err)
		}
		for _, tag := range []string{"<script", "<img", "<iframe", "<object", "<link", "@import", "url(", "onerror=alert(1)>", `href="javascript`} {
			if strings.Contains(strings.ToLower(string(page)), tag) {
				t.Errorf("HTML(%s) has %s", name, tag)
			}
		}
	}
}

// Everything outside code in the hostile report is free of what a forge acts on.
func TestMarkdownIsDefused(t *testing.T) {
	t.Parallel()
	fences := regexp.MustCompile("(?ms)^(`{3,})[a-z]*\n.*?^`{3,}$")
	spans := regexp.MustCompile("`[^`\n]+`")
	links := regexp.MustCompile(`\]\(https?://[^()\s]*\)`)
	ours := regexp.MustCompile(`</?(details|summary|code|sub|b|br)>`)
	for what, text := range map[string]string{
		"Summary": report.Summary(hostile()), "Body": report.Body(hostile(), report.BodyOptions{}),
		"Comment": report.Comment(hostile(), ""), "Comment of a run that goes on": report.Comment(goesOn(hostile()), ""),
		"Summary of stories": report.Summary(hostileTasks()), "Body of stories": report.Body(hostileTasks(), report.BodyOptions{}),
	} {
		text = strings.ReplaceAll(text, "\\`", "") // an escaped backtick opens nothing
		text = ours.ReplaceAllString(spans.ReplaceAllString(fences.ReplaceAllString(text, ""), ""), "")
		text = links.ReplaceAllString(text, "]")
		for _, bad := range []*regexp.Regexp{
			regexp.MustCompile(`@\w`), regexp.MustCompile(`#\d+`), regexp.MustCompile(`(?i)gh-\d`), regexp.MustCompile(`://`), regexp.MustCompile(`www\.`),
			regexp.MustCompile(`<\w`), liveHTML, regexp.MustCompile(`[^\\]!\[x\]\(`),
		} {
			for _, m := range bad.FindAllStringIndex(text, -1) {
				around := text[max(0, m[0]-40):min(len(text), m[1]+40)]
				if strings.Contains(around, "&#") && bad.String() == `#\d+` || strings.Contains(around, "#3") || bad == liveHTML && strings.Contains(around, "javascript:alert") {
					continue // an entity; our own pull request; words without a link
				}
				t.Errorf("%s has %q: …%s…", what, bad, around)
			}
		}
	}
}

func TestTitle(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Fix the bug":                  "ralph: Fix the bug",
		"\n\n# Heading\n\ntext":        "ralph: Heading",
		"":                             "ralph: unattended work",
		"---\n***":                     "ralph: unattended work",
		"fixes #12 for @octocat":       "ralph: fixes #\u200d12 for @\u200doctocat",
		"a\x00b\u202ec":                "ralph: abc",
		strings.Repeat("word ", 40):    "ralph: word word word word word word word word word word word word…",
		strings.Repeat("ü", 100):       "ralph: " + strings.Repeat("ü", 64) + "…",
		"- $(touch x); `id`\nand more": "ralph: $(touch x); `id`",
	} {
		if got := memory.Title(ralph.Report{Task: in}); got != want {
			t.Errorf("Title(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestGitFailureOffersTheNextStep(t *testing.T) {
	t.Parallel()
	s := report.Summary(gitFailed())
	for _, part := range []string{
		"is not permitted to create or approve pull requests",
		"[Open the pull request yourself](https://github.com/octo/calc/compare/main...ralph/make-the-failing-tests?expand=1&title=Change+calc.go+and+3+more+files",
	} {
		if !strings.Contains(s, part) {
			t.Errorf("Summary(git-failed) lacks %q:\n%s", part, s)
		}
	}
	r := gitFailed()
	r.Publication.Pushed = false
	if s := report.Summary(r); strings.Contains(s, "/compare/") {
		t.Errorf("Summary offers a comparison with a branch that was not pushed:\n%s", s)
	}
}

func TestRedacted(t *testing.T) {
	t.Parallel()
	r := hostile()
	// Escaping would hide an underscore from a redactor that comes too late.
	secret := "s3_cr3t"
	split := "s3_c\u200br3t"
	for _, p := range []*string{
		&r.Task, &r.Reason, &r.Isolation, &r.Notes[0], &r.Publication.Errors[0], &r.Baseline[0].Output, &r.Iterations[0].Verdicts[0].Command,
		&r.Iterations[0].Turns[0].FinalText, &r.Iterations[0].Turns[0].Failure.Message, &r.Iterations[0].Turns[0].Todos[0].Text, &r.Iterations[0].Change.Notes[0], &r.Iterations[0].Commit.PushError,
		&r.Publication.Fork, &r.Publication.Checks.Failed[0], &r.Publication.Checks.Left[0], &r.Publication.Steps[0].Name, &r.Publication.Steps[1].Detail, &r.History.Runs[0].Run,
		&r.Iterations[0].Turns[0].Agent, &r.Iterations[0].Turns[0].Models[0].Model, &r.Prices,
		&r.Iterations[0].Delivery.Message, &r.Iterations[0].Delivery.Tasks[0].Command, &r.Iterations[0].Delivery.Tasks[0].Output, &r.Iterations[0].Delivery.Error, &r.Iterations[0].Delivery.Turn.FinalText,
	} {
		*p = "before " + split + " after"
	}
	clean := report.Redacted(r, func(s string) string { return strings.ReplaceAll(s, secret, "***") })
	text, err := report.JSON(clean)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{string(text), report.Summary(clean), report.Text(clean, report.Style{})} {
		if strings.Contains(s, secret) || strings.Contains(s, split) || strings.Contains(s, `s3\_cr3t`) || !strings.Contains(s, "before *** after") && !strings.Contains(s, `before \*\*\* after`) {
			t.Errorf("a secret shows, or no mask: %s", s)
		}
	}
	if r.Iterations[0].Delivery.Tasks[0].Output != "before "+split+" after" || r.Publication.Steps[0].Name != "before "+split+" after" || r.History.Runs[0].Run != "before "+split+" after" || r.Notes[0] != "before "+split+" after" || r.Iterations[0].Turns[0].Models[0].Model != "before "+split+" after" || r.Iterations[0].Turns[0].Failure.Message != "before "+split+" after" {
		t.Error("Redacted changed the report it was given")
	}
}

// A text that somebody adds to the record is masked without being named anywhere.
func TestRedactedMasksEveryText(t *testing.T) {
	t.Parallel()
	r := everywhere("s3_cr3t", ralph.Blocked)
	r.Iterations[0].Stray = "<promise>s3_cr3t</promise>"
	masked := report.Redacted(r, func(s string) string { return strings.ReplaceAll(s, "s3_cr3t", "***") })
	// Names and ids of ours, which no secret is in.
	ours := map[string]bool{"Version": true, "Mode": true, "Repository": true, "ServerURL": true, "HeadSHA": true, "SHA": true, "Tip": true, "Head": true, "Tree": true, "Digest": true, "Status": true}
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			if v.Type() == reflect.TypeFor[string]() && strings.Contains(v.String(), "s3_cr3t") {
				t.Errorf("Redacted left the secret in %s", path)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if name := v.Type().Field(i).Name; v.Type().Field(i).IsExported() && !ours[name] {
					walk(path+"."+name, v.Field(i))
				}
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(path, v.Index(i))
			}
		case reflect.Pointer:
			if !v.IsNil() {
				walk(path, v.Elem())
			}
		}
	}
	walk("Report", reflect.ValueOf(masked))
}

func TestTextWraps(t *testing.T) {
	t.Parallel()
	r := gitFailed()
	for i, line := range strings.Split(report.Text(r, report.Style{Width: 80}), "\n") {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("line %d has %d columns, want at most 80: %q", i+1, n, line)
		}
	}
	if text := report.Text(r, report.Style{}); strings.ContainsAny(text, "✅❌⚠\x1b") {
		t.Errorf("Text without emoji and colour has some: %s", text)
	}
	if text := report.Text(r, report.Style{Color: true}); !strings.Contains(text, "\x1b[31m[ERR] Git or the pull request failed") {
		t.Errorf("Text with colour begins %q", text[:60])
	}
}

func TestUnpushedCommitsHaveNoLinks(t *testing.T) {
	t.Parallel()
	r := maxIterations()
	r.Publication.Pushed, r.Publication.PullRequest = false, ralph.PullRequest{}
	for i := range r.Iterations {
		r.Iterations[i].Commit.Pushed, r.Iterations[i].Commit.PushError = false, "503 from the server"
	}
	page, err := report.HTML(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := report.Summary(r)
	for what, text := range map[string]string{"Summary": s, "HTML": string(page)} {
		if strings.Contains(text, "/commit/") || strings.Contains(text, "/compare/") {
			t.Errorf("%s links to commits that nobody can see", what)
		}
	}
	for _, part := range []string{"3 commits (not pushed)", "`1f0c2d3`<br>not\u00a0pushed", "- The last commit could not be pushed: 503 from the server"} {
		if !strings.Contains(s, part) {
			t.Errorf("Summary lacks %q:\n%s", part, s)
		}
	}
}

func TestCharts(t *testing.T) {
	t.Parallel()
	r := maxIterations()
	one := r.Iterations[0]
	run := func(n int) ralph.Report {
		r.Iterations = nil
		for i := range n {
			it := one
			it.Number, it.Duration = i+4, time.Duration(i+1)*time.Minute
			r.Iterations = append(r.Iterations, it)
		}
		return r
	}
	for n, want := range map[int][]string{
		2:   {"title \"Time per iteration (seconds)\"\n    x-axis [4, 5]\n    y-axis 0 --> 150\n    bar [60, 120]\n", "title \"Cost per iteration (US cents)\"\n    x-axis [4, 5]\n    y-axis 0 --> 1.5\n    bar [1.23, 1.23]\n"},
		4:   {"title \"Time per iteration (minutes)\"\n    x-axis [4, 5, 6, 7]\n    y-axis 0 --> 5\n    bar [1, 2, 3, 4]\n"},
		26:  {"x-axis 4 --> 29\n    y-axis 0 --> 40\n    line [1, 2,"},
		250: {"title \"Time per iteration (hours)\"\n    x-axis 154 --> 253\n    y-axis 0 --> 5\n    line [2.517,"},
	} {
		for _, part := range want {
			if s := report.Summary(run(n)); !strings.Contains(s, part) {
				_, chart, _ := strings.Cut(s, "xychart-beta")
				t.Errorf("Summary of %d iterations lacks %q:%.300s", n, part, chart)
			}
		}
	}
	if s := report.Summary(run(1)); strings.Contains(s, "mermaid") {
		t.Errorf("Summary of one iteration has a chart:\n%s", s)
	}
}

func TestAnnouncement(t *testing.T) {
	t.Parallel()
	r := gitFailed()
	if got, want := report.Headline(r), "Git or the pull request failed after 2 iterations — $0.0274, 41s"; got != want {
		t.Errorf("Headline(git-failed) = %q, want %q", got, want)
	}
	want := "the pull request could not be made\n" + r.Publication.Errors[0] + "\nSee what failed above; nothing that was pushed before is lost.\nBranch: " + r.Publication.Branch
	if got := report.Announcement(r); got != want {
		t.Errorf("Announcement(git-failed) = %q, want %q", got, want)
	}
	r = completed()
	for _, tt := range []struct {
		name, want string
		p          ralph.Publication
	}{
		{"a branch alone", "Branch: ralph/x", ralph.Publication{Branch: "ralph/x", HeadSHA: "abc", Pushed: true}},
		{"a dry run", "Branch: ralph/x, not pushed", ralph.Publication{Branch: "ralph/x", HeadSHA: "abc"}},
		{"no change", "Nothing was published: the run committed nothing.", ralph.Publication{Branch: "ralph/x"}},
	} {
		r.Publication = tt.p
		if got := report.Announcement(r); got != tt.want {
			t.Errorf("Announcement(%s) = %q, want %q", tt.name, got, tt.want)
		}
	}
	r = gitFailed()
	r.Reason = "the work was done in 2 iterations, but publishing failed: " + r.Publication.Errors[0]
	if got := report.Announcement(r); strings.Count(got, r.Publication.Errors[0]) != 1 {
		t.Errorf("Announcement(git-failed) = %q, want the failure once", got)
	}
	if got, want := report.Announcement(completed()), "Pull request: https://github.com/octo/calc/pull/12"; got != want {
		t.Errorf("Announcement(completed) = %q, want %q", got, want)
	}
}
