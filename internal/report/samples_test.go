package report_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// start is when every sample run began.
var start = time.Date(2026, 2, 5, 10, 0, 0, 0, time.UTC)

const (
	marker = "<!-- ralph-action -->"

	sha1 = "1f0c2d3e4b5a69788796a5b4c3d2e1f001234567"
	sha2 = "9a8b7c6d5e4f30213243546576879809aabbccdd"
	tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
)

// samples are reports of every outcome.
func samples() map[string]ralph.Report {
	return map[string]ralph.Report{
		"completed":         completed(),
		"max-iterations":    maxIterations(),
		"budget":            overBudget(),
		"deadline":          stopped(ralph.Deadline, "max-duration 30m0s is over"),
		"stalled":           stopped(ralph.Stalled, "nothing changed in 3 iterations"),
		"waiting":           stopped(ralph.Waiting, "the agent asked not to be started again: Waiting for user input"),
		"scm":               scmTasks(),
		"commit-failed":     commitFailed(),
		"supervised":        supervised(ralph.MaxIterations, 1, "max-iterations 100 is reached and the work is not done"),
		"supervise-wait":    supervised(ralph.Waiting, 0, "the agent asked not to be started again: exit code 42"),
		"supervise-done":    doneBefore(),
		"plan-gone":         modeChanged(ralph.PlanMissing, "build", "Implementation plan not found. Run 'ralph plan' first."),
		"prompt-gone":       modeChanged(ralph.PromptInvalid, "prompt", "prompts/x.md does not contain <promise>COMPLETE</promise>"),
		"blocked":           stopped(ralph.Blocked, "the work changes .github/workflows/ci.yml, a protected path"),
		"quota":             quota(),
		"interrupted":       interrupted(),
		"invalid":           invalid(),
		"plan-missing":      notStarted(ralph.PlanMissing, 2, "Implementation plan not found. Run 'ralph plan' first."),
		"prompt-invalid":    notStarted(ralph.PromptInvalid, 1, "prompts/x.md does not contain <promise>COMPLETE</promise>"),
		"skipped":           notStarted(ralph.Skipped, 0, "issue #3 got the label \"bug\": a run is started by \"ralph\""),
		"agent-failed":      agentFailed(),
		"git-failed":        gitFailed(),
		"unknown-costs":     unknownCosts(),
		"desk":              desk(),
		"fallback":          tookOver(),
		"estimated":         estimated(),
		"hostile":           hostile(),
		"tasks":             tasksRun(),
		"tasks-cap":         capReached(),
		"tasks-unprotected": unprotected(),
		"tasks-skip":        reviewsSkipped(),
		"tasks-many":        manyStories(300),
		"tasks-hostile":     hostileTasks(),
		"wave":              integrated(),
		"wave-last":         lastWave(),
		"wave-hostile":      hostileWave(),
		"history":           continuedRun(),
		"half-published":    halfPublished(),
		"blocked-secret":    blockedBySecret(),
		"flagged":           flagged(),
		"session":           sessionRun(ralph.Completed, "the work was done in 4 iterations"),
		"session-limit":     sessionRun(ralph.MaxIterations, "max-iterations 4 is reached and the work is not done"),
	}
}

