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
	"github.com/org/ralph-action/internal/repo/publish"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/memory"
	"github.com/org/ralph-action/internal/run/proposal"
)

// pullRequest brings the pull request to what the run came to.
func (w *work) pullRequest(ctx context.Context, p *ralph.Publication, state publish.State) error {
	ahead, err := w.repo.Branch().Ahead(ctx)
	switch {
	case errors.Is(err, publish.ErrBaseGone):
		return fmt.Errorf("there is no base for a pull request: %w; the work is on %s", err, p.Branch)
	case err != nil:
		w.rec.note("The branch could not be compared with its base: " + err.Error())
	case !ahead: // the base has the same changes, or the work was undone
		if p.HeadSHA != "" && !w.cfg.PullRequest.DeleteBranch {
			w.rec.note(fmt.Sprintf("%s has no changes compared to %s: no pull request is needed. With delete-branch: true the branch would be deleted.", p.Branch, p.Base))
		}
		if p.PullRequest, err = w.open(ctx, p); err == nil {
			err = w.closeEarly(ctx, p, state)
		}
		return err
	}
	if w.onTheirs() {
		if there, err := w.stillThere(ctx, p); !there || err != nil {
			return err
		}
	}
	early, tried := w.live.PullRequest()
	if p.HeadSHA == "" && !tried {
		due, err := w.due(ctx, p, state)
		if err != nil || !due {
			return err
		}
	}
	w.whoStartsCI() // said before the body is written
	r := w.rec.report
	r.Publication.PullRequest.Draft = w.draft() // as it is about to be
	want := w.proposal(report.Redacted(r, w.rec.masked), state)
	want.Draft, want.NewDraft, want.Last, want.NewHead = w.draft(), w.cfg.PullRequest.Draft == config.DraftNew, w.last(), !w.start.Existed && !tried
	if p.HeadSHA == "" && w.rec.report.Outcome != ralph.Completed {
		want.NewDraft = true // this run added nothing: whether the work is complete was said before
	}
	done, warnings, err := w.remote.forge.Upsert(ctx, want)
	w.warned(warnings)
	switch {
	case errors.Is(err, forge.ErrNoCommits):
		if early.Operation == ralph.OperationCreated {
			w.rec.note("No other pull request is made: " + err.Error())
		}
		return nil // the base has gained the same changes, or somebody has seen them: there is nothing to propose
	case err != nil:
		return err
	}
	w.told = early.Number == done.Number
	if w.told && early.Operation == ralph.OperationCreated {
		done.Operation = early.Operation // by this run, a moment ago
	}
	p.PullRequest = done
	if done.Foreign && done.Number == w.decision.CommentOn && w.telling {
		w.telling, p.Comment = false, done.URL // the record is the comment
	}
	w.did("pull request", fmt.Sprintf("#%d %s", done.Number, done.Operation))
	w.autoMerge(ctx, p)
	return nil
}

// open is the open pull request of the branch, which is worth a link.
func (w *work) open(ctx context.Context, p *ralph.Publication) (ralph.PullRequest, error) {
	found, err := w.remote.forge.Look(ctx, p.Branch, p.Base, p.Fork)
	if found.Open.Number == 0 {
		return ralph.PullRequest{Operation: ralph.OperationNone}, err
	}
	found.Open.Operation = ralph.OperationNone
	return found.Open, err
}

// warned records what a pull request could not be given.
func (w *work) warned(warnings []string) {
	for _, text := range warnings {
		w.couldNot("pull request", errors.New(text))
		w.rec.warn(text)
	}
}

// due says whether a branch that this run added nothing to needs a pull request:
// one that an earlier run pushed, and was ended before it could make one. An open
// one is worth a link.
func (w *work) due(ctx context.Context, p *ralph.Publication, state publish.State) (bool, error) {
	found, err := w.remote.forge.Look(ctx, p.Branch, p.Base, p.Fork)
	if err != nil {
		return false, err
	}
	if found.Open.Number != 0 {
		p.PullRequest = found.Open
		p.PullRequest.Operation = ralph.OperationNone
		if w.start.Resumed && w.lastIsOurs() && found.Stale(state.Tip, w.draft()) {
			return true, nil
		}
		// A run that was killed may have left it without labels and people.
		w.warned(w.remote.forge.ApplyMetadata(ctx, found, w.proposal(w.rec.public(), state)))
		if w.start.Resumed && w.lastIsOurs() {
			w.autoMerge(ctx, p)
		}
		return false, nil
	}
	return w.start.Resumed && found.Due(state.Tip), nil
}

