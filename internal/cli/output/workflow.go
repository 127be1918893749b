package output

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/logs"
	"github.com/org/ralph-action/internal/report/words"
	"github.com/org/ralph-action/internal/run"
)

// workflow prints into the log of a workflow run: one group per iteration,
// annotations for the outcome only.
type workflow struct {
	runner *actions.Runner
	format logs.Formatter
	runs   activity
	out    io.Writer // where foreign text goes
	start  time.Time
	usage  ralph.Usage
	failed bool // the problems have annotations
}

// NewActions prints into the log of a workflow run.
func NewActions(r *actions.Runner, redact *secret.Redactor, o config.Output) run.Printer {
	p := &workflow{runner: r, runs: activity{redact: redact, repeats: &logs.Repeats{}}, start: time.Now()}
	p.format = formatter(o, logs.Formatter{Repeats: p.runs.repeats})
	p.out = p.untrusted()
	p.runs.speak(p.Say)
	return p
}

func (p *workflow) Event(e ralph.Event) {
	p.runs.event(e)
	switch e.Kind {
	case ralph.EventIterationStart:
		p.group(fmt.Sprintf("%s · %s · %s", logs.StartTitle(e), time.Since(p.start).Round(time.Second), words.Cost(p.usage.Cost)))
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
		p.Say(line)
	}
}

func (p *workflow) Say(line string) {
	p.runner.Line(line)
	p.runs.shown()
}

func (p *workflow) Aside(line string)  { p.Say(line) }
func (p *workflow) Signal(line string) { p.Warn(line) }
func (p *workflow) Warn(line string)   { p.Say("⚠️ " + line) }

// Fail makes an annotation of each problem.
func (p *workflow) Fail(title, line string) {
	p.failed = true
	p.runner.Problem(title, line)
}

// Foreign is what setup commands and guardrails print.
func (p *workflow) Foreign(of string) io.WriteCloser {
	return newStream(of, &p.runs, p.untrusted(), p.Say)
}

// Display is what a display filter prints.
func (p *workflow) Display() io.WriteCloser { return p.untrusted() }

// untrusted shows foreign text.
func (p *workflow) untrusted() io.WriteCloser { return &untrusted{p.runner.Untrusted(), &p.runs} }

type untrusted struct {
	io.WriteCloser
	runs *activity
}

func (u *untrusted) Write(text []byte) (int, error) {
	u.runs.shown()
	return u.WriteCloser.Write(text)
}

func (p *workflow) group(title string) {
	p.runner.Group(title)
	p.runs.shown()
}

func (p *workflow) Section(title string) func() {
	p.group(title)
	return p.runner.EndGroup
}

func (p *workflow) Finish(r ralph.Report) {
	p.runs.silence()
	if p.failed && unstarted(r) {
		if advice := report.Advice(r); advice != "" {
			p.Say(advice)
		}
		return
	}
	if r.Outcome != ralph.Skipped && !unstarted(r) {
		p.Say("")
		for line := range strings.Lines(report.Text(r, report.Style{Emoji: p.format.Emoji})) {
			p.Say(strings.TrimSuffix(line, "\n"))
		}
	}
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