func completed() ralph.Report {
	return ralph.Report{
		Version: "v1.0.0", Mode: "run", Agent: "claude", Model: "sonnet",
		Task:    "Make the failing tests of package calc pass.\n\nDo not change the tests.",
		Started: start, Duration: 41 * time.Second,
		Outcome: ralph.Completed, Reason: "the agent promised COMPLETE and every guardrail passed",
		MaxIterations: 10, Budget: ralph.Budget{Cost: 5 * ralph.USD},
		Baseline: []ralph.Verdict{
			{Command: "go vet ./...", Passed: true, Duration: 800 * time.Millisecond},
			failed("go test ./...", 1, "--- FAIL: TestAdd (0.00s)\n    calc_test.go:9: Add(2, 2) = 5, want 4\nFAIL\n"),
		},
		Iterations: []ralph.Iteration{
			{
				Number: 1, Started: start, Duration: 23 * time.Second,
				Turns:     []ralph.Turn{okTurn(12_300, 8_100, 1_900, 640, 0.0123, "I changed Add. Let me know whether this is right.")},
				Verdicts:  []ralph.Verdict{{Command: "go vet ./...", Passed: true}, failed("go test ./...", 1, "--- FAIL: TestSub (0.00s)\n    calc_test.go:17: Sub(5, 3) = 8, want 2\nFAIL\n")},
				Change:    ralph.Change{Head: sha1, Tree: tree, Files: 1, Insertions: 2, Deletions: 1, SinceStart: true},
				Commit:    ralph.Commit{SHA: sha1, Subject: "ralph: iteration 1", Files: 1, Pushed: true},
				Rejection: ralph.RejectedGuardrails,
			},
			{
				Number: 2, Started: start.Add(24 * time.Second), Duration: 17 * time.Second,
				Turns:    []ralph.Turn{okTurn(9_800, 21_000, 400, 510, 0.0151, "Sub subtracts now. All tests pass.\n\n<promise>COMPLETE</promise>")},
				Verdicts: []ralph.Verdict{{Command: "go vet ./...", Passed: true}, {Command: "go test ./...", Passed: true}},
				Change:   ralph.Change{Head: sha2, Tree: tree, Files: 2, Insertions: 12, Deletions: 3, SinceStart: true},
				Commit:   ralph.Commit{SHA: sha2, Subject: "ralph: iteration 2", Files: 2, Pushed: true, Own: 1},
				Marker:   true,
			},
		},
		Isolation:  "own user, Landlock ABI 7",
		Repository: "octo/calc", RunURL: "https://github.com/octo/calc/actions/runs/42", Actor: "mona",
		Publication: ralph.Publication{
			Branch: "ralph/make-the-failing-tests", Base: "main", HeadSHA: sha2, Pushed: true, ServerURL: "https://github.com",
			PullRequest: ralph.PullRequest{Number: 12, URL: "https://github.com/octo/calc/pull/12", Operation: ralph.OperationCreated},
			Files: []ralph.File{
				{Path: "calc.go", Insertions: 12, Deletions: 3}, {Path: "logo.png", New: true, Uncounted: true},
				{Path: "old.go", Gone: true, Deletions: 20}, {Path: "sum/sum.go", From: "sum.go", New: true},
			},
		},
	}
}

func maxIterations() ralph.Report {
	r := completed()
	r.Outcome, r.ExitCode, r.MaxIterations = ralph.MaxIterations, 1, 3
	r.Reason = "3 iterations were allowed"
	r.Duration = 6*time.Minute + 7*time.Second
	r.Publication.PullRequest.Draft, r.Publication.PullRequest.Operation = true, ralph.OperationUpdated
	r.Iterations = nil
	for n := 1; n <= 3; n++ {
		it := completed().Iterations[0]
		it.Number, it.Duration = n, time.Duration(60+20*n)*time.Second
		it.Verdicts[1].Digest = "same"
		r.Iterations = append(r.Iterations, it)
	}
	r.Iterations[2].Turns = append([]ralph.Turn{{Failure: &ralph.Failure{Kind: ralph.FailureAPI, Message: "529 overloaded"}, Usage: ralph.Usage{Tokens: ralph.Tokens{Input: 100}}}}, r.Iterations[2].Turns...)
	r.Iterations[1].Verdicts = append(r.Iterations[1].Verdicts, ralph.Verdict{Command: "make integration", ExitCode: -1, Reason: "timed out after 5m0s", Duration: 5 * time.Minute, LogFile: ".ralph/guardrail_002_make_integration.log", Digest: "other"})
	r.Notes = []string{"2 files were changed in the checkout before the run started; they are not published.", "A pull request made with GITHUB_TOKEN does not start other workflows: pass ci-token."}
	return r
}

func overBudget() ralph.Report {
	r := maxIterations()
	r.Outcome, r.Reason = ralph.OverBudget, "$5.76 spent; max-cost-usd is $5.00"
	r.Iterations[2].Turns[1].Usage.Cost.Amount = ralph.FromUSD(5.7354)
	return r
}

func stopped(o ralph.Outcome, reason string) ralph.Report {
	r := maxIterations()
	r.Outcome, r.Reason, r.ExitCode, r.MaxIterations = o, reason, o.ExitCode(false), 10
	return r
}

