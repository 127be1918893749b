package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
)

// checkForge asks the forge what the token may do, before anything is spent.
func (j *job) checkForge(ctx context.Context) error {
	if !j.publishes() {
		return nil
	}
	if j.cfg.Push == config.PushAlways && !j.pushes() && !j.cfg.DryRun {
		return invalid(errors.New("push is true, but there is nothing to push to: GITHUB_REPOSITORY and a token are needed"))
	}
	if j.runner != nil && j.site.Repository != "" && j.cfg.Push == config.PushAuto && !j.cfg.DryRun && !j.cfg.Token.IsSet() {
		// A secret with a misspelt name is an empty string. The machine and the
		// work on it are gone after the job.
		return invalid(errors.New("github-token is empty, so the work could not leave this machine: give a token (by default the job's own is used), or set push: false"))
	}
	if !j.pushes() || !j.cfg.PullRequest {
		return nil
	}
	client, err := forge.New(forge.Options{
		APIURL: j.site.APIURL, ServerURL: j.site.ServerURL, GraphQLURL: j.site.GraphQLURL, Repository: j.site.Repository,
		Token: j.cfg.Token, UserAgent: "ralph-action/" + version, Log: j.out.say,
	})
	if err != nil {
		return invalid(err)
	}
	facts, err := client.Preflight(ctx, j.cfg.Base)
	if err != nil {
		return invalid(err)
	}
	j.forge, j.defaultBranch = client, facts.DefaultBranch
	return invalid(client.ProbePullRequest(ctx, facts.Base))
}

// publish pushes what the checkpoints have not, and makes the pull request. A
// failure in a later step never undoes an earlier one; each is recorded.
func (j *job) publish(run context.Context) {
	if j.repo == nil {
		j.report.Duration = time.Since(j.started)
		return
	}
	ctx, cancel := j.publishing(run)
	defer cancel()
	p := &j.report.Publication
	if j.cfg.Commit == config.CommitAgent {
		j.commitRest(ctx)
	}
	if j.pushes() {
		if err := j.repo.Push(ctx); err != nil {
			j.failed(run, err)
		}
	}
	j.report.Duration = time.Since(j.started)
	state := j.repo.State()
	for _, n := range state.Notes {
		j.note(n)
	}
	p.Branch, p.HeadSHA, p.Pushed = state.Branch, state.HeadSHA, state.Pushed
	j.report.ExitCode = j.report.Outcome.ExitCode(j.cfg.IncompleteOK)
	if p.HeadSHA != "" && !j.pushes() {
		j.note(j.stayed(p))
	}
	if j.forge == nil || (p.HeadSHA != "" && !p.Pushed) {
		return
	}
	if err := j.pullRequest(ctx, p); err != nil {
		j.failed(run, err)
	}
}

// commitRest commits what the agent left uncommitted: it must not be lost.
func (j *job) commitRest(ctx context.Context) {
	n := len(j.report.Iterations)
	if n == 0 {
		return
	}
	last := &j.report.Iterations[n-1]
	_, err := j.repo.Snapshot(ctx)
	if err == nil {
		var c ralph.Commit
		if c, err = j.repo.Checkpoint(ctx, *last); c.SHA != "" {
			last.Commit = c
			j.emit(ralph.Event{Kind: ralph.EventCheckpoint, At: time.Now(), Commit: &c, Iteration: n})
		}
	}
	if err != nil {
		j.failed(ctx, fmt.Errorf("what the agent left uncommitted could not be committed: %w", err))
	}
}

// stayed says where work is that was not to leave the machine, and what would
// have become of it.
func (j *job) stayed(p *ralph.Publication) string {
	where := fmt.Sprintf("The work is on the branch %s, which is checked out here and was not pushed", p.Branch)
	switch {
	case j.cfg.DryRun && j.site.Repository != "":
		where = fmt.Sprintf("Dry run: nothing was pushed. Without dry-run the branch %s would be pushed to %s", p.Branch, j.site.Repository)
		if j.cfg.PullRequest {
			state := "ready for review"
			if j.draft() {
				state = "a draft"
			}
			where += fmt.Sprintf(", with a pull request into %s, %s, titled: %s", p.Base, state, j.title())
		}
	case j.cfg.DryRun:
		where += " (dry run)"
	case j.cfg.Push == config.PushNever:
		where += " (push: false)"
	case j.site.Repository != "":
		where += " (no token is given: GITHUB_TOKEN)"
	}
	if len(j.start.BaseSHA) >= 7 {
		where += fmt.Sprintf(". To see it: git log -p %s..%s", j.start.BaseSHA[:7], p.Branch)
	}
	if j.runner == nil {
		where += ". The record of the run is " + j.files.Path("report.html")
	}
	return where + "."
}

