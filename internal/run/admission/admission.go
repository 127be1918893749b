// Package admission decides what the event that started a run means for it, and whether those who
// caused it may. Nothing was spent or written by then.
package admission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/actions/trigger"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/forge"
)

// Options are the event and what is known of it.
type Options struct {
	Event    actions.Event
	Trigger  config.Trigger
	HasTask  bool                          // a task was given besides the event's
	Admitted bool                          // the run began before, and goes on
	Client   func() (*forge.Client, error) // of the workflow's repository; nil: there is no token
	Redact   func(string) string

	Say, Warn, Note func(string)
}

// SkippedError says why there is nothing to do, which is no failure.
type SkippedError struct{ error }

// Decide asks the forge for what the event alone does not tell.
func Decide(ctx context.Context, o Options) (trigger.Decision, error) {
	d, err := trigger.Decide(o.Event, trigger.Settings{
		Command: o.Trigger.Command, Label: o.Trigger.Label, AllowBots: o.Trigger.AllowBots, Use: trigger.Use(o.Trigger.Use), HasPrompt: o.HasTask,
	})
	switch {
	case err != nil:
		return d, err
	case !d.Run:
		return d, &SkippedError{errors.New(d.Why)}
	}
	return o.complete(ctx, d)
}

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

// complete asks the forge for what a decision needs to know.
func (o *Options) complete(ctx context.Context, d trigger.Decision) (trigger.Decision, error) {
	if len(d.Check) == 0 && d.Needs == trigger.NeedsNothing {
		return d, nil
	}
	if o.Client == nil {
		return d, fmt.Errorf("%s: checking permissions needs the forge: give github-token", d.Why)
	}
	client, err := o.Client()
	if err != nil {
		return d, err
	}
	if d, err = allowed(ctx, client, d, o.Trigger.Command); err != nil {
		return d, err
	}
	if !o.Admitted {
		if err := o.stillOpen(ctx, client, d); err != nil {
			return d, err
		}
	}
	switch d.Needs {
	case trigger.NeedsPull:
		pull, err := client.Pull(ctx, d.PullRequest)
		if err != nil {
			return d, err
		}
		state := "closed"
		if pull.Open {
			state = "open"
		}
		d, err = d.WithPull(trigger.Pull{
			State: state, HeadRef: pull.HeadRef, HeadRepository: pull.HeadRepository, BaseRef: pull.BaseRef,
		})
		return d, err
	case trigger.NeedsRun:
		failed, err := client.FailedRun(ctx, d.RunID)
		if err != nil {
			o.Note("The logs of the failed workflow could not be read: " + err.Error())
			o.Warn(err.Error())
		}
		var jobs []trigger.Job
		for _, one := range failed {
			jobs = append(jobs, trigger.Job{Name: one.Name, Conclusion: one.Conclusion, Log: o.Redact(one.Tail)})
		}
		d, err = d.WithRun(jobs)
		return d, err
	}
	return d, nil
}

// stillOpen ends a run for an issue that was closed between its event and the job.
// Where the token may not read issues, the event's own word stands.
func (o *Options) stillOpen(ctx context.Context, client *forge.Client, d trigger.Decision) error {
	if d.CommentOn == 0 || d.PullRequest != 0 || o.Event.Name != "issues" && o.Event.Name != "issue_comment" {
		return nil
	}
	closed, err := client.IssueClosed(ctx, d.CommentOn)
	switch {
	case err != nil:
		o.Say("Whether the issue is still open is unknown: " + err.Error())
	case closed:
		return &SkippedError{fmt.Errorf("issue #%d was closed after the event: nothing was done. Reopen it to have ralph work on it", d.CommentOn)}
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
			return d, err
		case has.CanWrite():
		case c.Optional:
			d = d.Without(c.Login)
		case c.Asked:
			return d, &SkippedError{fmt.Errorf("%s, %s, may not write to the repository (%s): nothing is done", c.Login, c.Who, has)}
		default:
			return d, fmt.Errorf("%s, %s, may not write to the repository (%s): their text is not used as a prompt. Comment %s followed by the task", c.Login, c.Who, has, cmp.Or(command, trigger.DefaultCommand))
		}
	}
	return d, d.Refuse
}