// lastIsOurs says that the last commit of the branch is a checkpoint of a run.
func (w *work) lastIsOurs() bool {
	return len(w.start.Messages) > 0 && len(memory.ReadHistory(w.start.Messages[:1], true).Runs) > 0
}

// proposal is the pull request as it should be, but for whether it is a draft. r is
// public. What it reads else is settled before the loop: it is called beside the run.
func (w *work) proposal(r ralph.Report, at publish.State) forge.PullRequest {
	title, about := w.title(r), w.about("", at)
	about.Title, about.Said = memory.TitleMark(title), title == memory.SaidTitle(r)
	return forge.PullRequest{
		Title: title, Head: at.Branch, Base: r.Publication.Base, HeadRepository: w.cfg.Git.PushToFork, HeadSHA: at.Tip,
		Same:   func(body string) bool { return w.onTheirs() || memory.ReadAbout(body).Base == w.start.AskedBase },
		Body:   w.body(r, about),
		Revise: func(title, body string) (string, string) { return w.revise(r, at, title, body) },
		Record: w.rec.record(r),

		MaintainerCanModify: w.cfg.PullRequest.MaintainersCanModify,
		Labels:              w.cfg.PullRequest.Labels, Assignees: w.cfg.PullRequest.Assignees, Reviewers: w.cfg.PullRequest.Reviewers, TeamReviewers: w.cfg.PullRequest.TeamReviewers, Milestone: w.cfg.PullRequest.Milestone,
	}
}

// proposeEarly has the pull request tell of the run while it goes on: the open one, else
// a draft that is made of the first push. Somebody else's is left alone, and who is to
// review is asked at the end.
func (w *work) proposeEarly(o *proposal.Options) {
	client, open := w.remote.forge, w.toBase().Open
	if client == nil || !w.pushes() || open.Foreign || w.onTheirs() && open.Number == 0 {
		return
	}
	draft, first := w.cfg.PullRequest.Draft != config.DraftNever, !w.start.Existed
	o.Pull, o.Early = open, draft || open.Number != 0
	o.Propose = func(ctx context.Context, r ralph.Report, at publish.State) (ralph.PullRequest, error) {
		want := w.proposal(r, at)
		want.Draft, want.NewDraft, want.NewHead = draft, true, first
		want.Reviewers, want.TeamReviewers = nil, nil
		first = false
		done, _, err := client.Upsert(ctx, want) // the warnings come again at the end
		if errors.Is(err, forge.ErrNoCommits) {
			return ralph.PullRequest{}, nil
		}
		if err == nil {
			w.rec.out.Say("Pull request: " + done.URL)
		}
		return done, err
	}
	o.Update = func(ctx context.Context, number int, r ralph.Report, at publish.State) error {
		return client.Update(ctx, number, w.proposal(r, at))
	}
}

// closeEarly closes the pull request that this run made and that has nothing left.
func (w *work) closeEarly(ctx context.Context, p *ralph.Publication, state publish.State) error {
	early, _ := w.live.PullRequest()
	if early.Operation != ralph.OperationCreated || early.Number != p.PullRequest.Number || p.PullRequest.Foreign {
		return nil
	}
	w.endEarly(ctx, state)
	closed, err := w.remote.forge.Close(ctx, p.PullRequest)
	if err != nil {
		return err
	}
	p.PullRequest = closed
	w.did("close the pull request", fmt.Sprintf("#%d", closed.Number))
	w.rec.note(fmt.Sprintf("Pull request #%d, which this run had opened, was closed: nothing is left of the work in it.", closed.Number))
	return nil
}

// endEarly has the pull request that tells of the run as going on tell of its end, where
// that was not written otherwise: the last push failed, or the work went to another branch.
func (w *work) endEarly(ctx context.Context, state publish.State) {
	early, written := w.live.PullRequest()
	if w.Before.Left != nil {
		early, written = w.toBase().Open, true
	}
	if !written || w.told || early.Number == 0 || early.Foreign {
		return
	}
	w.told = true
	if err := w.remote.forge.Update(ctx, early.Number, w.proposal(w.rec.public(), state)); err != nil {
		w.warned([]string{err.Error()})
	}
}

// whoStartsCI notes which workflows start for what is published.
func (w *work) whoStartsCI() {
	did := ralph.OperationCreated
	if w.start.Resumed {
		did = ralph.OperationUpdated // most probably: a branch with work has its pull request
	}
	if text := w.remote.forge.WhoStartsCI(w.remote.forge.Pusher(w.cfg.Git.CIToken), w.remote.forge.Identity(), did); text != "" {
		w.rec.note(text)
	}
}

