package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/wave"
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
	case r.Busy:
		text = "Not started: another run goes on here"
	case r.Outcome == ralph.Completed && r.Wave != nil:
		text = wave.Headline(*r.Wave)
	case r.Outcome == ralph.Completed && r.Rounds() == 0 && len(r.Tasks.Only) == 1:
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
	case alwaysFailed(r):
		text += ": the agent failed in every {unit}"
	}
	return filled(text, r)
}

// alwaysFailed reports whether a run came to its limit without a turn that did not fail.
// Where a command is restarted, each attempt but the last one fails.
func alwaysFailed(r ralph.Report) bool {
	if r.Outcome != ralph.MaxIterations && r.Outcome != ralph.Stalled || len(r.Iterations) == 0 || r.Mode == modeSupervise {
		return false
	}
	return !slices.ContainsFunc(r.Iterations, func(it ralph.Iteration) bool { return it.Last().Failure == nil })
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
	switch {
	case r.Resumable:
		again = "Run ralph resume to continue"
	case r.Publication.Pushed:
		again = "Run it again on the same branch to continue from here"
	}
	job := ""
	if r.RunURL != "" {
		job = " (and the job's timeout-minutes with it)"
	}
	return strings.NewReplacer(
		"{iterations}", words.Plural(n, unit(r)), "{unit}", unit(r), "{after}", after,
		"{limit}", limit, "{allowed}", words.Plural(max(n, r.MaxIterations), unit(r)), "{budget}", budgetWords(r.Budget),
		"{again}", again, "{job}", job, "{withheld}", withheld(r),
	).Replace(text)
}

// moreOf is the flag by which ralph resume is given more of the limit that ended a run;
// empty where there is none.
func moreOf(r ralph.Report) string {
	used := r.Usage()
	switch {
	case !r.Resumable:
	case r.Outcome == ralph.MaxIterations && r.Mode == modeSupervise:
		return "--max-restarts=N"
	case r.Outcome == ralph.MaxIterations:
		return "--max-iterations=N"
	case r.Outcome == ralph.Deadline:
		return "--max-duration=TIME"
	case r.Outcome != ralph.OverBudget:
	case r.Budget.Tokens > 0 && used.Tokens.Total() >= r.Budget.Tokens:
		return "--max-tokens=N"
	case r.Budget.Cost > 0 && used.Cost.Amount >= r.Budget.Cost:
		return "--max-cost-usd=USD"
	}
	return ""
}

// modeSupervise is the mode that restarts a command: its iterations are
// attempts.
const modeSupervise = "supervise"

