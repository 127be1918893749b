package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/actions/trigger"
	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/run/proposal"
)

// BringsTask says that an event may bring a task, or that anybody can cause it, so
// that no prompt is needed.
func BringsTask(e actions.Event) bool {
	switch e.Name {
	case "issues", "issue_comment", "pull_request", "pull_request_target", "workflow_run":
		return true
	case "workflow_dispatch":
		return strings.TrimSpace(e.Inputs["prompt"]) != ""
	case "repository_dispatch":
		return strings.TrimSpace(e.ClientPrompt) != ""
	}
	return trigger.Anybodys(e.Name)
}

// decide finds out what the event that started the run means for it, and whether
// those who caused it may. It runs before any tokens are spent or files written.
func (p *plan) decide(ctx context.Context) error {
	if p.local() {
		return nil
	}
	t := p.cfg.Trigger
	d, err := trigger.Decide(p.Event, trigger.Settings{
		Command: t.Command, Label: t.Label, AllowBots: t.AllowBots, Use: trigger.Use(t.Use),
		HasPrompt: p.cfg.HasTask(),
	})
	switch {
	case err != nil:
		return invalid(err)
	case !d.Run:
		return &endError{ralph.Skipped, errors.New(d.Why)}
	}
	if d, err = p.complete(ctx, d); err != nil {
		return err
	}
	p.decision = d
	for _, n := range d.Notes {
		p.rec.tell(n)
	}
	if d.Prompt == "" && !p.cfg.HasTask() {
		return invalid(fmt.Errorf("the event %s has no task text: set prompt or prompt-file", p.Event.Name))
	}
	if BringsTask(p.Event) {
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
		n := fmt.Sprintf("The base stays %s, that of pull request #%d: base is not looked at.", d.Base, d.PullRequest)
		p.rec.tell(n)
	}
	return nil
}

// complete asks the forge for what a decision needs to know.
func (p *plan) complete(ctx context.Context, d trigger.Decision) (trigger.Decision, error) {
	if len(d.Check) == 0 && d.Needs == trigger.NeedsNothing {
		return d, nil
	}
	if !p.cfg.Git.Token.IsSet() {
		return d, invalid(fmt.Errorf("%s: checking permissions needs the forge: give github-token", d.Why))
	}
	client, err := p.client()
	if err != nil {
		return d, invalid(err)
	}
	if d, err = allowed(ctx, client, d, p.cfg.Trigger.Command); err != nil {
		return d, err
	}
	if p.Before.Left == nil {
		if err := p.stillOpen(ctx, client, d); err != nil {
			return d, err
		}
	}
	switch d.Needs {
	case trigger.NeedsPull:
		pull, err := client.Pull(ctx, d.PullRequest)
		if err != nil {
			return d, invalid(err)
		}
		state := "closed"
		if pull.Open {
			state = "open"
		}
		d, err = d.WithPull(trigger.Pull{
			State: state, HeadRef: pull.HeadRef, HeadSHA: pull.HeadSHA, HeadRepository: pull.HeadRepository, BaseRef: pull.BaseRef,
		})
		return d, invalid(err)
	case trigger.NeedsRun:
		run, err := client.FailedRun(ctx, d.RunID)
		if err != nil {
			p.rec.note("The logs of the failed workflow could not be read: " + err.Error())
			p.rec.out.Warn(err.Error())
		}
		var jobs []trigger.Job
		for _, one := range run.Jobs {
			jobs = append(jobs, trigger.Job{Name: one.Name, Conclusion: one.Conclusion, Log: p.rec.redact.Text(one.Tail)})
		}
		d, err = d.WithRun(jobs)
		return d, invalid(err)
	}
	return d, nil
}

// stillOpen ends a run for an issue that was closed between its event and the job.
// Where the token may not read issues, the event's own word stands.
func (p *plan) stillOpen(ctx context.Context, client *forge.Client, d trigger.Decision) error {
	if d.CommentOn == 0 || d.PullRequest != 0 || p.Event.Name != "issues" && p.Event.Name != "issue_comment" {
		return nil
	}
	closed, err := client.IssueClosed(ctx, d.CommentOn)
	switch {
	case err != nil:
		p.rec.out.Say("Whether the issue is still open is unknown: " + err.Error())
	case closed:
		return &endError{ralph.Skipped, fmt.Errorf("issue #%d was closed after the event: nothing was done. Reopen it to have ralph work on it", d.CommentOn)}
	}
	return nil
}

// allowed asks whether those who caused the run, and those whose words it uses,
// may write to the repository. Who may not and asked for the run is no failure of
// the repository's: strangers could turn its runs red otherwise.
func allowed(ctx context.Context, client *forge.Client, d trigger.Decision, command string) (trigger.Decision, error) {
	for _, c := range d.Check {
		has, err := client.Permission(ctx, c.Login)
		switch {
		case err != nil:
			return d, invalid(err)
		case has.CanWrite():
		case c.Optional:
			d = d.Without(c.Login)
		case c.Asked:
			return d, &endError{ralph.Skipped, fmt.Errorf("%s, %s, may not write to the repository (%s): nothing is done", c.Login, c.Who, has)}
		default:
			return d, invalid(fmt.Errorf("%s, %s, may not write to the repository (%s): their text is not used as a prompt. Comment %s followed by the task", c.Login, c.Who, has, cmp.Or(command, trigger.DefaultCommand)))
		}
	}
	return d, invalid(d.Refuse)
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
		client, err := w.client()
		if err != nil {
			return invalid(err)
		}
		o.Comment = func(ctx context.Context, r ralph.Report) error {
			text := w.rec.redact.Text(report.Comment(r, forge.RecordMarker))
			ref, err := client.Comment(ctx, w.decision.CommentOn, forge.RecordMarker, text, w.comment)
			if ref.ID != 0 {
				w.comment = ref
			}
			return err
		}
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
	client, err := w.client()
	if err != nil {
		w.rec.warn(err.Error()) // it was made before
		return
	}
	text := w.rec.redact.Text(report.Comment(w.rec.public(), forge.RecordMarker))
	ref, err := client.Comment(ctx, w.decision.CommentOn, forge.RecordMarker, text, w.comment)
	if err != nil {
		w.couldNot("comment", err)
		w.rec.warn(err.Error())
		return
	}
	w.did("comment", fmt.Sprintf("on #%d", w.decision.CommentOn))
	w.rec.report.Publication.Comment = ref.URL
}

// runNumber is the id of the workflow run; 0 outside of one.
func (p *plan) runNumber() int64 {
	id, err := strconv.ParseInt(p.site.RunID, 10, 64)
	if err != nil {
		return 0
	}
	return id
}