// autoMerge asks the forge to merge a pull request that is ready. ralph itself
// never does.
func (w *work) autoMerge(ctx context.Context, p *ralph.Publication) {
	switch {
	case !w.cfg.PullRequest.AutoMerge || w.rec.report.Outcome != ralph.Completed || p.PullRequest.Draft || w.draft():
		return
	case p.PullRequest.Foreign || w.decision.Existing:
		w.rec.note(fmt.Sprintf("Auto-merge was not requested: pull request #%d belongs to somebody else.", p.PullRequest.Number))
		return
	}
	done, err := w.remote.forge.AutoMerge(ctx, p.PullRequest, strings.ToUpper(string(w.cfg.PullRequest.MergeMethod)))
	if err != nil {
		w.couldNot("auto-merge", err)
		w.rec.warn(err.Error())
		return
	}
	p.PullRequest = done
	w.did("auto-merge", "asked for")
}

// holdBack makes a pull request of ours a draft again before work on its branch
// goes on, where the forge may merge it by itself: what is half done must not be
// merged, least of all when this run dies.
func (w *work) holdBack(ctx context.Context) error {
	if !w.cfg.PullRequest.AutoMerge || !w.start.Resumed || w.remote.forge == nil || w.cfg.PullRequest.Draft == config.DraftNew {
		return nil
	}
	if err := w.remote.forge.ConvertToDraft(ctx, w.toBase()); err != nil {
		return invalid(fmt.Errorf("auto-merge could merge the pull request while work on it continues, and it could not be made a draft: %w", err))
	}
	return nil
}

// cleanUp deletes a branch that has nothing the base has not, where that is
// wanted, and closes its pull request.
func (w *work) cleanUp(ctx context.Context, state publish.State) bool {
	p := &w.rec.report.Publication
	if !w.cfg.PullRequest.DeleteBranch || state.Tip == "" || w.decision.Existing {
		return false
	}
	if ahead, err := w.repo.Branch().Ahead(ctx); ahead || err != nil {
		return false
	}
	var found forge.Found
	if w.remote.forge != nil { // before the branch is gone: the forge closes the pull request with it
		var err error
		if found, err = w.remote.forge.Look(ctx, p.Branch, p.Base, p.Fork); err != nil {
			w.warned([]string{err.Error()})
			return false
		}
	}
	if err := w.repo.Branch().DeleteBranch(ctx); err != nil {
		w.couldNot("delete the branch", err)
		w.rec.warn(err.Error())
		return false
	}
	w.did("delete the branch", p.Branch)
	p.Branch, p.HeadSHA, p.Tip, p.Pushed = "", "", "", false // nothing is to be found there any more
	if found.Open.Number == 0 {
		return true
	}
	closed, err := w.remote.forge.Close(ctx, found.Open)
	p.PullRequest = closed
	if err != nil {
		w.warned([]string{err.Error()})
		return true
	}
	w.did("close the pull request", fmt.Sprintf("#%d", closed.Number))
	return true
}

// title is the pull request's, by a record that others may see.
func (w *work) title(r ralph.Report) string {
	switch said := memory.SaidTitle(r); {
	case w.cfg.PullRequest.Title != "":
		return w.cfg.PullRequest.Title
	case said != "":
		return said
	case w.decision.Title != "":
		return w.rec.masked(memory.Title(ralph.Report{Task: w.decision.Title}))
	case w.cfg.Mode == config.ModeSupervise:
		return w.rec.masked(memory.Title(ralph.Report{Task: "task " + path.Base(filepath.ToSlash(w.cfg.Tasks.Dir))}))
	case w.cfg.Mode == config.ModePlan:
		return "ralph: plan"
	case w.cfg.Mode == config.ModeBuild:
		return "ralph: build"
	}
	return memory.Title(r)
}

// draft follows the outcome unless the user decided.
func (w *work) draft() bool {
	if w.toDecide() {
		return true
	}
	switch w.cfg.PullRequest.Draft {
	case config.DraftAlways, config.DraftNew:
		return true
	case config.DraftNever:
		return false
	}
	return w.rec.report.Outcome != ralph.Completed || w.rec.partial() || w.rec.report.Tasks.AutoApproved() > 0 && !w.cfg.Tasks.AcceptAtCap ||
		w.stories != nil && w.backlog.Doubtful()
}

// toDecide says that the work holds something a person has to decide about before
// it is merged, whatever draft says.
func (w *work) toDecide() bool {
	return slices.ContainsFunc(w.rec.report.Findings, func(f ralph.Finding) bool { return f.Severity != ralph.Flag })
}
