package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// Icon is the sign of an outcome: done, stopped at a limit, or failed.
func icon(o ralph.Outcome) string {
	switch o {
	case ralph.Completed:
		return "✅"
	case ralph.Waiting, ralph.Quota:
		return "⏳"
	case ralph.MaxIterations, ralph.OverBudget, ralph.Deadline, ralph.Stalled:
		return "⚠️"
	case ralph.Interrupted:
		return "🛑"
	case ralph.Skipped:
		return "⏭️"
	default:
		return "❌"
	}
}

// words says in one clause how the run ended.
func words(r ralph.Report) string {
	n := r.Rounds()
	after := ""
	if n > 0 {
		after = " after " + plural(n, unit(r))
	}
	switch r.Outcome {
	case ralph.Completed:
		if n == 0 && r.Tasks.Only != "" {
			return "Nothing to do: the story was done before the first " + unit(r)
		}
		if n == 0 && hasTasks(r) {
			return "Completed: every story was done before the first " + unit(r)
		}
		if n == 0 {
			return "Completed: the task was done before the first " + unit(r)
		}
		return "Completed in " + plural(n, unit(r))
	case ralph.MaxIterations:
		if r.Mode == modeSupervise {
			return fmt.Sprintf("Stopped at the restart limit (%s), not complete", plural(max(n, r.MaxIterations), unit(r)))
		}
		return fmt.Sprintf("Stopped at the iteration limit (%s), not complete", plural(max(n, r.MaxIterations), unit(r)))
	case ralph.OverBudget:
		return "Stopped by the budget" + budgetWords(r.Budget) + after + ", not complete"
	case ralph.Deadline:
		return "Stopped at the time limit" + after + ", not complete"
	case ralph.Stalled:
		return "Stopped: no progress" + after + ", not complete"
	case ralph.Waiting:
		return "Waiting for a person" + after
	case ralph.Skipped:
		return "Nothing to do"
	case ralph.Blocked:
		if r.Publication.Checks.State == ralph.ChecksFailed {
			return "Blocked" + after + ": checks that no change can mend did not pass"
		}
		if what := blockedWords(r); what != "" {
			return "Blocked" + after + ": " + what
		}
		if allLeftOut(r) {
			return "Blocked" + after + ": all that was changed is left out"
		}
		return "Blocked" + after + ": the work may not be published"
	case ralph.Quota:
		return "Stopped by the provider's usage limit" + after
	case ralph.Invalid:
		if n > 0 {
			return "Stopped" + after + ": something has to be corrected first"
		}
		return "Not started: something has to be corrected first"
	case ralph.PlanMissing:
		if n > 0 {
			return "Stopped" + after + ": the implementation plan is gone"
		}
		return "Not started: there is no implementation plan"
	case ralph.PromptInvalid:
		if n > 0 {
			return "Stopped" + after + ": the prompt no longer asks for the completion signal"
		}
		return "Not started: the prompt never asks for the completion signal"
	case ralph.AgentFailed:
		return "The agent failed" + after
	case ralph.GitFailed:
		if undelivered(r) {
			return "The SCM tasks failed" + after
		}
		return "Git or the pull request failed" + after
	case ralph.Interrupted:
		return "Interrupted" + after
	default:
		return "Ended" + after + " with an outcome this version does not know"
	}
}

// modeSupervise is the mode that restarts a command: its iterations are
// attempts.
const modeSupervise = "supervise"

// undelivered says that the last iteration's work is not committed.
func undelivered(r ralph.Report) bool {
	n := len(r.Iterations)
	return n > 0 && r.Iterations[n-1].Rejection == ralph.RejectedSCM
}

// unit is what the mode of a run calls an iteration.
func unit(r ralph.Report) string {
	if r.Mode == modeSupervise {
		return "attempt"
	}
	return "iteration"
}

