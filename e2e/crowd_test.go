//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/testing/actionrun"
	"github.com/org/ralph-action/internal/testing/fakegithub"
)

// 256 runs at once against GitHub's documented limits, each on a branch of its
// own; and 32 on one branch. The clock of the limits runs 40 times as fast, so that
// an hour's requests are used up: a minute of GitHub's is a second and a half, an hour
// a minute and a half.
func TestCrowd(t *testing.T) {
	for _, c := range []struct {
		name        string
		runs, pulls int
	}{{"256 branches", 256, 256}, {"one branch", 32, 1}} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
			defer cancel()
			r, all := actionrun.NewCrowd(t, build(t), c.runs, c.pulls == c.runs, fakegithub.Options{Limits: fakegithub.GitHubLimits(40)})
			started := time.Now()
			results, problems := actionrun.Crowd(ctx, t.TempDir(), all)
			failed := 0
			for i, res := range results {
				if problems[i] == nil && res.Code == 0 {
					continue
				}
				if failed++; failed <= 3 {
					t.Errorf("run %d: exit code %d, %v\n%s", i, res.Code, problems[i], res.Log)
				}
			}
			actionrun.CheckCrowd(t, r, c.runs, c.pulls)
			t.Logf("%d runs in %s, %d failed, %d calls of the API, refused: %v", c.runs, time.Since(started).Round(time.Second), failed, len(r.Calls()), r.Forge().Refused())
		})
	}
}
