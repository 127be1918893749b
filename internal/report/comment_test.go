package report_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
)

func TestCommentWhileItRuns(t *testing.T) {
	t.Parallel()
	r := running()
	golden(t, "running.comment.md", report.Comment(r, report.CommentOptions{Marker: marker, Iteration: 3}))
	r.MaxIterations, r.Iterations, r.History, r.Budget = 0, nil, ralph.History{}, ralph.Budget{}
	for n, want := range map[int]string{0: "### 🔄 Starting\n", 1: "### 🔄 Working: iteration 1\n"} {
		if got := report.Comment(r, report.CommentOptions{Iteration: n}); !strings.HasPrefix(got, want) || strings.Contains(got, "So far") {
			t.Errorf("Comment(iteration %d) = %q, want %q first", n, got, want)
		}
	}
	if got := report.Comment(ralph.Report{}, report.CommentOptions{}); got != "### 🔄 Starting\n" {
		t.Errorf("Comment(nothing) = %q", got)
	}
	stories := tasksRun()
	if got := report.Comment(goesOn(stories), report.CommentOptions{Iteration: 5}); !strings.Contains(got, "stories") || !strings.Contains(got, "review US-002: approved") {
		t.Errorf("Comment(task list) = %s, want the stories and the steps", got)
	}
}

func TestCommentWhenItEnded(t *testing.T) {
	t.Parallel()
	r := continuedRun()
	got := report.Comment(r, report.CommentOptions{Marker: marker})
	for _, part := range []string{
		marker + "\n\n### ✅ Completed in 2 iterations — $0.03, 41s\n", "[#12](https://github.com/octo/calc/pull/12) (updated", "✅ 5 checks passed", "cost of the branch: about $5.08 of $20.00",
		"[log of this run](https://github.com/octo/calc/actions/runs/42)",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("Comment(completed) lacks %q:\n%s", part, got)
		}
	}
	if got := report.Comment(maxIterations(), report.CommentOptions{}); !strings.Contains(got, "### What is left to do\n") {
		t.Errorf("Comment(max-iterations) does not say what is left:\n%s", got)
	}
	if got := report.Comment(invalid(), report.CommentOptions{}); !strings.Contains(got, "is not a number") {
		t.Errorf("Comment(invalid) does not say why:\n%s", got)
	}
	for what, r := range map[string]ralph.Report{"ended": huge(), "running": huge()} {
		if what == "running" {
			r = goesOn(r)
		}
		got := report.Comment(r, report.CommentOptions{Marker: marker, Iteration: 1001})
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

// The history says what each run came to, and sums it up.
func TestHistoryOfTheBranch(t *testing.T) {
	t.Parallel()
	r := continuedRun()
	for what, text := range map[string]string{"Body": report.Body(r, report.BodyOptions{}), "Summary": report.Summary(r)} {
		text = strings.ReplaceAll(text, "\u00a0", " ")
		for _, part := range []string{
			"### History of the branch\n", "| [40](https://github.com/octo/calc/actions/runs/40) | 1–10 | $4.80 | not complete | 9 |\n",
			"| [41](https://github.com/octo/calc/actions/runs/41) | 11 | about $0.25 | ✅ completed | 1 |\n",
			"| [this run](https://github.com/octo/calc/actions/runs/42) | 12–13 | $0.03 | ✅ completed | 2 |\n",
			"| **Total** | **13** | **about $5.08** | | **12** |\n", "Cost of the branch: **about $5.08 of $20.00 (max-total-cost-usd)**.",
			"Iterations 1–2 of this run are 12–13 of the branch, as its commits count.",
		} {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %q:\n%s", what, part, text)
			}
		}
	}
	r.History.Runs = nil
	for n := range 100 {
		r.History.Runs = append(r.History.Runs, ralph.Past{Run: fmt.Sprint("n", n+1), Iterations: 2, Commits: 1, Cost: ralph.Cost{Amount: ralph.USD}})
	}
	body := strings.ReplaceAll(report.Body(r, report.BodyOptions{}), "\u00a0", " ")
	for _, part := range []string{"| 91 runs before | 1–182 | $91.00 | – | 91 |\n| n92 | 183–184 |", "| n100 | 199–200 | $1.00 |", "| **Total** | **202** | **$100.03** | | **102** |"} {
		if !strings.Contains(body, part) {
			t.Errorf("Body lacks %q:\n%s", part, body)
		}
	}
	r.History, r.Budget.Total = ralph.History{}, 0
	if text := report.Summary(r) + report.Body(r, report.BodyOptions{}); strings.Contains(text, "the branch:") || strings.Contains(text, "History") {
		t.Errorf("a first run has a history:\n%s", text)
	}
}

