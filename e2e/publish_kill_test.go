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

// Killed with SIGKILL before or after any step of publishing that others see, and
// run again as a new job, every kind of run leaves what it leaves undisturbed:
// nothing twice, nothing missing.
func TestKilledAtEveryStep(t *testing.T) {
	for _, s := range actionrun.Scenarios(build(t)) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			actionrun.KillAtEveryStep(t, s, func(actionrun.Moment) bool { return true })
		})
	}
}

// The same in the workspace of the run that was killed, with and without other
// people's uncommitted files.
func TestKilledAndRunAgainHere(t *testing.T) {
	for _, s := range actionrun.Scenarios(build(t)) {
		for _, again := range actionrun.WaysOn() {
			t.Run(s.Name+" "+again.Name, func(t *testing.T) {
				t.Parallel()
				actionrun.KillAndGoOn(t, s, again, func(actionrun.Moment) bool { return true })
			})
		}
	}
}
