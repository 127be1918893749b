package output

import (
	"io"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/logs"
	"github.com/org/ralph-action/internal/run"
)

// supervisor prints a dated log of attempts around what the agent prints.
type supervisor struct {
	*terminal
	log logs.Supervise
}

// NewSupervisor prints a dated log of attempts around what the agent prints.
func NewSupervisor(o Options, loop config.Loop, limits config.Limits) run.Printer {
	s := &supervisor{
		terminal: newTerminal(o),
		log:      logs.Supervise{Max: loop.MaxIterations, Timeout: limits.Iteration, Wait: limits.ChildWait, Completion: loop.Completion.Kind},
	}
	if s.tick == nil {
		s.runs.speak(s.Say)
	}
	return s
}

func (s *supervisor) Event(e ralph.Event) {
	switch e.Kind {
	case ralph.EventIterationStart, ralph.EventIterationEnd, ralph.EventResult, ralph.EventPrompt, ralph.EventNext:
		s.runs.event(e)
		s.lines(s.log.Lines(e))
	default:
		if !foreign(e.Kind) {
			s.terminal.Event(e)
			return
		}
		s.runs.event(e)
		// Indented, so that the agent cannot print what looks like our log.
		out := actions.Terminal(s.above(), s.redact)
		defer out.Close()
		for _, line := range s.format.Lines(e) {
			_, _ = io.WriteString(out, line+"\n")
		}
	}
}

func (s *supervisor) Say(line string)    { s.terminal.Say(stamped(line)) }
func (s *supervisor) Signal(line string) { s.Warn(line) } // part of its log
func (s *supervisor) Warn(line string)   { s.terminal.Warn(stamped(line)) }

func stamped(line string) string { return time.Now().Format("[2006-01-02 15:04:05] ") + line }

func (s *supervisor) Finish(r ralph.Report) {
	s.lines(s.log.Ending(r))
	s.terminal.Finish(r)
}

func (s *supervisor) lines(lines []string) {
	if len(lines) > 0 {
		s.words("", strings.Join(lines, "\n"))
	}
}
