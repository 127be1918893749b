package report_test

import (
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// continuedRun is the third run on a branch, from an issue, with everything
// that can go well.
func continuedRun() ralph.Report {
	r := completed()
	r.Budget.Total = 20 * ralph.USD
	r.History = ralph.History{Runs: []ralph.Past{
		{Run: "40", Iterations: 10, Commits: 9, Cost: ralph.Cost{Amount: ralph.FromUSD(4.8)}, Did: []string{"Split the parser off", "Change calc.go and 2 more files"}},
		{
			Run: "41", Iterations: 1, Commits: 1, Cost: ralph.Cost{Amount: 250_000, Estimated: true}, Outcome: ralph.Completed,
			Said: ralph.Said{Title: "Add Mul", Description: "`Mul` multiplies, as #12 asks for."}, Did: []string{"Add Mul"},
		},
	}}
	r.Iterations[0].Said = ralph.Said{Commit: "Make Add add"}
	r.Iterations[1].Said = ralph.Said{
		Commit: "Make Sub subtract", Title: "Repair Add and Sub",
		Description: "Both gave the *other's* result, because their bodies were swapped.\n\n- `Add` adds\n- `Sub` subtracts; see [the tests](https://x.example/t)\n\n```go\nfunc Sub(a, b int) int { return a - b }\n```",
	}
	r.Notes = []string{"Checks start by themselves: the push was made with a token of its own (ci-token)."}
	p := &r.Publication
	p.PullRequest.Operation, p.PullRequest.AutoMerge = ralph.OperationUpdated, true
	p.Signed, p.Verified = true, true
	p.Issue, p.Comment = 7, "https://github.com/octo/calc/issues/7#issuecomment-99"
	p.Checks = ralph.Checks{SHA: sha2, State: ralph.ChecksPassed, Passed: 5}
	p.Steps = []ralph.PublishStep{
		{Name: "push", Done: true, Detail: "3 commits to ralph/make-the-failing-tests"},
		{Name: "pull request", Done: true, Detail: "#12 updated"},
		{Name: "labels", Done: true, Detail: "ralph"},
		{Name: "auto-merge", Done: true},
	}
	return r
}

// halfPublished is a run whose later steps failed, in a fork.
func halfPublished() ralph.Report {
	r := maxIterations()
	r.History = ralph.History{Cut: true, Runs: []ralph.Past{
		{Iterations: 120, Cost: ralph.Cost{Unknown: true}},
		{Run: "nightly-20260204", Iterations: 2, Commits: 2, Cost: ralph.Cost{Amount: 900_000, Unknown: true}},
	}}
	r.Budget.Total = 20 * ralph.USD
	r.Iterations[2].Rejection = ralph.RejectedChecks
	r.Iterations[2].Verdicts = []ralph.Verdict{failed("check: build (linux)", 1, "make: *** [all] Error 2\n")}
	p := &r.Publication
	p.Fork, p.PullRequest.Foreign = "mona/calc", true
	p.Signed = true
	p.Checks = ralph.Checks{SHA: sha1, State: ralph.ChecksFailed, Passed: 3, Failed: []string{"build (linux)", "lint"}, Left: []string{"e2e"}}
	p.Comment = "https://github.com/octo/calc/pull/12#issuecomment-100"
	p.Steps = []ralph.PublishStep{
		{Name: "push", Done: true, Detail: "3 commits"},
		{Name: "pull request", Done: true, Detail: "#12 updated"},
		{Name: "labels", Detail: "403: the token may not label (issues: write)"},
		{Name: "reviewers", Detail: "'nobody' could not be asked for a review"},
	}
	return r
}

// goesOn is a run before its end.
func goesOn(r ralph.Report) ralph.Report {
	r.Outcome, r.Reason, r.MaxIterations = "", "", 10
	r.Now = ralph.Activity{Iteration: 3, Took: 310 * time.Second, Doing: "Bash: npm test -- --run @octocat", For: 200 * time.Second}
	return r
}

// running is a run of which nothing is known yet but two iterations.
func running() ralph.Report {
	r := goesOn(maxIterations())
	r.Iterations = r.Iterations[:2]
	r.Publication.PullRequest = ralph.PullRequest{}
	r.Publication.Issue = 7 // known at the end
	r.History = continuedRun().History
	return r
}
