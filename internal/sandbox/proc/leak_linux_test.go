package proc_test

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// TestRestartsLeaveNothing: 100 restarts of a trivial agent leave no process,
// no descriptor and no goroutine behind, neither here nor in the supervisor.
// It counts in a process of its own, where no other test runs.
func TestRestartsLeaveNothing(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"open", "restricted"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			testRestarts(t, policy)
		})
	}
}

func testRestarts(t *testing.T, policy string) {
	mark := newMark()
	cmd := exec.CommandContext(t.Context(), binary, "program", "restarts", mark, policy)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "MARK=" + mark, quickExit}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("restarts: %v, it said %q", err, out)
	}
	var got [2]held
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("restarts said %q: %v", out, err)
	}
	before, after := got[0], got[1]
	if after != before || before.Children != 1 || before.Files == 0 {
		t.Errorf("after 100 runs = %+v, want what there was before, %+v, with the supervisor as the only child", after, before)
	}
	wantNoSurvivor(t, mark)
}
