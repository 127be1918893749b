package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/logs"
	"github.com/org/ralph-action/internal/report/words"
)

// 004-05, 004-11, 004-12: a session counts its rounds and ends with the names of
// its first description.
func TestSessionRounds(t *testing.T) {
	t.Parallel()
	done, limit := sessionRun(ralph.Completed, "done"), sessionRun(ralph.MaxIterations, "max-iterations 4 is reached and the work is not done")
	for _, c := range []struct {
		r            ralph.Report
		status, head string
	}{
		{done, "PROMISE_ACCEPTED", "Completed in 4 iterations"},
		{limit, "MAX_ITERATIONS_REACHED", "Stopped at the iteration limit (4 iterations), not complete"},
		{sessionRun(ralph.OverBudget, "spent"), "", "Stopped by the budget ($5.00) after 4 iterations, not complete"},
	} {
		if got := words.SessionStatus(c.r); got != c.status {
			t.Errorf("SessionStatus(%s) = %q, want %q", c.r.Outcome, got, c.status)
		}
		texts := renderings(t, c.r)
		texts["Headline"] = report.Headline(c.r)
		for what, text := range texts {
			if !strings.Contains(text, c.head) || what != "Headline" && !strings.Contains(text, "1–4") {
				t.Errorf("%s of %s lacks %q or its rounds:\n%s", what, c.r.Outcome, c.head, text)
			}
			if what != "Headline" && c.status != "" && !strings.Contains(text, c.status) {
				t.Errorf("%s lacks %s:\n%s", what, c.status, text)
			}
		}
		if log := logs.SessionSummary(c.r); !strings.Contains(log, "Total Iterations: 4\nSuccessful: 4\n") || (c.status != "") != strings.Contains(log, "Session Status: "+c.status+"\n") {
			t.Errorf("SessionSummary(%s) = %s", c.r.Outcome, log)
		}
	}
	if log := logs.SessionFooter(done.Iterations[0]); !strings.Contains(log, "\nSession Rounds: 4\n") {
		t.Errorf("SessionFooter() = %s", log)
	}
	other := completed()
	if other.Mode = "run"; words.SessionStatus(other) != "" || other.Rounds() != 2 {
		t.Errorf("SessionStatus(run) = %q, Rounds() = %d, want none and 2", words.SessionStatus(other), other.Rounds())
	}
	why := ralph.Event{Kind: ralph.EventKept, Text: "the promise was\nnot found\x1b[2J", At: time.Date(2026, 2, 5, 9, 8, 7, 0, time.UTC)}
	for _, quiet := range []bool{false, true} {
		f := &logs.Formatter{Timestamp: true, Quiet: quiet}
		if got, want := f.Lines(why), []string{"[09:08:07] [RETRY] Kept going: the promise was not found"}; !slices.Equal(got, want) {
			t.Errorf("Lines(kept) = %q, want %q", got, want)
		}
	}
	var v logs.Verbose
	if got, want := v.Lines(why), []string{"[ralph] Kept going: the promise was not found"}; !slices.Equal(got, want) {
		t.Errorf("verbose Lines(kept) = %q, want %q", got, want)
	}
	if got, want := (&logs.Formatter{}).Lines(ralph.Event{Kind: ralph.EventKept}), []string{"[RETRY] Kept going"}; !slices.Equal(got, want) {
		t.Errorf("Lines(kept) = %q, want %q", got, want)
	}
}

// Iterations whose numbers count on from the last round have these in charts.
func TestChartsOfRounds(t *testing.T) {
	t.Parallel()
	r := sessionRun(ralph.Completed, "done")
	next := completed().Iterations[1]
	next.Number = 5
	r.Iterations = append(r.Iterations, next)
	if s := report.Summary(r); !strings.Contains(s, "x-axis [1, 5]\n") || !strings.Contains(s, "| 5 |") {
		t.Errorf("Summary:\n%s", s)
	}
}
