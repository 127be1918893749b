package main

import (
	"testing"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
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

// Killed at the push that goes on beside the next turn, or at the draft that is made of
// it.
func TestKilledBesideATurn(t *testing.T) {
	t.Parallel()
	beside := actionrun.Scenarios(binary(t))[1]
	actionrun.KillAtEveryStep(t, beside, func(m actionrun.Moment) bool { return m.Write == 1 || m.Write == 2 })
}

// The same in the workspace of the run that was killed, with and without other
// people's uncommitted files.
func TestKilledAndRunAgainHere(t *testing.T) {
	t.Parallel()
	plain := actionrun.Scenarios(binary(t))[0]
	// Each way with one moment, each moment with one way; all with all are in the long tests.
	actionrun.KillAndGoOnEachWay(t, plain, func(way int, m actionrun.Moment) bool {
		kind := 2 * (m.Write - 1) // of the first push and what follows it
		if m.After {
			kind++
		}
		return kind == way || long && kind >= 0 && kind < 4
	})
}

// A whole run of one iteration costs at most ten calls of the API when nothing goes
// wrong; one of more, whose draft is made with the first push, three more, and so many
// with whatever number of iterations in so short a time.
func TestCallsOfACleanRun(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		agent, guardrail string
		most             int
	}{
		"one iteration":   {"echo 1 >one", "test -e one", 10},
		"four iterations": {"echo x >>x; [ $(wc -l <x) = 4 ] || exit 0", "test -e x", 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := actionrun.Scenarios(binary(t))[0].Make(t)
			if _, err := a.Repo.Commit("main", "agent", map[string]gitserver.File{"agent.sh": {Content: "cat >/dev/null\n" + one.agent + "\necho '<promise>COMPLETE</promise>'\n"}}); err != nil {
				t.Fatal(err)
			}
			a.Inputs["guardrails"] = one.guardrail
			res, err := a.Run(t.Context(), t.TempDir())
			if err != nil || res.Code != 0 {
				t.Fatalf("exit code %d, %v\n%s", res.Code, err, res.Log)
			}
			if calls := a.Repo.Calls(); len(calls) > one.most {
				t.Errorf("%d calls, want at most %d: %v", len(calls), one.most, calls)
			}
			p := a.Repo.Pulls()
			if len(p) != 1 || len(p[0].Labels) != 2 || len(p[0].Reviewers) != 2 || len(p[0].Assignees) != 1 || p[0].Milestone != 3 {
				t.Errorf("pull requests = %+v, want one with labels, reviewers, assignee and milestone", p)
			}
		})
	}
}
