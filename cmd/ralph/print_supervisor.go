package main

import (
	"strings"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/secret"
)

// supervisor prints a dated log of attempts around what the agent prints.
type supervisor struct {
	*terminal
	log report.Supervise
}

func (a *app) newSupervisor(redact *secret.Redactor, cfg config.Config) *supervisor {
	return &supervisor{
		terminal: a.newTerminal(redact, a.stdout, cfg),
		log:      report.Supervise{Max: cfg.MaxIterations, Timeout: cfg.IterationTimeout, Completion: cfg.Completion.Kind},
	}
}

func (s *supervisor) event(e ralph.Event) {
	switch e.Kind {
	case ralph.EventIterationStart, ralph.EventIterationEnd, ralph.EventResult, ralph.EventPrompt:
		s.lines(s.log.Lines(e))
	default:
		s.terminal.event(e)
	}
}

func (s *supervisor) say(line string)  { s.terminal.say(stamped(line)) }
func (s *supervisor) warn(line string) { s.terminal.warn(stamped(line)) }

func stamped(line string) string { return time.Now().Format("[2006-01-02 15:04:05] ") + line }

func (s *supervisor) finish(r ralph.Report) {
	s.lines(s.log.Ending(r))
	s.terminal.finish(r)
}

func (s *supervisor) lines(lines []string) {
	if len(lines) > 0 {
		s.words("", strings.Join(lines, "\n"))
	}
}
