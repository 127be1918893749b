package run

import (
	"errors"
	"fmt"
	"time"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/logs"
	"github.com/org/ralph-action/internal/report/transcript"
)

// close ends the record and hands it to everybody: files, summary, outputs, log.
// The agent is dead by then and the workspace as it was found.
func (r *Record) close() ralph.Report {
	r.undo.workspace()
	r.ended()
	r.report.ExitCode = r.exitCode()
	r.report.Network = r.network.Refused()
	public := r.public()
	r.tasks.PostEnd(r.report)
	r.writeFiles(public)
	r.last.Finish(public, report.Headline(public), r.masked)
	r.writeRunner(public)
	r.out.Finish(public)
	return r.report
}

// ended notes how long the run took, once: comment, pull request, summary and outputs
// say the same, though they are made one after the other.
func (r *Record) ended() {
	if r.report.Duration == 0 {
		r.report.Duration = time.Since(r.started())
	}
}

// exitCode is that of the outcome so far.
func (r *Record) exitCode() int { return r.report.Outcome.ExitCode(r.ends.incompleteOK) }

const reportName = "report.json"

// writeFiles leaves the report in the run directory. What cannot be written is
// said; it does not change the outcome. Locally a run that did not start leaves that of the
// run before, which is still the last one.
func (r *Record) writeFiles(public ralph.Report) {
	r.log(logs.SessionSummary(public))
	refused := len(public.Iterations) == 0 && (!r.ends.ready || public.Outcome.Row().Kind == ralph.Misconfigured)
	if r.files == nil || refused && r.runner == nil {
		return
	}
	var kept *transcript.Kept
	if len(public.Iterations) > 0 {
		kept = &r.kept
	}
	for name, render := range map[string]func(ralph.Report) ([]byte, error){
		reportName:    report.JSON,
		"report.html": func(r ralph.Report) ([]byte, error) { return report.HTML(r, kept) },
		"summary.md":  func(r ralph.Report) ([]byte, error) { return []byte(report.Summary(r)), nil },
	} {
		data, err := render(public)
		if err == nil {
			err = r.files.WriteFile(name, r.redact.Bytes(data))
		}
		if err != nil {
			r.out.Warn(fmt.Sprintf("%s: %v", r.files.Path(name), err))
		} else if name == reportName {
			r.written = true
		}
	}
}

// writeRunner writes the job summary and the outputs.
func (r *Record) writeRunner(public ralph.Report) {
	if r.runner == nil {
		return
	}
	if !r.ends.elsewhere || r.report.ExitCode != 0 {
		if err := r.runner.Summary(r.redact.Text(report.Summary(public))); err != nil {
			r.out.Warn(err.Error())
			r.unwritten(err)
		}
	}
	path := ""
	if r.written {
		path = r.files.Path(reportName)
	}
	for _, o := range actions.Outputs(r.report, path) {
		if err := r.runner.SetOutput(o.Name, o.Value); err != nil {
			r.out.Warn(err.Error())
			r.unwritten(err)
		}
	}
}

// unwritten fails the step where later ones would take what could not be written
// for empty.
func (r *Record) unwritten(err error) {
	if !errors.Is(err, actions.ErrChanged) && r.report.ExitCode == 0 {
		r.report.ExitCode = unwrittenCode
	}
}

// unwrittenCode is the exit code of a run that is fine but for its outputs.
const unwrittenCode = 1
