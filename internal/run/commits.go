package run

import (
	"context"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/report/memory"
)

// committer is who makes our commits: at a desk the person who sits there,
// unless told otherwise.
func (j *sandboxed) committer(ctx context.Context) config.Person {
	if !j.local() || j.cfg.Sources["committer"] != "default" {
		return j.cfg.Committer
	}
	out := proc.Head{Max: maxAnswer}
	if err := j.git.Git(ctx, repo.GuestCommand{Args: []string{"config", "-z", "--get-regexp", `^user\.(name|email)$`}, Stdout: &out}); err != nil {
		return j.cfg.Committer // no identity here, or no repository: the next step says so
	}
	var me config.Person
	for entry := range strings.SplitSeq(out.String(), "\x00") { // the last word counts
		switch key, value, _ := strings.Cut(entry, "\n"); key {
		case "user.name":
			me.Name = strings.TrimSpace(value)
		case "user.email":
			me.Email = strings.TrimSpace(value)
		}
	}
	if me.Name == "" || me.Email == "" {
		return j.cfg.Committer
	}
	return me
}

// author is who started the run, where that is known, else the committer.
func (j *plan) author(committer config.Person) config.Person {
	switch {
	case !j.cfg.Author.IsZero():
		return j.cfg.Author
	case j.site.Actor != "" && j.site.ActorID != "":
		return config.Person{Name: j.site.Actor, Email: j.site.ActorID + "+" + j.site.Actor + "@users.noreply.github.com"}
	case j.site.Actor != "":
		return config.Person{Name: j.site.Actor, Email: j.site.Actor + "@users.noreply.github.com"}
	}
	return committer
}

// message is a checkpoint's commit message.
func (j *branch) message(it ralph.Iteration) string {
	var outcome ralph.Outcome                                               // known in the last commit only, and only when it is good news
	if it.Marker && it.Rejection == ralph.NotRejected && !j.cfg.WaitForCI { // the checks have the last word
		outcome = ralph.Completed
	}
	it.Delivery.Message = j.rec.masked(it.Delivery.Message)
	return j.rec.redact.Text(memory.CommitMessage(it, memory.Checkpoint{
		Template: j.cfg.CommitMessage, Run: j.runID(), Outcome: outcome, StoryDone: j.stories.done(it.Step.Story),
		Before: j.history.Iterations(), Cost: j.costs.untold(it), LeftOut: j.leftOut(), Signoff: j.signoff,
	}))
}

// leftOut are the changes that a checkpoint lacks: this run's, and those of earlier
// ones that are not made yet.
func (j *branch) leftOut() []ralph.Missing {
	if j.repo == nil {
		return nil
	}
	var list []ralph.Missing
	for _, l := range j.repo.LeftOut() {
		list = append(list, ralph.Missing{Path: j.rec.masked(l.Path), ID: l.OldID})
	}
	for _, m := range j.missing {
		if !slices.ContainsFunc(list, func(other ralph.Missing) bool { return other.Path == m.Path }) {
			list = append(list, m)
		}
	}
	return list
}

// runID names the run in commit trailers.
func (j *plan) runID() string {
	if j.site.RunID != "" {
		return j.site.RunID
	}
	return j.rec.started().UTC().Format("20060102T150405Z")
}