// undelivered reports whether the last iteration's work is not committed.
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
	if r.MaxDuration > 0 {
		parts = append(parts, words.Span(r.MaxDuration))
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

// Headline is the outcome in one line, as it stands on top of every document,
// without an icon.
func Headline(r ralph.Report) string {
	text := ending(r) + withoutWords(r)
	if len(r.Iterations) == 0 {
		return text
	}
	return text + " — " + words.Cost(r.Usage().Cost) + ", " + words.Span(r.Duration) + words.Since(r.Resumed)
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

// Advice says what a person can do next; empty when there is nothing to do.
func Advice(r ralph.Report) string {
	text := advice(r)
	switch {
	case !r.Resumable || len(r.Iterations) == 0 || strings.Contains(text, "ralph resume"):
		return text
	case r.Outcome != ralph.Stalled && r.Outcome != ralph.AgentFailed && r.Outcome != ralph.MaxIterations:
		return text
	}
	command := "ralph resume"
	if r.MaxIterations > 0 && len(r.Iterations) >= r.MaxIterations {
		r.Outcome = ralph.MaxIterations
		command += " " + moreOf(r)
	}
	return text + " To continue as it is: " + command + "."
}

func advice(r ralph.Report) string {
	text := r.Outcome.Row().Advice
	var last ralph.Iteration
	if n := len(r.Iterations); n > 0 {
		last = r.Iterations[n-1]
	}
	if alwaysFailed(r) {
		return failureAdvice(last)
	}
	if more := moreOf(r); more != "" {
		return "Run ralph resume " + more + " to continue."
	}
	switch r.Outcome {
	case ralph.OverBudget:
		r.Resumable = false // that of the branch cannot be given to ralph resume
	case ralph.Stalled:
		switch {
		case last.Rejection == ralph.RejectedStuck && last.Step.Story != "":
			text = "Try another review-model or review-agent, or review the story yourself."
		case last.Last().Failure != nil:
			text = failureAdvice(last)
		case neverStarted(r, last):
			text = "A guardrail could not be started in any iteration: its program does not exist or cannot be executed. Correct its command, or provide the program."
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
	case ralph.AgentFailed:
		text = failureAdvice(last)
	case ralph.GitFailed:
		if undelivered(r) {
			text = "The work is in the workspace. Fix what made the SCM task fail, then do the rest by hand or run it again."
		} else if r.RunURL == "" && !r.Publication.Pushed {
			text = "See what failed above; the work is in the workspace."
		}
	case ralph.Invalid:
		switch {
		case r.Busy:
			text = "" // the reason is the advice
		case len(r.Iterations) == 0:
			text = "Fix the problems above and re-run; no tokens were used."
		}
	}
	return filled(text, r)
}

// failureAdvice says what to do about an agent whose last turn failed.
func failureAdvice(last ralph.Iteration) string {
	if f := last.Last().Failure; f != nil {
		switch f.Kind {
		case ralph.FailureTimeout:
			return "Raise iteration-timeout, or make the task smaller."
		case ralph.FailureIdle:
			return "Raise idle-timeout, or find out what the agent was waiting for."
		case ralph.FailureFlood:
			return "Raise output-limit, or find out why the agent prints so much."
		case ralph.FailureMemory:
			return "Raise memory-limit, or have the agent start less at a time."
		}
	}
	return ralph.AgentFailed.Row().Advice
}

// neverStarted reports whether a guardrail of the last iteration could not be started in
// any.
func neverStarted(r ralph.Report, last ralph.Iteration) bool {
	broken := map[string]bool{} // in all iterations so far, by command
	for _, it := range r.Iterations {
		for _, v := range it.Verdicts {
			before, seen := broken[v.Command]
			broken[v.Command] = v.Broken && (before || !seen)
		}
	}
	return slices.ContainsFunc(last.Verdicts, func(v ralph.Verdict) bool { return broken[v.Command] })
}

// omitted are the changes of the run that are not published although the rest may
// be.
func omitted(r ralph.Report) []ralph.Finding { return ralph.OfSeverity(r.Findings, ralph.LeftOut) }

// allLeftOut reports whether nothing of the run could be published, for no other
// reason than that all of it was left out.
func allLeftOut(r ralph.Report) bool {
	return r.Outcome == ralph.Blocked && r.Publication.HeadSHA == "" && len(omitted(r)) > 0 && ralph.Blocking(r.Findings) == ""
}

// withoutWords is what the headline says of changes that were left out; empty when
// none were, or when the headline speaks of nothing else.
func withoutWords(r ralph.Report) string {
	switch n := len(omitted(r)); {
	case n == 0 || allLeftOut(r):
		return ""
	case n == 1:
		return ", without 1 change that was left out"
	default:
		return fmt.Sprintf(", without %d changes that were left out", n)
	}
}

// resultIcon is the sign of the outcome, for a run of which something may be missing.
func resultIcon(r ralph.Report) string {
	if r.Outcome == ralph.Completed && withoutWords(r) != "" {
		return "⚠️"
	}
	return r.Outcome.Row().Sign
}

// tone is the class of the outcome's colour: "good", "bad", or "limit" between
// them.
func tone(r ralph.Report) string {
	switch kind := r.Outcome.Row().Kind; {
	case kind == ralph.Succeeded && withoutWords(r) == "":
		return "good"
	case kind == ralph.Failed || kind == ralph.Misconfigured:
		return "bad"
	}
	return "limit"
}

// leftOutAdvice says what a person does about changes that were left out; empty
// when none were.
func leftOutAdvice(r ralph.Report) doc.Text {
	if len(omitted(r)) == 0 {
		return nil
	}
	t := doc.Line("Look at the changes that were left out")
	if r.Publication.Patch != "" && r.RunURL != "" { // else they are in the workspace
		t = doc.Line(t, ", which are in ", doc.Foreign(r.Publication.Patch, 500), " (git apply)")
	}
	t = doc.Line(t, ", and make them by hand if they are right.")
	now := slices.ContainsFunc(omitted(r), func(f ralph.Finding) bool { return f.Where == "" }) // else by an earlier run
	if allLeftOut(r) {
		return doc.Line("Nothing of the run was published. ", t)
	} else if now {
		return doc.Line(t, " The guardrails ran with these changes in place and may give another result without them.")
	}
	return t
}

// patchRunes is the longest patch that is shown.
const patchRunes = 10_000

// patch shows the changes that were left out, so that they are not lost with the
// machine, unless they are too long to be shown.
func (m record) patch() doc.Section {
	text := m.Publication.PatchText
	_, cut := doc.Head(text, patchRunes)
	if len(omitted(m.Report)) == 0 || strings.TrimSpace(text) == "" || cut {
		return doc.Section{}
	}
	return doc.Section{
		Title: doc.Line("The changes that were left out"), Fold: doc.Line(doc.Strong("The changes that were left out"), ", as a patch"),
		Blocks: []doc.Block{doc.Pre(text)},
	}
}

// reasons is why a run ended as it did: one line, or, before the first iteration,
// a list of at most most problems with what was asked for.
func reasons(r ralph.Report, most, limit int) []string {
	lines := []string{r.Reason}
	if r.Rounds() == 0 { // else it may quote foreign text
		lines = strings.Split(r.Reason, "\n")
	}
	var list []string
	for _, line := range lines {
		if line = doc.OneLine(line, limit); line != "" {
			list = append(list, line)
		}
	}
	if n := len(list) - most; n > 0 {
		list = append(list[:most], fmt.Sprintf("…and %d more; report.json has them all.", n))
	}
	return list
}

// besideFindings is the report for a document that lists the findings: what blocks
// publishing is not repeated as a part of the reason.
func besideFindings(r ralph.Report) ralph.Report {
	if text := ralph.Blocking(r.Findings); text != "" {
		r.Reason = strings.TrimSuffix(r.Reason, ": "+text)
	}
	return r
}

// saysFindings reports whether a failed verdict says nothing but the findings of the
// run's end, which are listed.
func saysFindings(r ralph.Report, v ralph.Verdict) bool {
	return v.Command == ralph.WithheldCheck && v.Digest != "" && v.Digest == ralph.Blocking(r.Findings)
}

// Announcement is what an annotation says below the headline: why the run
// ended so, how many stories are done, what could not be published, and what a person can do next.
func Announcement(r ralph.Report) string {
	var parts []string
	if r.Outcome != ralph.Completed {
		parts = append(parts, reasons(r, 50, 1000)...)
	}
	if words.HasTasks(r) {
		parts = append(parts, words.StoryCount(r.Tasks)+".")
	}
	for _, t := range storyWarnings(r) {
		parts = append(parts, t.Plain())
	}
	for _, e := range r.Publication.Errors {
		if e = doc.OneLine(e, 1000); !strings.Contains(strings.Join(parts, "\n"), e) { // the reason may have named it
			parts = append(parts, e)
		}
	}
	for _, a := range []string{leftOutAdvice(r).Plain(), Advice(r)} {
		if a != "" {
			parts = append(parts, a)
		}
	}
	p := r.Publication
	switch branch := doc.OneLine(p.Branch, 200); {
	case p.PullRequest.URL != "":
		parts = append(parts, "Pull request: "+doc.OneLine(p.PullRequest.URL, 500))
	case p.Lane.Key != "":
		parts = append(parts, "Nothing is pushed: "+words.HandedOver(p.Lane)+", in "+doc.OneLine(cmp.Or(p.Lane.Artifact, p.Lane.Dir), 500))
	case p.HeadSHA == "" && r.Outcome == ralph.Completed:
		parts = append(parts, "Nothing was published: the run committed nothing.")
	case p.HeadSHA == "" || branch == "":
	case p.Pushed:
		parts = append(parts, "Branch: "+branch)
	default:
		parts = append(parts, "Branch: "+branch+", not pushed")
	}
	return strings.Join(parts, "\n")
}