// The record says which steps happened: in full when one did not.
func TestStepsOfPublishing(t *testing.T) {
	t.Parallel()
	for what, text := range renderings(t, halfPublished()) {
		if what == "Body" { // written before the steps that follow it
			continue
		}
		for _, part := range []string{"push: 3 commits", "labels: 403: the token may not label"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s of a run that was published in part lacks %q:\n%s", what, part, text)
			}
		}
	}
	good := report.Summary(continuedRun())
	if !strings.Contains(good, "<details><summary>What was published: 4 steps, none failed</summary>\n\n- ✅ push: 3 commits to ralph/make-the-failing-tests\n") {
		t.Errorf("Summary does not fold what went well:\n%s", good)
	}
	if text := report.Text(continuedRun(), report.Style{}); strings.Contains(text, "labels") {
		t.Errorf("Text tells every step though all went well:\n%s", text)
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]ralph.Checks{
		"":                                  {Passed: 3},
		"✅ 1 check passed":                  {State: ralph.ChecksPassed, Passed: 1},
		"⚠️ No check was started":           {State: ralph.ChecksNone},
		"❌ The checks failed":               {State: ralph.ChecksFailed},
		"⏳ 2 passed, 1 had not finished":    {State: ralph.ChecksPending, Passed: 2, Left: []string{"e2e"}},
		"❌ 2 checks failed, 3 passed":       {State: ralph.ChecksFailed, Passed: 3, Failed: []string{"a", "b"}},
		"⏳ The checks had not finished":     {State: ralph.ChecksPending},
		"❌ 1 check failed, 1 had not finis": {State: ralph.ChecksFailed, Failed: []string{"@octocat fixes #1"}, Left: []string{"b"}},
	} {
		r := completed()
		r.Publication.Checks = c
		body := report.Body(r, report.BodyOptions{})
		if (want == "") == strings.Contains(body, "### Checks") || !strings.Contains(body, want) || strings.Contains(body, "- @octocat") {
			t.Errorf("Body of %+v lacks %q:\n%s", c, want, body)
		}
	}
}

// The branch of a fork is compared and linked where it lies.
func TestForks(t *testing.T) {
	t.Parallel()
	for fork, want := range map[string][2]string{
		"":               {"/compare/main...ralph/make-the-failing-tests)", "https://github.com/octo/calc/commit/"},
		"mona/calc":      {"/compare/main...mona:ralph/make-the-failing-tests)", "https://github.com/mona/calc/commit/"},
		"octo/calc-copy": {"/compare/main...octo:calc-copy:ralph/make-the-failing-tests)", "https://github.com/octo/calc-copy/commit/"},
		"../x":           {"2 commits", "`1f0c2d3` |"},
		"a b\n# c":       {"2 commits", "`1f0c2d3` |"},
	} {
		r := completed()
		r.Publication.Fork = fork
		r.Iterations[0].Commit.Own = 0
		r.Iterations[1].Commit.Own = 0
		body := report.Body(r, report.BodyOptions{})
		for _, part := range want {
			if !strings.Contains(body, part) {
				t.Errorf("Body of a branch in %q lacks %q:\n%s", fork, part, body)
			}
		}
	}
}
