package run

import (
	"context"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/worktree"
	"github.com/org/ralph-action/internal/report/memory"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// committer is who makes our commits: locally the person who started the run,
// unless told otherwise.
func (s *sandboxed) committer(ctx context.Context) config.Person {
	if !s.local() || s.cfg.Sources["committer"] != "default" {
		return s.cfg.Git.Committer
	}
	out := proc.Head{Max: maxAnswer}
	if err := s.git.Git(ctx, worktree.Command{Args: []string{"config", "-z", "--get-regexp", `^user\.(name|email)$`}, Stdout: &out}); err != nil {
		return s.cfg.Git.Committer // no identity here, or no repository: the next step says so
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
		return s.cfg.Git.Committer
	}
	return me
}

// author is who started the run, where that is known, else the committer.
func (p *plan) author(committer config.Person) config.Person {
	switch {
	case !p.cfg.Git.Author.IsZero():
		return p.cfg.Git.Author
	case p.site.Actor != "" && p.site.ActorID != "":
		return config.Person{Name: p.site.Actor, Email: p.site.ActorID + "+" + p.site.Actor + "@users.noreply.github.com"}
	case p.site.Actor != "":
		return config.Person{Name: p.site.Actor, Email: p.site.Actor + "@users.noreply.github.com"}
	}
	return committer
}

// message is the message of a checkpoint's commit, which changes the files.
func (b *branch) message(it ralph.Iteration, files []ralph.File) string {
	var outcome ralph.Outcome                                                           // known in the last commit only, and only when it is good news
	if it.Marker && it.Rejection == ralph.NotRejected && !b.cfg.PullRequest.WaitForCI { // the checks have the last word
		outcome = ralph.Completed
	}
	it.Delivery.Message = b.rec.masked(it.Delivery.Message)
	it.Said = ralph.Said{Commit: b.rec.masked(it.Said.Commit), Title: b.rec.masked(it.Said.Title), Description: b.rec.masked(it.Said.Description)}
	for i := range files {
		files[i].Path = b.rec.masked(files[i].Path)
	}
	return b.rec.redact.Text(memory.CommitMessage(it, memory.Checkpoint{
		Template: b.cfg.Git.Message, Files: files, Run: b.runID(), Outcome: outcome, StoryDone: b.stories.Done(it.Step.Story),
		Before: b.history.Iterations(), Cost: b.costs.unreported(it), LeftOut: b.leftOut(), Signoff: b.signoff,
	}))
}

// leftOut are the changes that a checkpoint lacks: this run's, and those of earlier
// ones that are not made yet.
func (b *branch) leftOut() []ralph.Missing {
	if b.repo == nil {
		return nil
	}
	var list []ralph.Missing
	for _, l := range b.repo.LeftOut() {
		if b.unjudged(l.Path) {
			continue // the next run judges it
		}
		list = append(list, ralph.Missing{Path: b.rec.masked(l.Path), ID: l.OldID})
	}
	for _, m := range b.missing {
		if !slices.ContainsFunc(list, func(other ralph.Missing) bool { return other.Path == m.Path }) {
			list = append(list, m)
		}
	}
	return list
}

// runID names the run in commit trailers.
func (p *plan) runID() string {
	if p.site.RunID != "" {
		return p.site.RunID
	}
	return p.rec.started().UTC().Format("20060102T150405Z")
}
