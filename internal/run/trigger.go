package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/runner"
	"github.com/org/ralph-action/internal/trigger"
)

// BringsTask says that an event may bring a task, or that anybody can cause it, so
// that no prompt is needed.
func BringsTask(e runner.Event) bool {
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
// those who caused it may. Nothing has been spent by then, nor written.
func (j *plan) decide(ctx context.Context) error {
	if j.local() {
		return nil
	}
	t := j.cfg.Trigger
	d, err := trigger.Decide(j.Event, trigger.Settings{
		Command: t.Command, Label: t.Label, AllowBots: t.AllowBots, Use: trigger.Use(t.Use),
		HasPrompt: j.cfg.HasTask(),
	})
	switch {
	case err != nil:
		return invalid(err)
	case !d.Run:
		return &endError{ralph.Skipped, errors.New(d.Why)}
	}
	if d, err = j.complete(ctx, d); err != nil {
		return err
	}
	j.decision = d
	for _, n := range d.Notes {
		j.rec.tell(n)
	}
	if d.Prompt == "" && !j.cfg.HasTask() {
		return invalid(fmt.Errorf("the event %s brings no task: give prompt or prompt-file", j.Event.Name))
	}
	if BringsTask(j.Event) {
		j.rec.out.Say(d.Why)
	}
	if err := j.fits(d); err != nil {
		return invalid(err)
	}
	j.rec.report.Task = d.Below(j.cfg.Prompt)
	j.rec.report.Publication.Issue = d.Issue
	return nil
}

// fits refuses what does not go with work on somebody's pull request.
func (j *plan) fits(d trigger.Decision) error {
	if !d.Existing || j.cfg.Branch != "" {
		return nil
	}
	if j.cfg.PushToFork != "" {
		return fmt.Errorf("push-to-fork does not go with work on pull request #%d, whose branch %s lies in the repository itself: leave it out, or give a branch", d.PullRequest, d.Branch)
	}
	if j.cfg.Base != "" && j.cfg.Base != d.Base {
		n := fmt.Sprintf("The base stays %s, that of pull request #%d: base is not looked at.", d.Base, d.PullRequest)
		j.rec.tell(n)
	}
	return nil
}

// complete asks the forge for what a decision needs to know.
func (j *plan) complete(ctx context.Context, d trigger.Decision) (trigger.Decision, error) {
	if len(d.Check) == 0 && d.Needs == trigger.NeedsNothing {
		return d, nil
	}
	if !j.cfg.Token.IsSet() {
		return d, invalid(fmt.Errorf("%s: whether that is allowed has to be asked of the forge: give github-token", d.Why))
	}
	client, err := j.client()
	if err != nil {
		return d, invalid(err)
	}
	if d, err = allowed(ctx, client, d, j.cfg.Trigger.Command); err != nil {
		return d, err
	}
	if err := j.stillOpen(ctx, client, d); err != nil {
		return d, err
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
			j.rec.note("The logs of the failed workflow could not be read: " + err.Error())
			j.rec.out.Warn(err.Error())
		}
		var jobs []trigger.Job
		for _, one := range run.Jobs {
			jobs = append(jobs, trigger.Job{Name: one.Name, Conclusion: one.Conclusion, Log: j.rec.redact.Text(one.Tail)})
		}
		d, err = d.WithRun(jobs)
		return d, invalid(err)
	}
	return d, nil
}

// stillOpen ends a run for an issue that was closed between its event and the job.
// Where the token may not read issues, the event's own word stands.
func (j *plan) stillOpen(ctx context.Context, client *forge.Client, d trigger.Decision) error {
	if d.CommentOn == 0 || d.PullRequest != 0 || j.Event.Name != "issues" && j.Event.Name != "issue_comment" {
		return nil
	}
	closed, err := client.IssueClosed(ctx, d.CommentOn)
	switch {
	case err != nil:
		j.rec.out.Say("Whether the issue is still open is unknown: " + err.Error())
	case closed:
		return &endError{ralph.Skipped, fmt.Errorf("issue #%d was closed after the event: nothing is done. Open it again before ralph works on it", d.CommentOn)}
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
			return d, invalid(fmt.Errorf("%s, %s, may not write to the repository (%s): their words do not become a prompt. Comment %s and say what is to be done", c.Login, c.Who, has, cmp.Or(command, trigger.DefaultCommand)))
		}
	}
	return d, invalid(d.Refuse)
}

