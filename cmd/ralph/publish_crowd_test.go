//go:build long

package main

import (
	"testing"

	"github.com/org/ralph-action/internal/testing/actionrun"
	"github.com/org/ralph-action/internal/testing/fakegithub"
)

// Several runs at once lose nothing, whether each has a branch of its own or all
// share one. The large crowds are in e2e.
func TestRunsAtOnce(t *testing.T) {
	t.Parallel()
	const runs = 4
	for _, c := range []struct {
		name  string
		own   bool
		pulls int
	}{{"each its own branch", true, runs}, {"one branch", false, 1}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, all := actionrun.NewCrowd(t, binary(t), runs, c.own, fakegithub.Options{})
			results, problems := actionrun.Crowd(t.Context(), t.TempDir(), all)
			for i, res := range results {
				if problems[i] != nil || res.Code != 0 {
					t.Errorf("run %d: exit code %d, %v\n%s", i, res.Code, problems[i], res.Log)
				}
			}
			actionrun.CheckCrowd(t, r, runs, c.pulls)
		})
	}
}
