package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/report"
)

// checkForge asks the forge what the tokens may do, before anything is spent.
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
	if !j.pushes() || !j.cfg.PullRequest && !j.cfg.WaitForCI && !j.cfg.SignCommits && j.cfg.PushToFork == "" {
		return nil
	}
	client, err := j.client()
	if err != nil {
		return invalid(err)
	}
	facts, err := client.Preflight(ctx, j.base())
	if err != nil {
		return invalid(err)
	}
	j.facts, j.defaultBranch = facts, facts.DefaultBranch
	if err := j.checkPushing(ctx, client); err != nil {
		return invalid(err)
	}
	if !j.cfg.PullRequest {
		return nil
	}
	j.forge = client
	if j.cfg.Milestone > 0 {
		if err := client.CheckMilestone(ctx, j.cfg.Milestone); err != nil {
			return invalid(err)
		}
	}
	if j.cfg.AutoMerge && facts.AutoMerge == forge.No {
		return invalid(fmt.Errorf("merge: auto: the repository does not allow auto-merge: turn it on under Settings > General > Pull Requests, or leave merge out"))
	}
	return invalid(client.ProbePullRequest(ctx, facts.Base))
}

// checkPushing looks at the token that pushes, where it is not the one that
// opens pull requests, and at the fork.
func (j *job) checkPushing(ctx context.Context, client *forge.Client) error {
	j.pusher = client
	if j.cfg.PushToFork != "" || j.cfg.CIToken.IsSet() {
		var err error
		if j.pusher, err = j.connect(cmp.Or(j.cfg.PushToFork, j.site.Repository), true); err != nil {
			return err
		}
	}
	if j.cfg.PushToFork != "" {
		if err := client.CheckFork(ctx, j.pusher); err != nil {
			return err
		}
	}
	if j.cfg.SignCommits {
		return j.pusher.ProbeSigning(ctx)
	}
	return nil
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
			j.couldNot("push", err)
			j.failed(run, err)
		}
	}
	j.report.Duration = time.Since(j.started)
	state := j.repo.State()
	for _, n := range state.Notes {
		j.note(n)
	}
	p.Branch, p.HeadSHA, p.Pushed, p.Fork = state.Branch, state.HeadSHA, state.Pushed, j.cfg.PushToFork
	p.Signed, p.Verified, p.Tip = state.Signed, state.Verified, state.Tip
	if p.Pushed {
		j.did("push", p.Branch)
	}
	j.report.ExitCode = j.report.Outcome.ExitCode(j.cfg.IncompleteOK)
	if p.HeadSHA != "" && !j.pushes() {
		j.note(j.stayed(p))
	}
	if j.pushes() && (p.HeadSHA == "" || p.Pushed) {
		if deleted := j.cleanUp(ctx, state); !deleted && j.forge != nil {
			if err := j.pullRequest(ctx, p, state); err != nil {
				j.couldNot("pull request", err)
				j.failed(run, err)
			}
		}
	}
	j.tellEnd(ctx)
}

// did and couldNot record a step of publishing.
func (j *job) did(name, detail string) {
	j.step(ralph.PublishStep{Name: name, Done: true, Detail: detail})
}

func (j *job) couldNot(name string, err error) {
	j.step(ralph.PublishStep{Name: name, Detail: err.Error()})
}

