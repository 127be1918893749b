package lastrun

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

const (
	maxText = 200 // characters of a foreign text in the record
	MaxTask = 500 // of the task
)

// Short is the beginning of a foreign text, without what mask takes out.
func Short(text string, most int, mask func(string) string) string {
	if runes := []rune(text); len(runes) > 8*most { // what is masked need not be long
		text = string(runes[:8*most])
	}
	text = strings.Join(strings.Fields(mask(text)), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}

// Doing notes what the run does now.
func (r *Recorder) Doing(what string) {
	r.Note(func(run *Run) { run.Now, run.Tool = what, "" })
}

// Follow notes what an event says about the run.
func (r *Recorder) Follow(e ralph.Event, mask func(string) string) {
	if r == nil {
		return
	}
	switch e.Kind {
	case ralph.EventIterationStart:
		r.Note(func(run *Run) {
			run.Now, run.Iteration, run.MaxIterations, run.Turn = "the agent works", e.Iteration, e.Max, ralph.Usage{}
		})
	case ralph.EventPrompt:
		r.Doing("the agent works")
	case ralph.EventToolStart:
		r.Note(func(run *Run) { run.Tool = Short(e.Tool+" "+e.Text, maxText, mask) })
	case ralph.EventUsage:
		if e.Usage != nil {
			r.Note(func(run *Run) { run.Turn = *e.Usage })
		}
	case ralph.EventGuardrailStart:
		r.Doing("guardrail: " + Short(e.Text, maxText, mask))
	case ralph.EventGuardrailEnd:
		if e.Verdict != nil {
			r.Note(func(run *Run) {
				v := *e.Verdict
				run.Judged(Guardrail{Command: Short(v.Command, maxText, mask), Passed: v.Passed, ExitCode: v.ExitCode, Reason: Short(v.Reason, maxText, mask), Broken: v.Broken, Unfinished: v.Unfinished, Iteration: run.Iteration, Log: v.LogFile})
			})
		}
	case ralph.EventTaskStart:
		r.Doing("SCM task: " + Short(e.Text, maxText, mask))
	case ralph.EventRetry, ralph.EventNext:
		if e.Wait > 0 {
			r.Doing(strings.TrimSuffix(fmt.Sprintf("waits %s: %s", e.Wait, Short(e.Text, maxText, mask)), ": "))
		}
	case ralph.EventIterationEnd:
		if e.Record != nil {
			r.Write(func(run *Run) { // resume counts them
				run.Done, run.Used, run.Turn = run.Done+1, run.Used.Add(e.Record.Usage()), ralph.Usage{}
			})
		}
	}
}

// limit names the input that ended a run; empty: another reason.
func limit(r ralph.Report) string {
	switch {
	case r.Outcome == ralph.MaxIterations && r.Mode == "supervise":
		return "max-restarts"
	case r.Outcome == ralph.MaxIterations:
		return "max-iterations"
	case r.Outcome == ralph.OverBudget:
		return r.Budget.Limit(r.Usage())
	case r.Outcome == ralph.Deadline && len(r.Publication.Checks.Left) == 0: // else it is ci-timeout
		return "max-duration"
	}
	return ""
}

// Finish notes how the run ended, by what others may see of it.
func (r *Recorder) Finish(public ralph.Report, headline string, mask func(string) string) {
	if r == nil {
		return
	}
	p := public.Publication
	end := End{
		Outcome: public.Outcome, Limit: limit(public), ExitCode: public.ExitCode, Headline: headline, Reason: Short(public.Reason, MaxTask, mask),
		Duration: public.Duration, Pushed: p.Pushed, PullRequest: p.PullRequest.URL,
	}
	done := func(s ralph.Story) bool { return s.Done }
	chosen := public.Tasks.Chosen()
	if left := len(slices.DeleteFunc(slices.Clone(chosen), done)); left > 0 {
		end.Left = append(end.Left, fmt.Sprintf("not done: %d of %d stories", left, len(chosen)))
	}
	if p.Patch != "" {
		end.Left = append(end.Left, "unpublished work, as a patch: "+p.Patch)
	}
	if n := len(public.Iterations); n > 0 {
		if f := public.Iterations[n-1].Last().Failure; f != nil && !strings.Contains(public.Reason, f.Message) {
			end.Left = append(end.Left, "the agent's last error: "+Short(f.Message, MaxTask, mask))
		}
	}
	r.Note(func(run *Run) {
		run.Done, run.Used, run.Branch = max(run.Done, len(public.Iterations)), public.Usage(), cmp.Or(p.Branch, run.Branch)
	})
	r.End(end)
}
