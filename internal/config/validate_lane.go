package config

import (
	"path/filepath"
	"strings"

	"github.com/org/ralph-action/internal/fanout"
)

// laneKey is the key of a lane.
func (l *loader) laneKey(v value) fanout.LaneKey {
	key, err := fanout.ParseLaneKey(strings.TrimSpace(v.Text))
	if err != nil {
		l.Report(v.Where, "%s", err)
	}
	return key
}

// lanes is a directory with what lanes handed over. It need not be there: a lane that begins has none.
func (l *loader) lanes(v value) string {
	text := strings.TrimSpace(v.Text)
	name, inside := l.files.Local(text)
	switch {
	case inside:
		return filepath.Join(l.o.Dir, name)
	case l.o.Local:
		return l.files.Abs(text)
	}
	l.refuse(v, "it is outside the workspace: give a folder relative to it")
	return ""
}

// iterationsEach is how many iterations a story of a lane takes at most: its implementation,
// and a fix for each review but the last; without a cap as many as with the usual one.
func (l *loader) iterationsEach() int {
	const usual = 5
	if l.c.Tasks.ReviewCap == 0 {
		return 2 * usual
	}
	return 2 * l.c.Tasks.ReviewCap
}

// validateLane checks what belongs to a lane, which publishes nothing itself.
func (l *loader) validateLane(values map[string]value) {
	publish := values["publish"]
	if !l.c.Tasks.Lane.Bundle {
		for _, name := range []string{"lane", "lanes"} {
			if v := values[name]; v.given() && !l.refused(v) && !l.refused(publish) {
				l.Report(v.Where, "it has no effect without %s", l.option("publish", "bundle"))
			}
		}
		return
	}
	if len(l.c.Tasks.Stories) == 0 && !l.refused(values["stories"]) {
		l.Report(publish.Where, "a lane works on stories of its own: give %s", l.option("stories", "US-001,US-002"))
	}
	if lane := values["lane"]; l.c.Tasks.Lane.Key == (fanout.LaneKey{}) && !l.refused(lane) && !l.o.Local {
		l.Report(publish.Where, "it needs the key of the lane, as the plan printed it: lane: ${{ matrix.key }}")
	}
	for _, name := range publishing() {
		v := values[name]
		if v.from < fromInput || l.refused(v) || name == "commit" && l.c.Git.Commit == CommitEach || name == "push" && l.c.Git.Push == PushNever || name == "pull-request" && !l.c.PullRequest.Wanted {
			continue
		}
		if v.Text != "false" && v.Text != "none" {
			l.Report(v.Where, "a lane publishes nothing itself (%s): leave it out here, and give it to the job that integrates", l.option("publish", "bundle"))
		}
	}
	l.c.Git.Commit, l.c.Git.Squash, l.c.Git.SCM, l.c.Git.UpdateBase, l.c.Git.Branch = CommitEach, false, SCM{}, "", ""
	l.c.Git.Push, l.c.PullRequest, l.c.Git.PushToFork, l.c.Git.SignCommits = PushNever, PullRequest{}, "", false
	l.c.Git.Base, l.c.Git.BranchSuffix = "", ""
	if !values["on-incomplete"].given() {
		l.c.Loop.IncompleteOK = true
	}
	if !values["max-iterations"].given() {
		l.c.Loop.MaxIterations = l.iterationsEach() * max(1, len(l.c.Tasks.Stories))
	}
}

// publishing are the inputs that say what is published, and how.
func publishing() []string {
	return []string{
		"branch", "base", "branch-suffix", "update-base", "delete-branch", "push", "push-to-fork", "ci-token", "sign-commits", "pull-request", "title", "body", "body-path", "labels", "draft",
		"assignees", "reviewers", "team-reviewers", "milestone", "maintainer-can-modify", "wait-for-ci", "merge", "squash", "commit", "dry-run",
	}
}

// validateParallel checks what belongs to lanes on one machine: the command plans them, and
// puts what they make onto the branch that is checked out.
func (l *loader) validateParallel(values map[string]value) {
	parallel := values["parallel"].Where
	l.idle(values, "the lanes of "+parallel+" get it by themselves: leave it out", "publish", "lane", "lanes")
	l.idle(values, "with "+parallel+" each story becomes a commit of ralph's on the branch that is checked out, and nothing is pushed: leave it out", publishing()...)
	l.idle(values, "the lanes of "+parallel+" do not count it together: give "+l.option("max-cost-usd", "20"), "max-tokens", "max-total-cost-usd")
	if v := values["isolation"]; l.c.Sandbox.Isolation == IsolationDocker && !l.refused(v) {
		l.Report(v.Where, "a Docker Sandbox does not show ralph the work, which %s has to put together: give auto, strict or off", parallel)
	}
	l.c.Tasks.Lane = Lane{}
	if !values["max-iterations"].given() {
		l.c.Loop.MaxIterations = 0 // each story has as many as its reviews allow
	}
}
