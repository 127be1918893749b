package run

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/memory"
)

// pullRequest brings the pull request to what the run came to.
func (j *work) pullRequest(ctx context.Context, p *ralph.Publication, state repo.State) error {
	ahead, err := j.repo.Ahead(ctx)
	switch {
	case errors.Is(err, repo.ErrBaseGone):
		return fmt.Errorf("there is nothing to make a pull request against: %w; the work is on %s", err, p.Branch)
	case err != nil:
		j.rec.note("The branch could not be compared with its base: " + err.Error())
	case !ahead: // the base has the same changes, or the work was undone
		if p.HeadSHA != "" && !j.cfg.DeleteBranch {
			j.rec.note(fmt.Sprintf("%s has nothing that %s lacks: there is nothing to propose. With delete-branch: true it would be deleted.", p.Branch, p.Base))
		}
		p.PullRequest, err = j.open(ctx, p)
		return err
	}
	if j.onTheirs() {
		if there, err := j.stillThere(ctx, p); !there || err != nil {
			return err
		}
	}
	if p.HeadSHA == "" && !j.proposed {
		due, err := j.due(ctx, p, state)
		if err != nil || !due {
			return err
		}
	}
	j.whoStartsCI() // said before the body is written
	created := j.rec.report.Publication.PullRequest.Operation
	want := j.proposal(j.rec.report, p.Branch)
	if p.HeadSHA == "" && j.rec.report.Outcome != ralph.Completed {
		want.NewDraft = true // this run added nothing: whether the work is complete was said before
	}
	done, warnings, err := j.remote.forge.Upsert(ctx, want)
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
		j.telling.end(ctx) // the record is the comment
		j.telling, p.Comment = nil, done.URL
	}
	j.did("pull request", fmt.Sprintf("#%d %s", done.Number, done.Operation))
	j.autoMerge(ctx, p)
	return nil
}

// open is the open pull request of the branch, which is worth a link.
func (j *work) open(ctx context.Context, p *ralph.Publication) (ralph.PullRequest, error) {
	found, err := j.remote.forge.Look(ctx, p.Branch, p.Base, p.Fork)
	if found.Open.Number == 0 {
		return ralph.PullRequest{Operation: ralph.OperationNone}, err
	}
	found.Open.Operation = ralph.OperationNone
	return found.Open, err
}

// warned records what a pull request could not be given.
func (j *work) warned(warnings []string) {
	for _, w := range warnings {
		j.couldNot("pull request", errors.New(w))
		j.rec.warn(w)
	}
}

// due says whether a branch that this run added nothing to needs a pull request:
// one that an earlier run pushed, and was ended before it could make one. An open
// one is worth a link.
func (j *work) due(ctx context.Context, p *ralph.Publication, state repo.State) (bool, error) {
	found, err := j.remote.forge.Look(ctx, p.Branch, p.Base, p.Fork)
	if err != nil {
		return false, err
	}
	if found.Open.Number != 0 {
		p.PullRequest = found.Open
		p.PullRequest.Operation = ralph.OperationNone
		if j.start.Resumed && j.lastIsOurs() && found.Stale(state.Tip, j.draft()) {
			return true, nil
		}
		// A run that was killed may have left it without labels and people.
		j.warned(j.remote.forge.Complete(ctx, found, j.proposal(j.rec.report, p.Branch)))
		if j.start.Resumed && j.lastIsOurs() {
			j.autoMerge(ctx, p)
		}
		return false, nil
	}
	return j.start.Resumed && found.Due(state.Tip), nil
}

// lastIsOurs says that the last commit of the branch is a checkpoint of a run.
func (j *work) lastIsOurs() bool {
	return len(j.start.Messages) > 0 && len(memory.ReadHistory(j.start.Messages[:1], true).Runs) > 0
}

// proposal is the pull request as it should be.
func (j *work) proposal(r ralph.Report, branch string) forge.PullRequest {
	r.Publication.PullRequest.Draft = j.draft() // as it is about to be
	public := report.Redacted(r, j.rec.masked)
	title, about := j.title(), j.about("")
	about.Title = memory.TitleMark(title)
	return forge.PullRequest{
		Title: title, Head: branch, Base: r.Publication.Base, HeadRepository: j.cfg.PushToFork,
		HeadSHA: j.repo.State().Tip, Last: j.last(), NewHead: !j.start.Existed && !j.proposed,
		Same:   func(body string) bool { return j.onTheirs() || memory.ReadAbout(body).Base == j.start.AskedBase },
		Body:   j.body(public, about),
		Revise: func(title, body string) (string, string) { return j.revise(public, title, body) },
		Record: j.rec.redact.Text(report.Comment(public, report.CommentOptions{Marker: forge.RecordMarker})),
		Draft:  j.draft(), NewDraft: j.cfg.Draft == config.DraftNew, MaintainerCanModify: j.cfg.MaintainersCanModify,
		Labels: j.cfg.Labels, Assignees: j.cfg.Assignees, Reviewers: j.cfg.Reviewers, TeamReviewers: j.cfg.TeamReviewers, Milestone: j.cfg.Milestone,
	}
}