func quota() ralph.Report {
	r := stopped(ralph.Quota, "the provider's usage limit is reached")
	r.Iterations = r.Iterations[:2]
	r.Iterations[1].Turns = []ralph.Turn{{
		Duration: 2 * time.Second, Usage: ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Unknown: true}},
		Failure: &ralph.Failure{Kind: ralph.FailureQuota, Message: "You've hit your session limit", RetryAt: start.Add(3 * time.Hour)},
	}}
	r.Iterations[1].Verdicts, r.Iterations[1].Commit, r.Iterations[1].Rejection = nil, ralph.Commit{}, ralph.RejectedTurn
	return r
}

func interrupted() ralph.Report {
	r := stopped(ralph.Interrupted, "SIGINT")
	r.Iterations = r.Iterations[:1]
	it := &r.Iterations[0]
	it.Verdicts, it.Rejection = nil, ralph.RejectedTurn
	it.Turns[0].Failure = &ralph.Failure{Kind: ralph.FailureCancelled, Message: "the run was cancelled"}
	return r
}

func invalid() ralph.Report {
	return notStarted(ralph.Invalid, 2, `max-iterations: "lots" is not a number; guardrails: line 2: unknown key "comand" (did you mean "command"?)`)
}

func notStarted(o ralph.Outcome, code int, reason string) ralph.Report {
	return ralph.Report{Version: "v1.0.0", Mode: "build", Agent: "claude", Started: start, Outcome: o, Reason: reason, ExitCode: code}
}

func agentFailed() ralph.Report {
	r := stopped(ralph.AgentFailed, "iteration 1 failed 4 times")
	r.Iterations = r.Iterations[:1]
	it := &r.Iterations[0]
	it.Turns, it.Verdicts, it.Commit, it.Change = nil, nil, ralph.Commit{}, ralph.Change{Head: sha1, Tree: tree}
	for range 4 {
		it.Turns = append(it.Turns, ralph.Turn{
			Duration: 4 * time.Second, ExitCode: 1, Usage: ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Unknown: true}},
			Failure: &ralph.Failure{Kind: ralph.FailureAuth, Message: "401 invalid x-api-key"},
		})
	}
	it.Rejection = ralph.RejectedTurn
	r.Publication = ralph.Publication{Branch: "ralph/x", Base: "main", ServerURL: "https://github.com"}
	return r
}

func gitFailed() ralph.Report {
	r := completed()
	r.Outcome, r.ExitCode = ralph.GitFailed, 5
	r.Reason = "the pull request could not be made"
	r.Publication.PullRequest = ralph.PullRequest{Operation: ralph.OperationNone}
	r.Publication.Errors = []string{
		"GitHub Actions is not permitted to create or approve pull requests (403). Turn on Settings → Actions → General → \"Allow GitHub Actions to create and approve pull requests\", or pass a github-token that may (pull-requests: write).",
	}
	return r
}

func unknownCosts() ralph.Report {
	r := completed()
	r.Agent, r.Model = "text", ""
	for i := range r.Iterations {
		r.Iterations[i].Turns = []ralph.Turn{{Duration: 20 * time.Second, FinalText: "ok", Usage: ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Unknown: true}}}}
	}
	return r
}

// tookOver is a run that another agent ended, whose cost is estimated.
func tookOver() ralph.Report {
	r := completed()
	r.Prices, r.Notes = "2026-01-31", []string{"codex (gpt-6.1-sol) takes over from claude, which met its usage limit until 2026-02-05T15:00:00Z"}
	first := &r.Iterations[0].Turns[0]
	first.Agent = "claude"
	first.Models = []ralph.ModelUsage{
		{Model: "claude-haiku-5-5", Usage: ralph.Usage{Cost: ralph.Cost{Amount: 300}, Tokens: ralph.Tokens{Input: 2_300, Output: 140}}},
		{Model: "claude-sonnet-4-5", Usage: ralph.Usage{Cost: ralph.Cost{Amount: 12_000}, Tokens: ralph.Tokens{Input: 10_000, CacheRead: 8_100, CacheWrite: 1_900, Output: 500}}},
	}
	second := &r.Iterations[1].Turns[0]
	second.Agent, second.Model, second.Session = "codex", "gpt-6.1-sol", "0199-c0de"
	second.Usage.Cost = ralph.Cost{Amount: 26_800, Estimated: true}
	limit := ralph.Turn{
		Started: start, Duration: 2 * time.Second, Agent: "claude", ExitCode: 1, Usage: ralph.Usage{Cost: ralph.Cost{}, Tokens: ralph.Tokens{}},
		Failure: &ralph.Failure{Kind: ralph.FailureQuota, Message: "usage limit reached", RetryAt: start.Add(5 * time.Hour)},
	}
	r.Iterations[1].Turns = []ralph.Turn{limit, *second}
	return r
}