// client is the forge's API, once it is needed.
func (j *plan) client() (*forge.Client, error) {
	if j.api != nil {
		return j.api, nil
	}
	client, err := j.connect(j.site.Repository, false)
	if err == nil {
		j.api = client
	}
	return client, err
}

// connect makes a client of a repository; pushing says whether it has the token
// that pushes.
func (j *plan) connect(repository string, pushing bool) (*forge.Client, error) {
	token := j.cfg.Token
	if pushing && j.cfg.CIToken.IsSet() {
		token = j.cfg.CIToken
	}
	return forge.New(forge.Options{
		APIURL: j.site.APIURL, ServerURL: j.site.ServerURL, GraphQLURL: j.site.GraphQLURL, Repository: repository,
		Token: token, UserAgent: "ralph-action/" + j.Version, Log: j.rec.out.Say,
	})
}

// tellAbout begins to keep the comment up to date that tells of the run where it
// came from.
func (j *work) tellAbout(ctx context.Context) error {
	if !j.cfg.Trigger.Comment || j.decision.CommentOn == 0 || !j.pushes() {
		return nil
	}
	client, err := j.client()
	if err != nil {
		return invalid(err)
	}
	j.telling = tell(ctx, func(ctx context.Context, text string) error {
		ref, err := client.Comment(ctx, j.decision.CommentOn, forge.RecordMarker, text, j.comment)
		if ref.ID != 0 {
			j.comment = ref
		}
		return err
	}, func(err error) { j.rec.out.Warn(err.Error()) })
	j.undo.atEnd(j.telling.cut) // a run that ends in another way
	j.rec.onEnd = j.tellRefusal
	j.telling.say(j.progress(0))
	return nil
}

// progress is what the comment says while the run goes on.
func (j *work) progress(iteration int) string {
	r := j.rec.report
	r.Iterations = j.seen
	r.Duration = time.Since(j.rec.started())
	return j.rec.redact.Text(report.Comment(report.Redacted(r, j.rec.masked), report.CommentOptions{Marker: forge.RecordMarker, Iteration: iteration}))
}

// tellRefusal says in the comment that the run ended before its first iteration.
func (j *work) tellRefusal(run context.Context) {
	if j.telling == nil {
		return
	}
	ctx, cancel := j.publishing(run)
	defer cancel()
	j.tellEnd(ctx)
}

// tellEnd says in the comment how the run ended. Below a pull request that
// somebody else described the record stands there already.
func (j *work) tellEnd(ctx context.Context) {
	if j.telling == nil {
		return
	}
	if j.interruptedNow() {
		j.telling.cut()
	} else {
		j.telling.end(ctx)
	}
	client, err := j.client()
	if err != nil {
		j.rec.warn(err.Error()) // it was made before
		return
	}
	text := j.rec.redact.Text(report.Comment(j.rec.public(), report.CommentOptions{Marker: forge.RecordMarker}))
	ref, err := client.Comment(ctx, j.decision.CommentOn, forge.RecordMarker, text, j.comment)
	if err != nil {
		j.couldNot("comment", err)
		j.rec.warn(err.Error())
		return
	}
	j.did("comment", fmt.Sprintf("on #%d", j.decision.CommentOn))
	j.rec.report.Publication.Comment = ref.URL
}

// runNumber is the id of the workflow run; 0 outside of one.
func (j *plan) runNumber() int64 {
	id, err := strconv.ParseInt(j.site.RunID, 10, 64)
	if err != nil {
		return 0
	}
	return id
}