func (j *job) pullRequest(ctx context.Context, p *ralph.Publication) error {
	if p.HeadSHA == "" {
		// Nothing new; an open pull request of an earlier run is still worth a link.
		if found, err := j.forge.Find(ctx, p.Branch, p.Base); err == nil && found.Number != 0 {
			p.PullRequest = found
			p.PullRequest.Operation = ralph.OperationNone
		}
		return nil
	}
	done, warnings, err := j.forge.Upsert(ctx, forge.PullRequest{
		Title: j.title(), Body: j.redact.Text(report.Body(j.public(), j.cfg.Body)), Head: p.Branch, Base: p.Base,
		Draft: j.draft(), NewDraft: j.cfg.Draft == config.DraftNew, Labels: j.cfg.Labels,
	})
	for _, w := range warnings {
		j.note(w)
		j.out.warn(w)
	}
	switch {
	case errors.Is(err, forge.ErrNoCommits):
		return nil // the base has gained the same changes: there is nothing to propose
	case err != nil:
		return err
	}
	p.PullRequest = done
	return nil
}

func (j *job) title() string {
	switch {
	case j.cfg.Title != "":
		return j.cfg.Title
	case j.cfg.Mode == config.ModeSupervise:
		return j.redact.Text(report.Title(ralph.Report{Task: "task " + path.Base(filepath.ToSlash(j.cfg.TaskDir))}))
	case j.cfg.Mode == config.ModePlan:
		return "ralph: plan"
	case j.cfg.Mode == config.ModeBuild:
		return "ralph: build"
	}
	return j.redact.Text(report.Title(j.public()))
}

// public is the record as others may see it. Secrets are taken out before
// anything is rendered: escaped text hides them from a redactor.
func (j *job) public() ralph.Report { return report.Redacted(j.report, j.redact.Text) }

// draft follows the outcome unless the user decided.
func (j *job) draft() bool {
	switch j.cfg.Draft {
	case config.DraftAlways, config.DraftNew:
		return true
	case config.DraftNever:
		return false
	}
	return j.report.Outcome != ralph.Completed || j.report.Tasks.AutoApproved() > 0 && !j.cfg.AcceptAtCap ||
		j.backlog != nil && (j.backlog.artifacts || j.backlog.behind)
}

// failed records a step of publishing that failed for good. Work that could
// not be published is no success, whatever the loop came to; nor is it a failure
// of git when somebody stopped the run meanwhile.
func (j *job) failed(run context.Context, err error) {
	j.report.Publication.Errors = append(j.report.Publication.Errors, err.Error())
	j.out.warn(err.Error())
	switch {
	case j.report.Outcome == ralph.Interrupted:
	case run.Err() != nil:
		j.report.Reason = fmt.Sprintf("%s, but the run was cancelled while it was being published", j.report.Reason)
		j.report.Outcome = ralph.Interrupted
	default:
		j.report.Reason = fmt.Sprintf("%s, but publishing failed: %v", j.report.Reason, err)
		j.report.Outcome = ralph.GitFailed
	}
}

// publishing bounds the steps after the loop: by what max-duration leaves, and
// by the last call once the run was asked to stop.
func (j *job) publishing(ctx context.Context) (context.Context, context.CancelFunc) {
	until := time.Now().Add(publishLimit)
	if j.cfg.MaxDuration > 0 {
		until = j.started.Add(j.cfg.MaxDuration)
	}
	bounded, cancel := context.WithDeadline(context.WithoutCancel(ctx), until)
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(time.Until(j.stop.at().Add(lastCall)))
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-bounded.Done():
		}
	})
	return bounded, func() { stop(); cancel() }
}