// estimated is a run whose cost is a lower bound computed from tokens.
func estimated() ralph.Report {
	r := completed()
	r.Agent, r.Model, r.Prices = "codex", "", "2026-01-31"
	for i := range r.Iterations {
		t := &r.Iterations[i].Turns[0]
		t.Agent, t.Model = "codex", "gpt-6.1-sol"
		t.Usage.Cost = ralph.Cost{Amount: 600_000, Estimated: true, Unknown: i == 1}
	}
	return r
}

func desk() ralph.Report {
	r := completed()
	r.Repository, r.RunURL, r.Actor = "", "", ""
	r.Publication = ralph.Publication{Branch: "ralph/make-the-failing-tests", Base: "main", HeadSHA: sha2}
	for i := range r.Iterations {
		r.Iterations[i].Commit.Pushed = false
	}
	r.Isolation = "none: same user, no walls"
	return r
}

// scmTasks is a local run whose work the team's own commands committed.
func scmTasks() ralph.Report {
	r := desk()
	question := okTurn(900, 0, 0, 12, 0.0007, "Repair the sum")
	question.Tools, question.ToolErrors, question.Messages, question.Todos = 0, 0, 1, nil
	r.Publication = ralph.Publication{}
	for i := range r.Iterations {
		r.Iterations[i].Commit = ralph.Commit{}
	}
	r.Iterations[1].Delivery = ralph.Delivery{
		Turn: &question, Message: "Repair the sum",
		Tasks: []ralph.Task{
			{Command: "git commit -am Repair the sum", Duration: 120 * time.Millisecond, Output: "[main 9a8b7c6] Repair the sum\n 2 files changed\n"},
			{Command: "git push", Duration: 1200 * time.Millisecond},
		},
	}
	return r
}

// commitFailed is the same with a hook that refuses, and before it an agent that
// gave no message.
func commitFailed() ralph.Report {
	r := scmTasks()
	r.Outcome, r.ExitCode, r.MaxIterations = ralph.GitFailed, 5, 2
	why := "git commit: exit code 1: lint: calc.go:3: unused variable"
	r.Reason = "max-iterations 2 is reached and the work is not done, but the work could not be committed: " + why
	first, second := &r.Iterations[0], &r.Iterations[1]
	first.Verdicts[1] = ralph.Verdict{Command: "go test ./...", Passed: true}
	first.Rejection = ralph.RejectedSCM
	first.Delivery = ralph.Delivery{Turn: second.Delivery.Turn, Error: "git commit: the agent was asked for a commit message and gave none"}
	second.Marker, second.Rejection = true, ralph.RejectedSCM
	second.Delivery.Error = why
	second.Delivery.Tasks = second.Delivery.Tasks[:1]
	second.Delivery.Tasks[0].ExitCode, second.Delivery.Tasks[0].Output = 1, "lint: calc.go:3: unused variable\n"
	return r
}

// supervised is a command that was restarted twice.
func supervised(o ralph.Outcome, code int, reason string) ralph.Report {
	r := stopped(o, reason)
	r.Mode, r.Agent, r.Model, r.ExitCode, r.Budget, r.Baseline = modeSupervise, "text", "", code, ralph.Budget{}, nil
	r.MaxIterations = 100
	r.Publication = ralph.Publication{}
	unknown := ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Unknown: true}}
	crash := &ralph.Failure{Kind: ralph.FailureCrash, Message: "exited with code 1: no such model"}
	for i := range r.Iterations {
		it := &r.Iterations[i]
		it.Turns = []ralph.Turn{{Duration: 4 * time.Second, ExitCode: 1, Usage: unknown, Failure: crash}}
		it.Verdicts, it.Commit, it.Change, it.Rejection = nil, ralph.Commit{}, ralph.Change{}, ralph.RejectedTurn
	}
	return r
}

