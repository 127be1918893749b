package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/logs"
)

// The history says what each run came to, and sums it up.
func TestHistoryOfTheBranch(t *testing.T) {
	t.Parallel()
	r := continuedRun()
	for what, text := range map[string]string{"Body": report.Body(r, report.BodyOptions{}), "Summary": report.Summary(r)} {
		text = strings.ReplaceAll(text, "\u00a0", " ")
		for _, part := range []string{
			"### History of the branch\n", "| [40](https://github.com/octo/calc/actions/runs/40) | 1–10 | $4.80 | not complete | 9 |\n",
			"| [41](https://github.com/octo/calc/actions/runs/41) | 11 | about $0.25 | ✅ completed | 1 |\n",
			"| [this run](https://github.com/octo/calc/actions/runs/42) | 12–13 | $0.0274 | ✅ completed | 2 |\n",
			"| **Total** | **13** | **about $5.08** | | **12** |\n", "Cost of the branch: **about $5.08 of $20.00 (max-total-cost-usd)**.",
			"Iterations 1–2 of this run are iterations 12–13 of the branch, as its commit messages say.",
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
		if (want == "") == strings.Contains(body, "Checks of the forge:") || !strings.Contains(body, want) || strings.Contains(body, "- @octocat") {
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

// Work that the forge's checks refused is told so wherever an iteration is.
func TestFailedChecksOfAnIteration(t *testing.T) {
	t.Parallel()
	it := halfPublished().Iterations[2]
	v := logs.Verbose{Completion: ralph.Completion{Kind: ralph.CompletionPromise, Token: "COMPLETE"}}
	texts := map[string]string{
		"log of the session": logs.SessionFooter(it),
		"verbose log":        strings.Join(v.Lines(ralph.Event{Kind: ralph.EventIterationEnd, Iteration: 3, Record: &it}), "\n"),
		"live log":           strings.Join((&logs.Formatter{}).Lines(ralph.Event{Kind: ralph.EventIterationEnd, Iteration: 3, Record: &it}), "\n"),
		"summary":            report.Summary(halfPublished()),
	}
	for what, text := range texts {
		if !strings.Contains(strings.ReplaceAll(text, "\u00a0", " "), "checks failed") && !strings.Contains(text, "checks of the pushed commit failed") {
			t.Errorf("the %s does not tell that the checks failed:\n%s", what, text)
		}
	}
}