// whoStartsCI notes which workflows start for what is published.
func (j *work) whoStartsCI() {
	did := ralph.OperationCreated
	if j.start.Resumed {
		did = ralph.OperationUpdated // most probably: a branch with work has its pull request
	}
	if text := j.remote.forge.WhoStartsCI(j.remote.forge.Pusher(j.cfg.CIToken), j.remote.forge.Identity(), did); text != "" {
		j.rec.note(text)
	}
}

// autoMerge asks the forge to merge a pull request that is ready. ralph itself
// never does.
func (j *work) autoMerge(ctx context.Context, p *ralph.Publication) {
	switch {
	case !j.cfg.AutoMerge || j.rec.report.Outcome != ralph.Completed || p.PullRequest.Draft || j.draft():
		return
	case p.PullRequest.Foreign || j.decision.Existing:
		j.rec.note(fmt.Sprintf("Auto-merge was not asked for: pull request #%d is somebody else's.", p.PullRequest.Number))
		return
	}
	done, err := j.remote.forge.AutoMerge(ctx, p.PullRequest, strings.ToUpper(string(j.cfg.MergeMethod)))
	if err != nil {
		j.couldNot("auto-merge", err)
		j.rec.warn(err.Error())
		return
	}
	p.PullRequest = done
	j.did("auto-merge", "asked for")
}

// holdBack makes a pull request of ours a draft again before work on its branch
// goes on, where the forge may merge it by itself: what is half done must not be
// merged, least of all when this run dies.
func (j *work) holdBack(ctx context.Context) error {
	if !j.cfg.AutoMerge || !j.start.Resumed || j.remote.forge == nil || j.cfg.Draft == config.DraftNew {
		return nil
	}
	if err := j.remote.forge.Hold(ctx, j.pulls.To(j.start.Base)); err != nil {
		return invalid(fmt.Errorf("the pull request may be merged by itself while work on it goes on, and could not be made a draft: %w", err))
	}
	return nil
}

// cleanUp deletes a branch that has nothing the base has not, where that is
// wanted, and closes its pull request.
func (j *work) cleanUp(ctx context.Context, state repo.State) bool {
	p := &j.rec.report.Publication
	if !j.cfg.DeleteBranch || state.Tip == "" || j.decision.Existing {
		return false
	}
	if ahead, err := j.repo.Ahead(ctx); ahead || err != nil {
		return false
	}
	var found forge.Found
	if j.remote.forge != nil { // before the branch is gone: the forge closes the pull request with it
		var err error
		if found, err = j.remote.forge.Look(ctx, p.Branch, p.Base, p.Fork); err != nil {
			j.warned([]string{err.Error()})
			return false
		}
	}
	if err := j.repo.DeleteBranch(ctx); err != nil {
		j.couldNot("delete the branch", err)
		j.rec.warn(err.Error())
		return false
	}
	j.did("delete the branch", p.Branch)
	if found.Open.Number == 0 {
		return true
	}
	closed, err := j.remote.forge.Close(ctx, found.Open)
	p.PullRequest = closed
	if err != nil {
		j.warned([]string{err.Error()})
		return true
	}
	j.did("close the pull request", fmt.Sprintf("#%d", closed.Number))
	return true
}

func (j *work) title() string {
	switch {
	case j.cfg.Title != "":
		return j.cfg.Title
	case j.decision.Title != "":
		return j.rec.masked(memory.Title(ralph.Report{Task: j.decision.Title}))
	case j.cfg.Mode == config.ModeSupervise:
		return j.rec.masked(memory.Title(ralph.Report{Task: "task " + path.Base(filepath.ToSlash(j.cfg.TaskDir))}))
	case j.cfg.Mode == config.ModePlan:
		return "ralph: plan"
	case j.cfg.Mode == config.ModeBuild:
		return "ralph: build"
	}
	return j.rec.masked(memory.Title(j.rec.public()))
}

// draft follows the outcome unless the user decided.
func (j *work) draft() bool {
	if j.toDecide() {
		return true
	}
	switch j.cfg.Draft {
	case config.DraftAlways, config.DraftNew:
		return true
	case config.DraftNever:
		return false
	}
	return j.rec.report.Outcome != ralph.Completed || j.rec.report.Tasks.AutoApproved() > 0 && !j.cfg.AcceptAtCap ||
		j.stories != nil && (j.backlog.artifacts || j.backlog.behind)
}

// toDecide says that the work holds something a person has to decide about before
// it is merged, whatever draft says.
func (j *work) toDecide() bool {
	return slices.ContainsFunc(j.rec.report.Findings, func(f ralph.Finding) bool { return f.Severity != ralph.Flag })
}
