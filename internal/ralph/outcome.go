package ralph

import "slices"

// Outcome says how a run ended. The values are the contract of the status
// output and of the report; what each of them means is a row of Outcomes.
type Outcome string

// The outcomes.
const (
	Completed     Outcome = "completed"
	MaxIterations Outcome = "max-iterations"
	OverBudget    Outcome = "budget"
	Deadline      Outcome = "deadline"
	Stalled       Outcome = "stalled"
	Waiting       Outcome = "waiting"
	Blocked       Outcome = "blocked"
	Quota         Outcome = "quota"
	Invalid       Outcome = "invalid"
	PlanMissing   Outcome = "plan-missing"
	PromptInvalid Outcome = "prompt-invalid"
	AgentFailed   Outcome = "agent-failed"
	GitFailed     Outcome = "git-failed"
	Interrupted   Outcome = "interrupted"
	Skipped       Outcome = "skipped"
)

// OutcomeKind groups outcomes by what they mean for whoever started the run.
type OutcomeKind int

// The kinds of outcomes.
const (
	Failed        OutcomeKind = iota // something went wrong
	Succeeded                        // the work is done
	Limited                          // a limit of the run was reached; on-incomplete: succeed forgives it
	Paused                           // neither: it can go on later, or there was nothing to do
	Misconfigured                    // what was asked for has to be corrected first
)

// OutcomeRow is what an outcome means, for every document and every exit code.
type OutcomeRow struct {
	Outcome  Outcome
	ExitCode int // that of a kind Limited is 0 with on-incomplete: succeed
	Kind     OutcomeKind
	Sign     string
	// Headline is the outcome in a clause, Unstarted that of a run without an
	// iteration where it differs, Advice what a person can do next. Package report
	// fills their placeholders in, and knows more precise ones for some runs.
	Headline, Unstarted, Advice string
	// Yields reports whether work that may not be published is the more important
	// news: the run itself did not fail.
	Yields bool
	// When and Work are Markdown for the documentation: when a run ends so, and what
	// becomes of its branch and pull request.
	When, Work string
}

