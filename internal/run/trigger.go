package run

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/org/ralph-action/internal/actions/trigger"
	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/run/admission"
	"github.com/org/ralph-action/internal/run/proposal"
)

// decide finds out what the event that started the run means for it, and whether
// those who caused it may. It runs before any tokens are spent or files written.
func (p *plan) decide(ctx context.Context) error {
	if p.local() {
		return nil
	}
	o := admission.Options{
		Event: p.Event, Trigger: p.cfg.Trigger, HasTask: p.cfg.HasTask(), Admitted: p.Before.Left != nil,
		Redact: p.rec.redact.Text, Say: p.rec.out.Say, Warn: p.rec.out.Warn, Note: p.rec.note,
	}
	if p.cfg.Git.Token.IsSet() {
		o.Client = p.client
	}
	d, err := admission.Decide(ctx, o)
	var skipped *admission.SkippedError
	if errors.As(err, &skipped) {
		return &endError{ralph.Skipped, err}
	} else if err != nil {
		return invalid(err)
	}
	p.decision = d
	for _, n := range d.Notes {
		p.rec.tell(n)
	}
	if d.Prompt == "" && !p.cfg.HasTask() {
		return invalid(fmt.Errorf("the event %s has no task text: set prompt or prompt-file", p.Event.Name))
	}
	if admission.BringsTask(p.Event) {
		p.rec.out.Say(d.Why)
	}
	if err := p.fits(d); err != nil {
		return invalid(err)
	}
	p.rec.report.Task = d.Below(p.cfg.Prompt.Text)
	p.rec.report.Publication.Issue = d.Issue
	return nil
}

// fits refuses what does not go with work on somebody's pull request.
func (p *plan) fits(d trigger.Decision) error {
	if !d.Existing || p.cfg.Git.Branch != "" {
		return nil
	}
	if p.cfg.Git.PushToFork != "" {
		return fmt.Errorf("push-to-fork cannot be combined with work on pull request #%d, whose branch %s lies in the repository itself: leave it out, or give a branch", d.PullRequest, d.Branch)
	}
	if p.cfg.Git.Base != "" && p.cfg.Git.Base != d.Base {
		p.rec.tell(fmt.Sprintf("The base stays %s, that of pull request #%d: base is not looked at.", d.Base, d.PullRequest))
	}
	return nil
}

// client is the forge's API, once it is needed.
func (p *plan) client() (*forge.Client, error) {
	if p.api != nil {
		return p.api, nil
	}
	client, err := p.connect(p.site.Repository, false)
	if err == nil {
		p.api = client
	}
	return client, err
}

// connect makes a client of a repository; pushing says whether it has the token
// that pushes.
func (p *plan) connect(repository string, pushing bool) (*forge.Client, error) {
	token := p.cfg.Git.Token
	if pushing && p.cfg.Git.CIToken.IsSet() {
		token = p.cfg.Git.CIToken
	}
	return forge.New(forge.Options{
		APIURL: p.site.APIURL, ServerURL: p.site.ServerURL, GraphQLURL: p.site.GraphQLURL, Repository: repository,
		Token: token, UserAgent: "ralph-action/" + p.Version, Log: p.rec.out.Say,
	})
}

// goLive begins to keep up to date what tells of the run: the comment where it came
// from, and the pull request.
func (w *work) goLive(ctx context.Context) error {
	o := proposal.Options{Mask: w.rec.masked, Failed: func(err error) { w.rec.out.Warn(err.Error()) }}
	if w.tellsComment() {
		if _, err := w.client(); err != nil {
			return invalid(err)
		}
		o.Comment = w.writeComment
	}
	w.proposeEarly(&o)
	if o.Comment == nil && o.Propose == nil {
		return nil
	}
	w.live = proposal.New(ctx, w.rec.report, o)
	w.undo.atEnd(w.live.Cut) // a run that ends in another way
	return nil
}

// tellsComment reports whether a comment tells of the run; it does then also when the run
// is refused.
func (w *work) tellsComment() bool {
	if w.telling = w.cfg.Trigger.Comment && w.decision.CommentOn != 0 && w.pushes(); w.telling {
		w.rec.onEnd = w.tellRefusal
	}
	return w.telling
}

// tellRefusal says in the comment that the run ended before its first iteration.
func (w *work) tellRefusal(run context.Context) {
	ctx, cancel := w.publishing(run)
	defer cancel()
	w.endLive(ctx)
	w.tellEnd(ctx)
}

// endLive ends the updates: what is written from now on is the last word.
func (w *work) endLive(ctx context.Context) {
	if w.interruptedNow() {
		w.live.Cut()
	} else {
		w.live.End(ctx)
	}
}

// tellEnd says in the comment how the run ended. Below a pull request that
// somebody else described the record stands there already.
func (w *work) tellEnd(ctx context.Context) {
	if !w.telling {
		return
	}
	if err := w.writeComment(ctx, w.rec.public()); err != nil {
		w.couldNot("comment", err)
		w.rec.warn(err.Error())
		return
	}
	w.did("comment", fmt.Sprintf("on #%d", w.decision.CommentOn))
	w.rec.report.Publication.Comment = w.comment.URL
}

// writeComment writes the comment anew, by what others may see of the run.
func (w *work) writeComment(ctx context.Context, r ralph.Report) error {
	client, err := w.client()
	if err != nil {
		return err
	}
	ref, err := client.Comment(ctx, w.decision.CommentOn, forge.RecordMarker, w.rec.record(r), w.comment)
	if ref.ID != 0 {
		w.comment = ref
	}
	return err
}

// record is the record of a run as a comment.
func (r *Record) record(public ralph.Report) string {
	return r.redact.Text(report.Comment(public, forge.RecordMarker))
}

// runNumber is the id of the workflow run; 0 outside of one.
func (p *plan) runNumber() int64 {
	id, err := strconv.ParseInt(p.site.RunID, 10, 64)
	if err != nil {
		return 0
	}
	return id
}
