package output

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/logs"
)

// workflow prints into the log of a workflow run: one group per iteration,
// annotations for the outcome only.
type workflow struct {
	runner *actions.Runner
	format logs.Formatter
	out    io.Writer // where foreign text goes
	start  time.Time
	usage  ralph.Usage
}

// NewActions prints into the log of a workflow run.
func NewActions(r *actions.Runner, o config.Output) *workflow {
	return &workflow{runner: r, out: r.Guest(), start: time.Now(), format: formatter(o, logs.Formatter{})}
}

func (p *workflow) Event(e ralph.Event) {
	switch e.Kind {
	case ralph.EventIterationStart:
		p.runner.Group(fmt.Sprintf("%s · %s · %s", logs.StartTitle(e), time.Since(p.start).Round(time.Second), p.usage.Cost))
		return
	case ralph.EventIterationEnd:
		p.runner.EndGroup()
	case ralph.EventResult:
		if e.Turn != nil {
			p.usage = p.usage.Add(e.Turn.Usage)
		}
	}
	lines := p.format.Lines(shown(e))
	if foreign(e.Kind) && len(lines) > 0 {
		_, _ = io.WriteString(p.out, strings.Join(lines, "\n")+"\n")
		return
	}
	for _, line := range lines {
		p.runner.Line(line)
	}
}

func (p *workflow) Aside(line string)       { p.runner.Line(line) }
func (p *workflow) Signal(line string)      { p.Warn(line) }
func (p *workflow) Say(line string)         { p.runner.Line(line) }
func (p *workflow) Warn(line string)        { p.runner.Line("⚠️ " + line) }
func (p *workflow) Fail(line string)        { p.runner.Line("❌ " + line) }
func (p *workflow) Foreign() io.WriteCloser { return p.runner.Guest() }

func (p *workflow) Display() io.WriteCloser { return p.runner.Guest() }

func (p *workflow) Section(title string) func() {
	p.runner.Group(title)
	return p.runner.EndGroup
}

func (p *workflow) Finish(r ralph.Report) {
	title, text := report.Headline(r), report.Announcement(r)
	switch {
	case r.Outcome == ralph.Completed && len(r.Publication.Errors) == 0 && len(ralph.OfSeverity(r.Findings, ralph.LeftOut)) == 0, r.Outcome == ralph.Skipped:
		p.runner.Notice(title, text)
	case r.ExitCode == 0:
		p.runner.Warning(title, text)
	default:
		p.runner.Error(title, text)
	}
}
