package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/logs"
)

// 000-34, 000-35, 000-36, 000-39
func TestSessionLogToTheLetter(t *testing.T) {
	t.Parallel()
	double, single := strings.Repeat("=", 80), strings.Repeat("-", 80)
	want := double + "\nITERATION 1\n" + double + "\nMode: build\nStart Time: 2026-02-05 10:00:00 UTC\n" + single + "\n" +
		single + "\nITERATION 1 COMPLETE\nEnd Time: 2026-02-05 10:00:41 UTC\nDuration: 41s\nAPI Requests: 8\nModel: claude-sonnet-4-5\nMessages: 8\nCost: $0.0274\nRetries: 1\nStatus: success (complete)\n" + double + "\n\n" +
		double + "\nSESSION SUMMARY\n" + double + "\nTotal Iterations: 1\nSuccessful: 1\nFailed: 0\nTotal Duration: 41s\nExit Reason: completed: the agent promised COMPLETE\nExit Code: 0\n" + double + "\n"
	if got := session("build", "the agent promised COMPLETE"); got != want {
		t.Errorf("session log =\n%s\nwant\n%s", got, want)
	}
}

func session(mode, reason string) string {
	r := completed()
	r.Reason, r.Mode = reason, mode
	it := r.Iterations[1]
	it.Number, it.Started, it.Duration = 1, start, 41*time.Second
	it.Turns = []ralph.Turn{okTurn(1, 0, 0, 1, 0.0123, ""), it.Turns[0]}
	r.Iterations = []ralph.Iteration{it}
	return logs.SessionHeader(1, r.Mode, ralph.Step{}, r.Started) + logs.SessionFooter(it) + logs.SessionSummary(r)
}

func TestSessionStatus(t *testing.T) {
	t.Parallel()
	crashed := &ralph.Failure{Kind: ralph.FailureEmpty, Message: "nothing was\nsaid"}
	for _, c := range []struct {
		it   ralph.Iteration
		want string
	}{
		{ralph.Iteration{}, "success"},
		{ralph.Iteration{Rejection: ralph.RejectedNoMarker}, "success"},
		{ralph.Iteration{Rejection: ralph.RejectedNoWork, Marker: true}, "success (said to be complete without any work)"},
		{ralph.Iteration{Rejection: ralph.RejectedGuardrails, Verdicts: []ralph.Verdict{{}, {Passed: true}}}, "success (guardrails failed: 1 of 2)"},
		{ralph.Iteration{Rejection: ralph.RejectedSCM, Marker: true, Delivery: ralph.Delivery{Error: "git push: exit code 1:\nno"}}, "success (the SCM tasks failed: git push: exit code 1: no)"},
		{ralph.Iteration{Rejection: ralph.RejectedStopped, Marker: true}, "success (stopped before every check)"},
		{ralph.Iteration{Rejection: ralph.RejectedSCM}, "success (the SCM tasks failed)"},
		{ralph.Iteration{Rejection: ralph.RejectedTurn}, "failed (agent failed)"},
		{ralph.Iteration{Rejection: ralph.RejectedTurn, Turns: []ralph.Turn{{Failure: crashed}}}, "failed (empty answer: nothing was said)"},
		{ralph.Iteration{Marker: true, Turns: []ralph.Turn{{Failure: crashed}, {}}}, "success (complete)"},
	} {
		if got := logs.SessionFooter(c.it); !strings.Contains(got, "\nStatus: "+c.want+"\n") {
			t.Errorf("SessionFooter(%+v) = %s, want the status %q", c.it, got, c.want)
		}
	}
}

// A value cannot forge a line of the log.
func TestSessionLogIsOneLinePerFact(t *testing.T) {
	t.Parallel()
	r := hostile()
	log := logs.SessionHeader(1, r.Mode, ralph.Step{}, r.Started) + logs.SessionFooter(r.Iterations[0]) + logs.SessionSummary(r)
	if got, want := strings.Count(log, "\n"), 6+13+10; got != want {
		t.Errorf("session log has %d lines, want %d:\n%s", got, want, log)
	}
	it := hostileTasks().Iterations[0]
	log = logs.SessionHeader(1, "tasks", it.Step, start) + logs.SessionFooter(it)
	if got, want := strings.Count(log, "\n"), 7+13; got != want {
		t.Errorf("session log of a story has %d lines, want %d:\n%s", got, want, log)
	}
}
