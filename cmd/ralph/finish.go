package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/runner"
)

// close ends the record and hands it to everybody: files, summary, outputs, log.
// The agent is dead by then and the workspace as it was found.
func (j *job) close(context.Context) ralph.Report {
	undo(&j.ends)
	j.report.Duration = time.Since(j.started)
	j.report.ExitCode = j.report.Outcome.ExitCode(j.cfg.IncompleteOK)
	j.tellNetwork()
	public := j.public()
	j.postEnd()
	j.writeFiles(public)
	j.writeRunner(public)
	j.out.finish(public)
	return j.report
}

const reportName = "report.json"

// writeFiles leaves the report in the run directory. What cannot be written is
// said; it does not change the outcome.
func (j *job) writeFiles(public ralph.Report) {
	j.log(report.SessionSummary(public))
	if j.files == nil {
		return
	}
	for name, render := range map[string]func(ralph.Report) ([]byte, error){
		reportName:    report.JSON,
		"report.html": report.HTML,
		"summary.md":  func(r ralph.Report) ([]byte, error) { return []byte(report.Summary(r)), nil },
	} {
		data, err := render(public)
		if err == nil {
			err = j.files.WriteFile(name, j.redact.Bytes(data))
		}
		if err != nil {
			j.out.warn(fmt.Sprintf("%s: %v", j.files.Path(name), err))
		} else if name == reportName {
			j.written = true
		}
	}
}

// writeRunner writes the job summary and the outputs.
func (j *job) writeRunner(public ralph.Report) {
	if j.runner == nil {
		return
	}
	if j.cfg.Summary {
		if err := j.runner.Summary(j.redact.Text(report.Summary(public))); err != nil {
			j.out.warn(err.Error())
			j.unwritten(err)
		}
	}
	for _, o := range j.outputs() {
		if err := j.runner.SetOutput(o.name, o.value); err != nil {
			j.out.warn(err.Error())
			j.unwritten(err)
		}
	}
}

// unwritten fails the step where later ones would take what could not be written
// for empty.
func (j *job) unwritten(err error) {
	if !errors.Is(err, runner.ErrChanged) && j.report.ExitCode == 0 {
		j.report.ExitCode = unwrittenCode
	}
}

// unwrittenCode is the exit code of a run that is fine but for its outputs.
const unwrittenCode = 1

type output struct{ name, value string }

// outputs are numbers, enums, shas, validated names and paths; never agent text.
func (j *job) outputs() []output {
	r, p, u := j.report, j.report.Publication, j.report.Usage()
	number := func(n int64, known bool) string {
		if !known {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	cost := ""
	if !u.Cost.Unknown {
		cost = strconv.FormatFloat(u.Cost.Amount.Dollars(), 'f', -1, 64)
	}
	proposed := p.PullRequest.Number != 0
	only := func(known bool, v string) string {
		if !known {
			return ""
		}
		return v
	}
	path := ""
	if j.written {
		path = j.files.Path(reportName)
	}
	return []output{
		{"status", string(r.Outcome)},
		{"completed", strconv.FormatBool(r.Outcome == ralph.Completed)},
		{"iterations", strconv.Itoa(r.Rounds())},
		{"cost-usd", cost},
		{"input-tokens", number(u.Tokens.In(), !u.Tokens.Unknown)},
		{"output-tokens", number(u.Tokens.Output, !u.Tokens.Unknown)},
		{"duration-seconds", strconv.Itoa(int(math.Round(r.Duration.Seconds())))},
		{"branch", p.Branch},
		{"head-sha", p.HeadSHA},
		{"pull-request-number", number(int64(p.PullRequest.Number), p.PullRequest.Number != 0)},
		{"pull-request-url", p.PullRequest.URL},
		{"pull-request-operation", string(p.PullRequest.Operation)},
		{"pull-request-head-sha", only(proposed, cmp.Or(p.HeadSHA, p.Tip))},
		{"pull-request-branch", only(proposed, p.Branch)},
		{"pull-request-commits-verified", strconv.FormatBool(p.Verified)},
		{"checks", string(p.Checks.State)},
		{"report-path", path},
	}
}
