package report_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
)

// A run without progress is told what fits the way its last iteration went.
func TestStalledAdvice(t *testing.T) {
	for _, tt := range []struct {
		name string
		last ralph.Iteration
		want string
	}{
		{"a guardrail failed", ralph.Iteration{Verdicts: []ralph.Verdict{{Command: "npm test", ExitCode: 1}}}, "Make the task more precise or smaller, or look at the failing guardrail yourself."},
		{"a guardrail without its program", ralph.Iteration{Verdicts: []ralph.Verdict{{Command: "./check.sh", ExitCode: 127, Broken: true}}}, "A guardrail could not be started in any iteration: its program does not exist or cannot be executed."},
		{"guardrails passed", ralph.Iteration{Verdicts: []ralph.Verdict{{Command: "npm test", Passed: true}}}, "Make the task more precise or smaller."},
		{"the turn failed", ralph.Iteration{Turns: []ralph.Turn{{Failure: &ralph.Failure{Kind: ralph.FailureMalformed}}}}, "Look at the error of the last turn: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.last.Number = 1
			got := report.Announcement(ralph.Report{Outcome: ralph.Stalled, Iterations: []ralph.Iteration{tt.last}})
			if !strings.Contains(got, tt.want) {
				t.Errorf("Announcement(stalled, %s) = %q, want %q in it", tt.name, got, tt.want)
			}
		})
	}
}

// A limit that was reached because the agent failed each time is no matter of the limit.
func TestAgentAlwaysFailed(t *testing.T) {
	t.Parallel()
	failed, ran := ralph.Turn{Failure: &ralph.Failure{Kind: ralph.FailureCrash}}, ralph.Turn{}
	for _, tt := range []struct {
		name string
		mode string
		last ralph.Turn
		want bool
	}{
		{"every turn failed", "run", failed, true},
		{"one did not", "run", ran, false},
		{"a command is restarted", "supervise", failed, false},
	} {
		r := ralph.Report{
			Outcome: ralph.MaxIterations, Mode: tt.mode, MaxIterations: 2, Resumable: true,
			Iterations: []ralph.Iteration{{Number: 1, Turns: []ralph.Turn{failed}}, {Number: 2, Turns: []ralph.Turn{tt.last}}},
		}
		if got := strings.Contains(report.Headline(r), " limit (2 iterations), not complete: the agent failed in every iteration — "); got != tt.want {
			t.Errorf("%s: Headline() = %q, says that the agent failed: %v, want %v", tt.name, report.Headline(r), got, tt.want)
		}
		if got := strings.Contains(report.Advice(r), "Look at the error of the last turn"); got != tt.want {
			t.Errorf("%s: Advice() = %q, points at the error: %v, want %v", tt.name, report.Advice(r), got, tt.want)
		}
	}
}

// What the run and each of its iterations note stands in the notes once.
func TestNotesSayThingsOnce(t *testing.T) {
	const note = "not published: the caches"
	r := completed()
	r.Notes = []string{note}
	for i := range r.Iterations {
		r.Iterations[i].Change.Notes = []string{note, "only in iterations"}
	}
	_, notes, _ := strings.Cut(report.Summary(r), "### Notes")
	for text, want := range map[string]int{note: 1, "Iteration 1: only in iterations": 1, "Iteration 2: ": 0} {
		if n := strings.Count(notes, text); n != want {
			t.Errorf("the notes of Summary have %q %d times, want %d:\n%s", text, n, want, notes)
		}
	}
}

// Where ralph resume can go on, it is what a person is told to run, with the flag of the
// limit that was reached; no job is spoken of where there is none.
func TestAdviceResumes(t *testing.T) {
	turn := ralph.Turn{Usage: ralph.Usage{Cost: ralph.Cost{Amount: ralph.USD}, Tokens: ralph.Tokens{Output: 50}}}
	its := []ralph.Iteration{{Number: 1, Turns: []ralph.Turn{turn}}}
	for _, tt := range []struct {
		r    ralph.Report
		want string
	}{
		{ralph.Report{Outcome: ralph.MaxIterations, Resumable: true}, "Run ralph resume --max-iterations=N to continue."},
		{ralph.Report{Outcome: ralph.Deadline, Resumable: true}, "Run ralph resume --max-duration=TIME to continue."},
		{ralph.Report{Outcome: ralph.Deadline}, "Run it again to continue, or raise max-duration."},
		{ralph.Report{Outcome: ralph.Deadline, RunURL: "https://example.com/1"}, "Run it again to continue, or raise max-duration (and the job's timeout-minutes with it)."},
		{ralph.Report{Outcome: ralph.OverBudget, Resumable: true, Budget: ralph.Budget{Cost: ralph.USD, Tokens: 51}}, "Run ralph resume --max-cost-usd=USD to continue."},
		{ralph.Report{Outcome: ralph.OverBudget, Resumable: true, Budget: ralph.Budget{Cost: 2 * ralph.USD, Tokens: 50}}, "Run ralph resume --max-tokens=N to continue."},
		{ralph.Report{Outcome: ralph.OverBudget, Resumable: true, Budget: ralph.Budget{Total: ralph.USD}}, "Run it again to continue with a higher max-cost-usd, max-total-cost-usd or max-tokens, or make the task smaller."},
		{ralph.Report{Outcome: ralph.Interrupted, Resumable: true}, "Run ralph resume to continue."},
		{ralph.Report{Outcome: ralph.Interrupted}, "Run it again to continue."},
	} {
		tt.r.Iterations = its
		if got := report.Advice(tt.r); got != tt.want {
			t.Errorf("Advice(%s, resumable %v) = %q, want %q", tt.r.Outcome, tt.r.Resumable, got, tt.want)
		}
	}
}
