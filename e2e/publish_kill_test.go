//go:build e2e

package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/org/ralph-action/internal/testing/actionrun"
)

// build makes the program, for tests that start it without an image.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ralph")
	if out, err := exec.Command("go", "build", "-o", path, "../cmd/ralph").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// moments are those a scenario is killed at: all of them in the long tests, else a
// third, which is another one for each scenario and before a write than after it.
func moments(scenario int) func(actionrun.Moment) bool {
	return func(m actionrun.Moment) bool {
		n := scenario + m.Write
		if m.After {
			n++
		}
		return long || n%3 == 0
	}
}

// Killed with SIGKILL before or after any step of publishing that others see, and
// run again as a new job, every kind of run leaves what it leaves undisturbed:
// nothing twice, nothing missing.
func TestKilledAtEveryStep(t *testing.T) {
	for i, s := range actionrun.Scenarios(build(t)) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			actionrun.KillAtEveryStep(t, s, moments(i))
		})
	}
}

// Killed at any of these steps, and followed by the job's post step.
func TestKilledThenPost(t *testing.T) {
	for i, s := range actionrun.Scenarios(build(t)) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			actionrun.KillAndPost(t, s, moments(i))
		})
	}
}

// The same in the workspace of the run that was killed, with and without other
// people's uncommitted files.
func TestKilledAndRunAgainHere(t *testing.T) {
	for i, s := range actionrun.Scenarios(build(t)) {
		for j, again := range actionrun.WaysOn() {
			t.Run(s.Name+" "+again.Name, func(t *testing.T) {
				t.Parallel()
				actionrun.KillAndGoOn(t, s, again, moments(i+j))
			})
		}
	}
}
