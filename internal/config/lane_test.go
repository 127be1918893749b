package config_test

import (
	"slices"
	"testing"

	"github.com/org/ralph-action/internal/config"
)

// A lane is bounded by its stories, is green at a limit, and is refused what only a
// run that publishes can do, all at once.
func TestLane(t *testing.T) {
	t.Parallel()
	lane := func(pairs ...string) []string {
		return append([]string{"mode", "tasks", "publish", "bundle", "lane", "w2-L007-3f9a21bc0d44", "stories", "A,B\nC"}, pairs...)
	}
	for _, tt := range []struct {
		inputs []string
		most   int
		ok     bool // on-incomplete
	}{
		{lane(), 30, true},
		{lane("max-iterations", "7", "on-incomplete", "fail"), 7, false},
		{lane("skip-review", "true"), 30, true},
	} {
		c, err := load(t, with(tt.inputs...))
		if err != nil {
			t.Errorf("Load(%v) = %v", tt.inputs, err)
			continue
		}
		if c.Loop.MaxIterations != tt.most || c.Loop.IncompleteOK != tt.ok || c.Git.Push != config.PushNever || c.PullRequest.Wanted || c.Git.Commit != config.CommitEach ||
			c.Tasks.Lane.Key.String() != "w2-L007-3f9a21bc0d44" || !slices.Equal(c.Tasks.Stories, []string{"A", "B", "C"}) {
			t.Errorf("Load(%v) = %d iterations, incomplete ok %t, %+v, %q", tt.inputs, c.Loop.MaxIterations, c.Loop.IncompleteOK, c.Tasks.Lane, c.Tasks.Stories)
		}
	}
	const leave = "a lane publishes nothing itself (publish: bundle): leave it out here, and give it to the job that integrates"
	for _, tt := range []struct {
		inputs []string
		want   []string
	}{
		{[]string{"mode", "tasks", "publish", "bundle"}, []string{
			"input publish: a lane works on stories of its own: give stories: US-001,US-002",
			"input publish: it needs the key of the lane, as the plan printed it: lane: ${{ matrix.key }}",
		}},
		{lane("branch", "x", "labels", "a", "wait-for-ci", "true", "ci-token", "ghp_0123456789"), []string{
			"input branch: " + leave, "input ci-token: " + leave, "input labels: " + leave, "input wait-for-ci: " + leave,
		}},
		{[]string{"mode", "tasks", "lanes", "d", "lane", "w1-L001-0123456789ab"}, []string{
			"input lane: it has no effect without publish: bundle", "input lanes: it has no effect without publish: bundle",
		}},
		{lane("lane", "L007"), []string{`input lane: "L007" names no lane: give the key that the plan printed, such as w1-L007-3f9a21bc0d44`}},
		{lane("lanes", "../x"), []string{`input lanes: "../x" is not allowed: it is outside the workspace: give a folder relative to it`}},
		{lane("publish", "branch"), []string{`input publish: "branch" is not allowed: give pull-request or bundle`}},
	} {
		_, err := load(t, with(tt.inputs...))
		got := problems(t, err)
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("Load(%v) =\n%q, want\n%q", tt.inputs, got, tt.want)
		}
	}
}
