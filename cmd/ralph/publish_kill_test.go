package main

import (
	"testing"

	"github.com/org/ralph-action/internal/testing/actionrun"
)

// Killed with SIGKILL before or after a step of publishing that others see, and
// run again, a run leaves what it leaves undisturbed: nothing twice, nothing
// missing. Here some moments of the plain run; all moments of all runs are in e2e.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	plain := actionrun.Scenarios(binary(t))[0]
	actionrun.KillAtEveryStep(t, plain, func(m actionrun.Moment) bool { return m.Write%4 == 2 && m.After || m.Write%4 == 0 && !m.After })
}

// The same in the workspace of the run that was killed, with and without other
// people's uncommitted files.
func TestKilledAndRunAgainHere(t *testing.T) {
	t.Parallel()
	plain := actionrun.Scenarios(binary(t))[0]
	for i, again := range actionrun.WaysOn() {
		t.Run(again.Name, func(t *testing.T) {
			t.Parallel()
			actionrun.KillAndGoOn(t, plain, again, func(m actionrun.Moment) bool {
				return m.Write == 1 || m.Write == 2 && m.After == (i%2 == 0)
			})
		})
	}
}

// A whole run costs at most twelve calls of the API when nothing goes wrong.
func TestCallsOfACleanRun(t *testing.T) {
	t.Parallel()
	a := actionrun.Scenarios(binary(t))[0].Make(t)
	res, err := a.Run(t.Context(), t.TempDir())
	if err != nil || res.Code != 0 {
		t.Fatalf("exit code %d, %v\n%s", res.Code, err, res.Log)
	}
	calls := a.Repo.Calls()
	if len(calls) > 12 {
		t.Errorf("%d calls, want at most 12: %v", len(calls), calls)
	}
	p := a.Repo.Pulls()
	if len(p) != 1 || len(p[0].Labels) != 2 || len(p[0].Reviewers) != 2 || len(p[0].Assignees) != 1 || p[0].Milestone != 3 {
		t.Errorf("pull requests = %+v, want one with labels, reviewers, assignee and milestone", p)
	}
}
