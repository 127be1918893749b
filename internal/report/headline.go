package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/words"
)

// ending says in one clause how the run ended: the outcome's own words, or more
// precise ones where the record has them.
func ending(r ralph.Report) string {
	row := r.Outcome.Row()
	text := row.Headline
	if r.Rounds() == 0 && row.Unstarted != "" {
		text = row.Unstarted
	}
	switch {
	case r.Outcome == ralph.Completed && r.Rounds() == 0 && r.Tasks.Only != "":
		text = "Nothing to do: the story is already done"
	case r.Outcome == ralph.Completed && r.Rounds() == 0 && words.HasTasks(r):
		text = "Nothing to do: every story is already done"
	case r.Outcome == ralph.Blocked && r.Publication.Checks.State == ralph.ChecksFailed:
		text = "Blocked{after}: checks failed for a reason that no change can fix"
	case r.Outcome == ralph.Blocked && blockedWords(r) != "":
		text = "Blocked{after}: " + blockedWords(r)
	case allLeftOut(r):
		text = "Blocked{after}: every change was left out"
	case r.Outcome == ralph.GitFailed && undelivered(r):
		text = "The SCM tasks failed{after}"
	}
	return filled(text, r)
}

// filled puts the facts of a run into the words of its outcome.
func filled(text string, r ralph.Report) string {
	n := r.Rounds()
	after, limit, again := "", "iteration", "Run it again to continue"
	if n > 0 {
		after = " after " + words.Plural(n, unit(r))
	}
	if r.Mode == modeSupervise {
		limit = "restart"
	}
	if r.Publication.Pushed {
		again = "Run it again on the same branch to continue from here"
	}
	return strings.NewReplacer(
		"{iterations}", words.Plural(n, unit(r)), "{unit}", unit(r), "{after}", after,
		"{limit}", limit, "{allowed}", words.Plural(max(n, r.MaxIterations), unit(r)), "{budget}", budgetWords(r.Budget),
		"{again}", again, "{withheld}", withheld(r),
	).Replace(text)
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
		parts = append(parts, words.Plural(r.MaxIterations, unit(r)))
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
		parts = append(parts, words.Count(b.Tokens)+" tokens")
	}
	return parts
}

// headline is the first line of every rendering, without the icon.
func headline(r ralph.Report) string {
	text := ending(r) + withoutWords(r)
	if len(r.Iterations) == 0 {
		return text
	}
	return text + " — " + words.Cost(r.Usage().Cost) + ", " + words.Span(r.Duration)
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
		return fmt.Sprintf("Published up to iteration %d; later work is withheld. ", last)
	case r.Publication.Pushed:
		return "The latest work is withheld. "
	}
	return "Nothing was published. "
}

// advice says what a person can do next; empty when there is nothing to do.
func advice(r ralph.Report) string {
	text := r.Outcome.Row().Advice
	var last ralph.Iteration
	if n := len(r.Iterations); n > 0 {
		last = r.Iterations[n-1]
	}
	switch r.Outcome {
	case ralph.Stalled:
		switch {
		case last.Rejection == ralph.RejectedStuck && last.Step.Story != "":
			text = "Try another review-model or review-agent, or review the story yourself."
		case last.Last().Failure != nil:
			text = ralph.AgentFailed.Row().Advice
		case !last.Passed():
			text = "Make the task more precise or smaller, or look at the failing guardrail yourself."
		}
	case ralph.Blocked:
		switch {
		case r.Publication.Checks.State == ralph.ChecksFailed:
			text = "Re-run the checks, or approve what they wait for. {again}."
		case slices.ContainsFunc(r.Findings, func(f ralph.Finding) bool { return f.Severity == ralph.Block && f.Kind == ralph.FindingSecret }):
			text = "{withheld}Remove the secret from the work, revoke it if it is real, and run it again. Allow a false positive with secret-scan-allow."
		case allLeftOut(r):
			text = ""
		}
	case ralph.GitFailed:
		if undelivered(r) {
			text = "The work is in the workspace. Fix what made the SCM task fail, then commit by hand or run it again."
		}
	case ralph.Invalid:
		if len(r.Iterations) == 0 {
			text = "Fix the problems above and re-run; no tokens were used."
		}
	}
	return filled(text, r)
}
