package logs

import (
	"fmt"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/words"
)

// Supervise renders events as the log of the restart manager, each line with
// the time of its event before it. That the agent is restarted is told when it
// is certain, before the delay. Use one Supervise per run, from one goroutine.
type Supervise struct {
	Max     int           // attempts; 0: no limit
	Timeout time.Duration // of one attempt; 0: unknown
	Wait    time.Duration // for children of an agent that is done; 0: unknown
	// Completion is how the agent says that it is done; empty: by the file DONE.
	Completion ralph.CompletionKind

	asking  bool // the agent is asked for a commit message: that is no attempt
	attempt int
	last    *ralph.Turn // of the attempt, until it is told what follows
}

// Lines renders an event; nothing when it is no news of an attempt.
func (s *Supervise) Lines(e ralph.Event) []string {
	var lines []string
	switch e.Kind {
	case ralph.EventNext:
		lines = s.restart(e.Iteration)
	case ralph.EventIterationStart:
		lines = append(s.restart(e.Iteration), "Starting agent "+s.of(e.Iteration))
		s.attempt = e.Iteration
	case ralph.EventPrompt:
		s.asking = e.Attempt == 0
	case ralph.EventResult:
		if e.Turn != nil && !s.asking {
			lines = s.turn(e.Turn)
		}
	case ralph.EventRetry:
		lines = s.restart(s.attempt)
		if e.Wait >= longWait {
			lines = append(lines, retryWords(e, words.Span)+": "+doc.OneLine(e.Text, 500))
		}
	case ralph.EventIterationEnd:
		if e.Record != nil && e.Record.Marker && !e.Record.Passed() {
			lines = append(lines, "DONE is taken back: guardrails failed")
		}
		if s.Max > 0 && e.Iteration >= s.Max {
			lines = append(lines, s.gaveUp()...)
		}
	}
	return dated(e.At, lines)
}

// Ending tells how the run ended.
func (s *Supervise) Ending(r ralph.Report) []string {
	reason := doc.OneLine(r.Reason, 1000)
	lines := s.gaveUp()
	switch r.Outcome {
	case ralph.Completed:
		lines = append(lines, s.completed(r))
	case ralph.Waiting:
		lines = append(lines, "Wait-without-restart signal detected", "Run status: stopped")
	case ralph.MaxIterations:
		lines = append(lines, fmt.Sprintf("Attempt %d: Max restarts exceeded, stopping", max(len(r.Iterations), s.attempt)))
	case ralph.Interrupted:
		lines = append(lines, "Interrupted: "+reason)
	default:
		if r.Outcome.Row().Kind == ralph.Misconfigured {
			lines = append(lines, "Fatal error: "+reason)
			break
		}
		lines = append(lines, fmt.Sprintf("Stopped (%s): %s", doc.OneLine(string(r.Outcome), 40), reason))
	}
	return dated(r.Started.Add(r.Duration), lines)
}

// completed tells how the task was completed, and what became of the children of
// the last attempt.
func (s *Supervise) completed(r ralph.Report) string {
	n := len(r.Iterations)
	switch {
	case s.Completion != "" && s.Completion != ralph.CompletionDoneFile:
		return "task completed"
	case n > 0 && r.Iterations[n-1].Last().Outlived:
		return "task completed (DONE marker present, active children ended after the wait)"
	}
	return "task completed (DONE marker present, no active children)"
}

// turn tells what is certain when an attempt is over.
func (s *Supervise) turn(t *ralph.Turn) (lines []string) {
	s.last = t
	if t.Outlived {
		after := ""
		if s.Wait > 0 {
			after = " after " + s.Wait.String()
		}
		lines = append(lines, "Children of the agent were still running"+after+" and were ended")
	}
	switch {
	case succeeded(t):
		return append(lines, fmt.Sprintf("Attempt %d: Agent succeeded", s.attempt))
	case t.Failure != nil && t.Failure.Kind == ralph.FailureTimeout:
		limit := s.Timeout
		if limit == 0 || t.Duration > 0 && t.Duration < limit { // max-duration came first
			limit = t.Duration.Round(time.Second)
		}
		return append(lines, fmt.Sprintf("Agent timeout after %s, killing process group", limit), "Process group killed, treating as failure")
	}
	return lines
}

// restart tells that the attempt before n is followed by n.
func (s *Supervise) restart(n int) []string {
	t := s.last
	s.last = nil
	switch {
	case t == nil:
		return nil
	case succeeded(t), t.Failure != nil && t.Failure.Kind == ralph.FailureTimeout:
		return []string{"Restarting agent " + s.of(n)}
	}
	short, long := exitText(t)
	return []string{
		fmt.Sprintf("Attempt %d: Agent failed (%s), restarting...", s.attempt, short),
		fmt.Sprintf("Agent failed %s, restarting %s", long, s.of(n)),
	}
}

// waitCode is the exit code of an agent that waits: no failure.
const waitCode = 42

// gaveUp tells of a failed attempt that nothing follows. One that was cancelled
// did not fail.
func (s *Supervise) gaveUp() []string {
	t := s.last
	s.last = nil
	switch {
	case t == nil, succeeded(t), t.ExitCode == waitCode:
		return nil
	case t.Failure != nil && (t.Failure.Kind == ralph.FailureTimeout || t.Failure.Kind == ralph.FailureCancelled):
		return nil
	}
	short, _ := exitText(t)
	return []string{fmt.Sprintf("Attempt %d: Agent failed (%s)", s.attempt, short)}
}

// of is "(attempt 2/100)".
func (s *Supervise) of(n int) string {
	if s.Max > 0 {
		return fmt.Sprintf("(attempt %d/%d)", n, s.Max)
	}
	return fmt.Sprintf("(attempt %d)", n)
}

// succeeded reports whether the agent exited with 0 by itself; it need not have said
// anything.
func succeeded(t *ralph.Turn) bool {
	return t.ExitCode == 0 && (t.Failure == nil || t.Failure.Kind == ralph.FailureEmpty)
}

// exitText words how an attempt failed: "exit 1" and "with exit code 1".
func exitText(t *ralph.Turn) (short, long string) {
	switch name := signalName(t.ExitCode); {
	case name != "":
		return fmt.Sprintf("exit %d, %s", t.ExitCode, name), fmt.Sprintf("with exit code %d (%s)", t.ExitCode, name)
	case t.ExitCode > 0:
		return fmt.Sprintf("exit %d", t.ExitCode), fmt.Sprintf("with exit code %d", t.ExitCode)
	case t.Failure != nil && (t.Failure.Kind != ralph.FailureCrash || t.ExitCode == 0):
		kind := t.Failure.Kind.String()
		return kind, "(" + kind + ")"
	}
	return "ended by a signal", "(ended by a signal)"
}

// signalName names the signal in the exit code of a shell or a container, 128
// and its number; empty when there is none or it is not the same everywhere.
func signalName(code int) string {
	return map[int]string{
		1: "hung up", 2: "interrupted", 6: "aborted", 9: "killed", 11: "segmentation fault", 13: "broken pipe", 15: "terminated",
	}[code-128]
}

// dated puts a time before each line.
func dated(at time.Time, lines []string) []string {
	if at.IsZero() {
		return lines
	}
	for i, line := range lines {
		lines[i] = "[" + at.Format("2006-01-02 15:04:05") + "] " + line
	}
	return lines
}
