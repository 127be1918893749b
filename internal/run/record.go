package run

import (
	"context"
	"io"
	"time"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/config/problem"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/transcript"
	"github.com/org/ralph-action/internal/run/lastrun"
	"github.com/org/ralph-action/internal/run/network"
	"github.com/org/ralph-action/internal/run/rundir"
	"github.com/org/ralph-action/internal/run/supervised"
)

// Record is what a run tells: while it goes on, to the printer and the session
// log; at its end, as a report. It is the one thing that all stages write to.
type Record struct {
	report  ralph.Report
	out     Printer
	redact  *secret.Redactor
	mask    func(string) string // blots out what looks like a secret, too
	runner  *actions.Runner     // nil if the run was started locally
	undo    *cleanup
	files   *rundir.Dir               // nil until the workspace is open
	session *sessionLog               // nil until the workspace is open
	kept    transcript.Kept           // of the agent, for the page
	tasks   *supervised.Folder        // nil without one
	network *network.Network          // nil: open
	onEnd   func(run context.Context) // tells the comment how it ended; nil without one
	written bool                      // report.json lies in the run directory
	last    *lastrun.Recorder         // nil: nobody asks for the run

	ends struct {
		incompleteOK bool // a run that is not completed exits with 0
		ready        bool // all was there that the run needs to begin
		elsewhere    bool // a lane, of which the job that integrates tells: no summary, unless it failed
	}
}

func newRecord(in *Input, undo *cleanup) *Record {
	r := &Record{
		report: ralph.Report{
			Version: in.Version, Started: time.Now(), Repository: in.Site.Repository, Actor: in.Site.Actor,
			Resumed: in.Before.Resumed, Before: in.Before.Cost,
			Publication: ralph.Publication{ServerURL: in.Site.ServerURL, PullRequest: ralph.PullRequest{Operation: ralph.OperationNone}},
		},
		out: in.Output, redact: in.Redactor, mask: in.Redactor.Text, runner: in.Runner, undo: undo,
	}
	if r.runner != nil {
		r.report.RunURL = r.runner.RunURL()
	}
	r.kept.Mask = r.masked
	r.configured(in.Config)
	return r
}

// configured takes over what the configuration says of the run.
func (r *Record) configured(cfg config.Config) {
	r.report.Mode, r.report.Task, r.report.Agent, r.report.Model = cfg.Mode, cfg.Prompt.Text, cfg.Agent.Name, cfg.Agent.Model
	r.report.MaxIterations, r.report.Isolation, r.report.Publication.Base = cfg.Loop.MaxIterations, string(cfg.Sandbox.Isolation), cfg.Git.Base
	r.report.MaxDuration, r.ends.incompleteOK, r.ends.elsewhere = cfg.Limits.Duration, cfg.Loop.IncompleteOK, cfg.Tasks.Lane.Bundle
}

// started is when the run began.
func (r *Record) started() time.Time { return r.report.Started }

// note keeps what a user should know, once and as it was said last.
func (r *Record) note(text string) {
	for i, said := range r.report.Notes {
		if said == text || ralph.Renews(text, said) {
			r.report.Notes[i] = text
			return
		}
	}
	r.report.Notes = append(r.report.Notes, text)
}

// tell notes a text and shows it.
func (r *Record) tell(text string) {
	r.note(text)
	r.out.Say(text)
}

// warn notes a text and shows it as a warning.
func (r *Record) warn(text string) {
	r.note(text)
	r.out.Warn(text)
}

// log writes lines of ours into the session log, where they begin on a line of
// their own. A full disk must not end the run.
func (r *Record) log(text string) {
	if r.session == nil {
		return
	}
	if r.session.midLine() {
		text = "\n" + text
	}
	_, _ = io.WriteString(r.session, r.redact.Text(text))
}

// masked is a text for others: secrets of the run are blotted out, and so is what
// looks like one of a known kind.
func (r *Record) masked(text string) string { return r.mask(r.redact.Text(text)) }

// public is the report as others may see it. Secrets are taken out before
// anything is rendered: escaped text hides them from a redactor.
func (r *Record) public() ralph.Report { return report.Redacted(r.report, r.masked) }

// refused shows why a run ends before its loop. run ends when it is to stop.
func (r *Record) refused(run context.Context, err error) {
	if r.runner != nil && r.report.Outcome.Row().Kind == ralph.Misconfigured { // else the last word says it
		title := report.Headline(r.report)
		for _, line := range problem.Lines(err) {
			r.out.Fail(title, line)
		}
	}
	if r.onEnd != nil {
		r.onEnd(run)
	}
}