// Outcomes are all outcomes, in the order in which they are documented.
func Outcomes() []OutcomeRow {
	return []OutcomeRow{
		{
			Outcome: Completed, ExitCode: 0, Kind: Succeeded, Sign: "✅", Yields: true,
			Headline: "Completed in {iterations}", Unstarted: "Completed: the task was done before the first {unit}",
			When: "the agent said that it is done, and every guardrail passed; `mode: supervise`: there is a `DONE` file",
			Work: "ready for review; draft when [something was left out](publishing.md#what-is-left-out-of-the-runs-work)",
		},
		{
			Outcome: MaxIterations, ExitCode: 1, Kind: Limited, Sign: "⚠️", Yields: true,
			Headline: "Stopped at the {limit} limit ({allowed}), not complete", Advice: "{again}, or raise max-{limit}s.",
			When: "the last allowed iteration was not complete", Work: "draft",
		},
		{
			Outcome: OverBudget, ExitCode: 1, Kind: Limited, Sign: "⚠️", Yields: true,
			Headline: "Stopped by the budget{budget}{after}, not complete",
			Advice:   "{again} with a higher max-cost-usd, max-total-cost-usd or max-tokens, or make the task smaller.",
			When:     "`max-cost-usd`, `max-total-cost-usd` or `max-tokens` is spent", Work: "draft",
		},
		{
			Outcome: Deadline, ExitCode: 1, Kind: Limited, Sign: "⚠️", Yields: true,
			Headline: "Stopped at the time limit{after}, not complete",
			Advice:   "{again}, or raise max-duration{job}.",
			When:     "`max-duration` is over, less what publishing needs, or checks exceeded `ci-timeout`", Work: "draft",
		},
		{
			Outcome: Stalled, ExitCode: 1, Kind: Limited, Sign: "⚠️", Yields: true,
			Headline: "Stopped: no progress{after}, not complete", Advice: "Make the task more precise or smaller.",
			When: "`stall-limit` iterations in a row changed nothing, or failed the same guardrails in the same way", Work: "draft",
		},
		{
			Outcome: Quota, ExitCode: 1, Kind: Paused, Sign: "⏳", Yields: true,
			Headline: "Stopped by the provider's usage limit{after}",
			Advice:   "This is a limit of your plan with the model provider, not a failure of the task. {again} when the limit has been reset.",
			When:     "the provider's usage limit is reached, and does not reset within the run", Work: "draft",
		},
		{
			Outcome: Blocked, ExitCode: 1, Kind: Failed, Sign: "❌", Yields: true,
			Headline: "Blocked{after}: the work may not be published", Advice: "{withheld}Look at what was refused, and publish it by hand if it is right.",
			When: "the work may not be published (a secret, a link that leaves the tree, too many files, only protected paths); with `wait-for-ci`: checks were cancelled or wait for a person",
			Work: "not published, or draft",
		},
		{
			Outcome: Waiting, ExitCode: 0, Kind: Paused, Sign: "⏳", Yields: true,
			Headline: "Waiting for a person{after}", Advice: "Do what the agent waits for, or answer it in the prompt. Then run it again.",
			When: "`mode: supervise`: the command asked to wait; the reason says for what", Work: "draft",
		},
		{
			Outcome: Invalid, ExitCode: 2, Kind: Misconfigured, Sign: "❌",
			Headline: "Stopped{after}: configuration error", Unstarted: "Not started: configuration error",
			Advice: "Fix the problems above. {again}.",
			When:   "an input, the repository, the token, the agent's key or the model is wrong; nearly always found before the loop", Work: "as it was",
		},
		{
			Outcome: PlanMissing, ExitCode: 2, Kind: Misconfigured, Sign: "❌",
			Headline: "Stopped{after}: the implementation plan is gone", Unstarted: "Not started: there is no implementation plan",
			When: "`mode: build` and no `implementation_plan.md`", Work: "as it was", // the reason is the advice
		},
		{
			Outcome: PromptInvalid, ExitCode: 1, Kind: Misconfigured, Sign: "❌",
			Headline: "Stopped{after}: the prompt no longer asks for the completion signal", Unstarted: "Not started: the prompt never asks for the completion signal",
			Advice: "Put the completion signal into the prompt file.",
			When:   "`mode: prompt` and a prompt without the completion tag", Work: "as it was",
		},
		{
			Outcome: AgentFailed, ExitCode: 4, Kind: Failed, Sign: "❌",
			Headline: "The agent failed{after}", Advice: "Look at the error of the last turn: a missing or wrong key, a model name, or an agent CLI that does not start are the usual causes.",
			When: "one iteration failed more often than `max-retries`", Work: "draft",
		},
		{
			Outcome: GitFailed, ExitCode: 5, Kind: Failed, Sign: "❌",
			Headline: "Git or the pull request failed{after}", Advice: "See what failed above; nothing that was pushed before is lost.",
			When: "commit, push, pull request or the SCM tasks failed for good; the summary says what to do, with a link that opens the pull request by hand",
			Work: "what was pushed before stays",
		},
		{
			Outcome: Interrupted, ExitCode: 130, Kind: Paused, Sign: "🛑",
			Headline: "Interrupted{after}", Advice: "{again}.",
			When: "the job was cancelled, or the run was asked to stop", Work: "draft; the work so far is saved",
		},
		{
			Outcome: Skipped, ExitCode: 0, Kind: Paused, Sign: "⏭️",
			Headline: "Nothing to do",
			When:     "the event that started the run asks for nothing, or who caused it may not ask ([triggers.md](triggers.md))", Work: "as it was",
		},
	}
}

// Row is what the outcome means; that of a failure when it is not known.
func (o Outcome) Row() OutcomeRow {
	rows := Outcomes()
	if i := slices.IndexFunc(rows, func(r OutcomeRow) bool { return r.Outcome == o }); i >= 0 {
		return rows[i]
	}
	return OutcomeRow{Outcome: o, ExitCode: 1, Sign: "❌", Headline: "Ended{after} with an outcome this version does not know"}
}

// Known reports whether o is an outcome.
func (o Outcome) Known() bool {
	return slices.ContainsFunc(Outcomes(), func(r OutcomeRow) bool { return r.Outcome == o })
}

// ExitCode is the process exit code of the outcome. incompleteOK is
// on-incomplete: succeed, which forgives having stopped at a limit, not having
// failed.
func (o Outcome) ExitCode(incompleteOK bool) int {
	row := o.Row()
	if incompleteOK && row.Kind == Limited {
		return 0
	}
	return row.ExitCode
}

// Rejection says why an iteration did not complete the run.
type Rejection string

// The rejections, in the order in which they are checked.
const (
	NotRejected         Rejection = ""
	RejectedTurn        Rejection = "agent-failed"       // the turn itself went wrong
	RejectedStopped     Rejection = "stopped"            // the run was asked to stop before every guardrail had its say
	RejectedGuardrails  Rejection = "guardrails-failed"  // the marker is not looked at
	RejectedSCM         Rejection = "scm-failed"         // the SCM tasks failed: the work is not committed
	RejectedTransition  Rejection = "illegal-transition" // the task list was changed as this iteration may not; it was put back
	RejectedStuck       Rejection = "stuck"              // a review that reviewed nothing
	RejectedStoriesLeft Rejection = "stories-left"       // stories are not done
	RejectedNoMarker    Rejection = "no-marker"          // the agent did not claim to be done
	RejectedChecks      Rejection = "checks-failed"      // the forge's checks of the pushed commit failed
	RejectedNoWork      Rejection = "no-work"            // marker without evidence of work
)