const modeSupervise = "supervise"

// doneBefore is a task that was done before the command was started.
func doneBefore() ralph.Report {
	r := supervised(ralph.Completed, 0, "the task was marked as done before the first iteration")
	r.Iterations = nil
	return r
}

// modeChanged is a run whose file went away after two iterations.
func modeChanged(o ralph.Outcome, mode, reason string) ralph.Report {
	r := stopped(o, reason)
	r.Mode, r.Iterations = mode, r.Iterations[:2]
	return r
}

// nasty tries everything that a forge, a browser or a terminal acts upon.
const nasty = "@octocat fixes #12, closes octo/calc#3 resolves GH-7 ![x](https://evil.example/p.png) [a](javascript:alert(1)) " +
	"<img src=x onerror=alert(1)> <script>alert(1)</script> </details> </pre> `` ` ``` | **b** _i_ ~~s~~ $x$ www.evil.example https://evil.example/ " +
	"a@b.example \x1b[31mred\x1b[0m \x1b]0;title\x07 \u202eevil\u202c z\u200bw \U000e0041 &lt;b&gt; &#64;octocat \\| \\ \r\n# heading\n- item\n1. one\n> quote\n```\nfence\n~~~\n````mermaid\n::set-env name=X::y\n##[error]z\n\xff\xfe"

func hostile() ralph.Report {
	r := gitFailed()
	turn := okTurn(1, 2, 3, 4, 0.5, nasty)
	turn.Model, turn.Session, turn.Agent, r.Prices = nasty, nasty, nasty, nasty
	turn.Models = []ralph.ModelUsage{{Model: nasty, Usage: turn.Usage}, {Model: "y", Usage: turn.Usage}}
	turn.Usage.Cost.Estimated = true
	turn.Failure = &ralph.Failure{Kind: ralph.FailureCrash, Message: nasty}
	bad := ralph.Verdict{Command: nasty, ExitCode: 1, Reason: nasty, LogFile: nasty, Message: nasty, Output: nasty, Action: ralph.Append, Digest: "d"}
	r.Task, r.Agent, r.Model, r.Reason, r.Isolation, r.Actor, r.Mode, r.Version = nasty, nasty, nasty, nasty, nasty, nasty, nasty, nasty
	r.Repository, r.RunURL = nasty, "https://example.com/\")<script>|"+nasty
	r.Findings = []ralph.Finding{
		{Kind: ralph.FindingSecret, Severity: ralph.Block, Path: nasty, Line: 3, Where: nasty, Rule: nasty, Text: nasty},
		{Kind: ralph.FindingKind(nasty), Severity: ralph.Severity(nasty), Where: nasty, Rule: nasty, Text: nasty},
	}
	r.Network = []ralph.Refused{{Address: nasty, Count: 3, Reason: nasty}}
	r.Notes, r.Baseline = []string{nasty}, []ralph.Verdict{bad}
	r.Publication.Branch, r.Publication.Base, r.Publication.Errors = nasty, nasty, []string{nasty}
	r.Publication.PullRequest = ralph.PullRequest{Number: 3, URL: "javascript:alert(1)", Operation: ralph.Operation(nasty)}
	p := &r.Publication
	p.Fork, p.Comment, p.Issue = nasty, "https://example.com/"+nasty, 3
	p.Checks = ralph.Checks{SHA: nasty, State: ralph.ChecksFailed, Failed: []string{nasty}, Left: []string{nasty}}
	p.Steps = []ralph.PublishStep{{Name: nasty, Detail: nasty}, {Name: nasty, Done: true, Detail: nasty}}
	said := ralph.Said{Commit: nasty, Title: nasty, Description: nasty}
	r.History.Runs = []ralph.Past{{Run: nasty, Iterations: 1, Commits: 1, Outcome: ralph.Outcome(nasty), Said: said}, {Run: nasty, Did: []string{nasty}}}
	p.Files = []ralph.File{{Path: nasty, From: nasty}, {Path: nasty}}
	for i := range r.Iterations {
		it := &r.Iterations[i]
		it.Turns, it.Verdicts = []ralph.Turn{turn}, []ralph.Verdict{bad, bad}
		it.Change.Notes = []string{"it: " + nasty}
		it.Commit, it.Said = ralph.Commit{SHA: nasty, Subject: nasty, PushError: nasty}, said
		it.Delivery = ralph.Delivery{Turn: &turn, Message: nasty, Tasks: []ralph.Task{{Command: nasty, ExitCode: 1, Output: nasty}, {Command: nasty}}, Error: nasty}
	}
	return r
}