func budgetWords(b ralph.Budget) string {
	parts := budgetParts(b)
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// allowed is what the run was allowed to use; empty when nothing was limited.
func allowed(r ralph.Report) string {
	var parts []string
	if r.MaxIterations > 0 {
		parts = append(parts, plural(r.MaxIterations, unit(r)))
	}
	return strings.Join(append(parts, budgetParts(r.Budget)...), ", ")
}

func budgetParts(b ralph.Budget) []string {
	var parts []string
	if b.Cost > 0 {
		parts = append(parts, b.Cost.String())
	}
	if b.Total > 0 {
		parts = append(parts, b.Total.String()+" for the branch")
	}
	if b.Tokens > 0 {
		parts = append(parts, count(b.Tokens)+" tokens")
	}
	return parts
}

// headline is the first line of every rendering, without the icon.
func headline(r ralph.Report) string {
	text := words(r) + withoutWords(r)
	if len(r.Iterations) == 0 {
		return text
	}
	return text + " — " + costWords(r.Usage().Cost) + ", " + span(r.Duration)
}

// costWords keeps an unknown cost from reading as the name of a thing.
func costWords(c ralph.Cost) string {
	if c.Unknown && c.Amount == 0 {
		return "cost unknown"
	}
	return c.String()
}

// withheld says how much of a blocked run is not published; empty when nothing
// that was found blocks.
func withheld(r ralph.Report) string {
	last := 0 // iteration that was committed
	for _, it := range r.Iterations {
		if it.Commit.SHA != "" {
			last = it.Number
		}
	}
	switch {
	case ralph.Blocking(r.Findings) == "":
		return ""
	case last > 0 && r.Publication.Pushed:
		return fmt.Sprintf("What is published ends with iteration %d: the work after it is withheld. ", last)
	case r.Publication.Pushed:
		return "The last of the work is withheld. "
	}
	return "Nothing of it was published. "
}

// advice says what a person can do next; empty when there is nothing to do.
func advice(r ralph.Report) string {
	again := "Run it again to go on"
	if r.Publication.Pushed {
		again = "Run it again on the same branch to go on from here"
	}
	switch r.Outcome {
	case ralph.MaxIterations:
		if r.Mode == modeSupervise {
			return again + ", or raise max-restarts."
		}
		return again + ", or raise max-iterations."
	case ralph.OverBudget:
		return again + " with a higher max-cost-usd, max-total-cost-usd or max-tokens, or make the task smaller."
	case ralph.Deadline:
		return again + ", or raise max-duration (and the job's timeout-minutes with it)."
	case ralph.Stalled:
		if n := len(r.Iterations); n > 0 && r.Iterations[n-1].Rejection == ralph.RejectedStuck && r.Iterations[n-1].Step.Story != "" {
			return "Try another review-model or review-agent, or review the story yourself."
		}
		return stalledAdvice(r)
	case ralph.Quota:
		return "This is a limit of your plan with the model provider, not a failure of the task. " + again + " when the limit has been reset."
	case ralph.Interrupted:
		return again + "."
	case ralph.Skipped:
		return ""
	case ralph.Blocked:
		if r.Publication.Checks.State == ralph.ChecksFailed {
			return "Start the checks again, or approve what they wait for. " + again + " then."
		}
		for _, f := range r.Findings {
			if f.Severity == ralph.Block && f.Kind == ralph.FindingSecret {
				return withheld(r) + "Take the secret out of the work, revoke it if it is real, and run it again. What only looks like one can be allowed with secret-scan-allow."
			}
		}
		if allLeftOut(r) {
			return ""
		}
		return withheld(r) + "Look at what was refused, and publish it by hand if it is right."
	case ralph.AgentFailed:
		return lookAtError
	case ralph.GitFailed:
		if undelivered(r) {
			return "The work is in the workspace. Repair what the SCM task stumbled over, then commit by hand or run it again."
		}
		return "See what failed above; nothing that was pushed before is lost."
	case ralph.Waiting:
		return "Do what the agent waits for, or answer it in the prompt. Then run it again."
	case ralph.PlanMissing:
		return "" // the reason has it
	case ralph.PromptInvalid:
		return "Put the completion signal into the prompt file."
	case ralph.Invalid:
		if len(r.Iterations) > 0 {
			return "Correct what is named above. " + again + "."
		}
		return "Correct what is named above and run again. Nothing was spent."
	default:
		return ""
	}
}

const lookAtError = "Look at the error of the last turn: a missing or wrong key, a model name, or an agent CLI that does not start are the usual causes."

// stalledAdvice is the advice for a run without progress, by how its last iteration went.
func stalledAdvice(r ralph.Report) string {
	text := "Make the task more precise or smaller"
	if n := len(r.Iterations); n > 0 {
		last := r.Iterations[n-1]
		if last.Last().Failure != nil {
			return lookAtError
		}
		if slices.ContainsFunc(last.Verdicts, func(v ralph.Verdict) bool { return !v.Passed }) {
			text += ", or look at the failing guardrail yourself"
		}
	}
	return text + "."
}