func (j *job) step(s ralph.PublishStep) {
	j.report.Publication.Steps = append(j.report.Publication.Steps, s)
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

// pullRequest brings the pull request to what the run came to.
func (j *job) pullRequest(ctx context.Context, p *ralph.Publication, state repo.State) error {
	ahead, err := j.repo.Ahead(ctx)
	switch {
	case errors.Is(err, repo.ErrBaseGone):
		return fmt.Errorf("there is nothing to make a pull request against: %w: %s; the work is on %s", err, p.Base, p.Branch)
	case err != nil:
		j.note("The branch could not be compared with its base: " + err.Error())
	case !ahead:
		p.PullRequest, err = j.open(ctx, p)
		return err // the base has the same changes: there is nothing to propose
	}
	if p.HeadSHA == "" && !j.proposed {
		due, err := j.due(ctx, p, state)
		if err != nil || !due {
			return err
		}
	}
	j.whoStartsCI() // said before the body is written
	created := j.report.Publication.PullRequest.Operation
	done, warnings, err := j.forge.Upsert(ctx, j.proposal(j.report, p.Branch))
	j.warned(warnings)
	switch {
	case errors.Is(err, forge.ErrNoCommits):
		return nil // the base has gained the same changes: there is nothing to propose
	case err != nil:
		return err
	}
	if j.proposed && created == ralph.OperationCreated {
		done.Operation = created // by this run, a moment ago
	}
	p.PullRequest = done
	if done.Foreign && done.Number == j.decision.CommentOn && j.telling != nil {
		j.telling.end() // the record is the comment
		j.telling, p.Comment = nil, done.URL
	}
	j.did("pull request", fmt.Sprintf("#%d %s", done.Number, done.Operation))
	j.autoMerge(ctx, p)
	return nil
}

// open is the open pull request of the branch, which is worth a link.
func (j *job) open(ctx context.Context, p *ralph.Publication) (ralph.PullRequest, error) {
	found, err := j.forge.Look(ctx, p.Branch, p.Base, p.Fork)
	if found.Open.Number == 0 {
		return ralph.PullRequest{Operation: ralph.OperationNone}, err
	}
	found.Open.Operation = ralph.OperationNone
	return found.Open, err
}

// warned records what a pull request could not be given.
func (j *job) warned(warnings []string) {
	for _, w := range warnings {
		j.couldNot("pull request", errors.New(w))
		j.note(w)
		j.out.warn(w)
	}
}

// due says whether a branch that this run added nothing to needs a pull request:
// one that an earlier run pushed, and was ended before it could make one. An open
// one is worth a link.
func (j *job) due(ctx context.Context, p *ralph.Publication, state repo.State) (bool, error) {
	found, err := j.forge.Look(ctx, p.Branch, p.Base, p.Fork)
	if err != nil {
		return false, err
	}
	if found.Open.Number != 0 {
		p.PullRequest = found.Open
		p.PullRequest.Operation = ralph.OperationNone
		if j.start.Resumed && j.lastIsOurs() && j.report.Outcome == ralph.Completed && found.Stale(state.Tip, j.draft()) {
			return true, nil
		}
		// A run that was killed may have left it without labels and people.
		j.warned(j.forge.Complete(ctx, found, j.proposal(j.report, p.Branch)))
		if j.start.Resumed && j.lastIsOurs() {
			j.autoMerge(ctx, p)
		}
		return false, nil
	}
	return j.start.Resumed && found.Due(state.Tip), nil
}

// lastIsOurs says that the last commit of the branch is a checkpoint of a run.
func (j *job) lastIsOurs() bool {
	return len(j.start.Messages) > 0 && len(report.ReadHistory(j.start.Messages[:1], true).Runs) > 0
}

// proposal is the pull request as it should be.
func (j *job) proposal(r ralph.Report, branch string) forge.PullRequest {
	public := report.Redacted(r, j.redact.Text)
	return forge.PullRequest{
		Title: j.title(), Head: branch, Base: r.Publication.Base, HeadRepository: j.cfg.PushToFork,
		Body:   j.redact.Text(report.Body(public, report.BodyOptions{Extra: j.cfg.Body, Marker: forge.Marker, Closes: j.decision.Issue})),
		Record: j.redact.Text(report.Comment(public, report.CommentOptions{Marker: forge.RecordMarker})),
		Draft:  j.draft(), NewDraft: j.cfg.Draft == config.DraftNew, MaintainerCanModify: j.cfg.MaintainersCanModify,
		Labels: j.cfg.Labels, Assignees: j.cfg.Assignees, Reviewers: j.cfg.Reviewers, TeamReviewers: j.cfg.TeamReviewers, Milestone: j.cfg.Milestone,
	}
}

// whoStartsCI notes which workflows start for what is published.
func (j *job) whoStartsCI() {
	did := ralph.OperationCreated
	if j.start.Resumed {
		did = ralph.OperationUpdated // most probably: a branch with work has its pull request
	}
	if text := j.forge.WhoStartsCI(j.forge.Pusher(j.cfg.CIToken), j.forge.Identity(), did); text != "" {
		j.note(text)
	}
}

// autoMerge asks the forge to merge a pull request that is ready. ralph itself
// never does.
func (j *job) autoMerge(ctx context.Context, p *ralph.Publication) {
	if !j.cfg.AutoMerge || j.report.Outcome != ralph.Completed || p.PullRequest.Draft {
		return
	}
	done, err := j.forge.AutoMerge(ctx, p.PullRequest, strings.ToUpper(string(j.cfg.MergeMethod)))
	if err != nil {
		j.couldNot("auto-merge", err)
		j.note(err.Error())
		j.out.warn(err.Error())
		return
	}
	p.PullRequest = done
	j.did("auto-merge", "asked for")
}

// cleanUp deletes a branch that has nothing the base has not, where that is
// wanted, and closes its pull request.
func (j *job) cleanUp(ctx context.Context, state repo.State) bool {
	p := &j.report.Publication
	if !j.cfg.DeleteBranch || state.Tip == "" {
		return false
	}
	if ahead, err := j.repo.Ahead(ctx); ahead || err != nil {
		return false
	}
	var found forge.Found
	if j.forge != nil { // before the branch is gone: the forge closes the pull request with it
		var err error
		if found, err = j.forge.Look(ctx, p.Branch, p.Base, p.Fork); err != nil {
			j.warned([]string{err.Error()})
			return false
		}
	}
	if err := j.repo.DeleteBranch(ctx); err != nil {
		j.couldNot("delete the branch", err)
		j.note(err.Error())
		j.out.warn(err.Error())
		return false
	}
	j.did("delete the branch", p.Branch)
	if found.Open.Number == 0 {
		return true
	}
	closed, err := j.forge.Close(ctx, found.Open)
	p.PullRequest = closed
	if err != nil {
		j.warned([]string{err.Error()})
		return true
	}
	j.did("close the pull request", fmt.Sprintf("#%d", closed.Number))
	return true
}

func (j *job) title() string {
	switch {
	case j.cfg.Title != "":
		return j.cfg.Title
	case j.decision.Title != "":
		return j.redact.Text(report.Title(ralph.Report{Task: j.decision.Title}))
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