// huge is a run of a thousand iterations in which everything is too long.
func huge() ralph.Report {
	r := maxIterations()
	r.Task = strings.Repeat("Do @this and fix #1 <b> | ` ", 5<<20/28)
	line := strings.Repeat("x`|<@a ", 150)
	output := strings.Repeat(line+"\n", 1<<20/len(line))
	one := r.Iterations[0]
	r.Iterations = nil
	for n := 1; n <= 1000; n++ {
		it := one
		it.Number, it.Turns = n, slices.Clone(one.Turns)
		it.Verdicts = []ralph.Verdict{{Command: fmt.Sprintf("check %d %s", n, line), ExitCode: 1, Output: output, Digest: fmt.Sprint(n)}}
		it.Change.Notes = []string{line}
		it.Delivery = ralph.Delivery{Message: output, Error: output}
		for range 50 {
			it.Delivery.Tasks = append(it.Delivery.Tasks, ralph.Task{Command: output, ExitCode: 1, Output: output})
		}
		it.Turns[0].FinalText = output[:64<<10]
		it.Turns[0].Model = fmt.Sprint("model-", n, line)
		it.Turns[0].Agent = fmt.Sprint("agent-", n, line)
		r.Iterations = append(r.Iterations, it)
	}
	for n := range 200 {
		v := failed(fmt.Sprintf("guard %d %s", n, line), n, output)
		v.Digest = fmt.Sprint("last", n)
		r.Iterations[999].Verdicts = append(r.Iterations[999].Verdicts, v)
		r.Baseline = append(r.Baseline, v)
		r.Notes = append(r.Notes, output)
		r.Publication.Errors = append(r.Publication.Errors, output)
	}
	r.Reason, r.Isolation = output, output
	for n := range 1000 {
		r.History.Runs = append(r.History.Runs, ralph.Past{Run: fmt.Sprint(n, line), Iterations: 3, Commits: 2, Cost: ralph.Cost{Amount: ralph.USD}})
		r.Publication.Steps = append(r.Publication.Steps, ralph.PublishStep{Name: line, Detail: output})
		r.Publication.Checks.Failed = append(r.Publication.Checks.Failed, output)
	}
	r.Publication.Checks.State = ralph.ChecksFailed
	return r
}

func failed(command string, code int, output string) ralph.Verdict {
	return ralph.Verdict{
		Command: command, ExitCode: code, Action: ralph.Append, Duration: 1200 * time.Millisecond,
		LogFile: ".ralph/guardrail_001_go_test.log", Message: "Guardrail \"" + command + "\" failed with exit code 1.", Output: output,
	}
}

func okTurn(in, read, write, out int64, usd float64, text string) ralph.Turn {
	return ralph.Turn{
		Started: start, Duration: 20 * time.Second, Model: "claude-sonnet-4-5", Session: "0d1c", Tools: 6, ToolErrors: 1, CountsTools: true,
		Messages: 4, FinalText: text, OutputBytes: 20_480,
		Todos: []ralph.Todo{{Text: "Read the code", Status: ralph.TodoDone}, {Text: "Write the test", Status: ralph.TodoActive}},
		Usage: ralph.Usage{Cost: ralph.Cost{Amount: ralph.FromUSD(usd)}, Tokens: ralph.Tokens{Input: in, CacheRead: read, CacheWrite: write, Output: out}},
	}
}
