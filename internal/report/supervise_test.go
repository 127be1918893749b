package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/logs"
)

// attempt is how one run of a supervised command ended.
type attempt struct {
	code   int
	kind   ralph.FailureKind // 0: it went well
	marker bool
	red    bool // a guardrail failed
}

// supervision is the log of a run of these attempts, one second apart, without
// its times.
func supervision(t *testing.T, s *logs.Supervise, attempts []attempt, end ralph.Report) string {
	t.Helper()
	var log []string
	tell := func(e ralph.Event) {
		e.At = start
		log = append(log, s.Lines(e)...)
	}
	for i, a := range attempts {
		turn := &ralph.Turn{ExitCode: a.code, Duration: max(time.Second, s.Timeout)}
		if a.kind != 0 {
			turn.Failure = &ralph.Failure{Kind: a.kind, Message: "why"}
		}
		it := &ralph.Iteration{Number: i + 1, Turns: []ralph.Turn{*turn}, Marker: a.marker, Verdicts: []ralph.Verdict{{Passed: !a.red}}}
		tell(ralph.Event{Kind: ralph.EventIterationStart, Iteration: i + 1, Max: s.Max})
		tell(ralph.Event{Kind: ralph.EventPrompt, Text: "go", Iteration: i + 1, Attempt: 1})
		tell(ralph.Event{Kind: ralph.EventText, Text: "words", Iteration: i + 1})
		tell(ralph.Event{Kind: ralph.EventResult, Turn: turn, Iteration: i + 1})
		tell(ralph.Event{Kind: ralph.EventIterationEnd, Record: it, Iteration: i + 1, Max: s.Max})
		end.Iterations = append(end.Iterations, *it)
	}
	end.Started = start
	log = append(log, s.Ending(end)...)
	for i, line := range log {
		rest, ok := strings.CutPrefix(line, "[2026-02-05 10:00:00] ")
		if !ok {
			t.Errorf("line %q does not begin with its time", line)
		}
		log[i] = rest
	}
	return strings.Join(log, "\n") + "\n"
}

// supervised to the letter is what the documentation shows, too.
const supervisedToTheLetter = `Starting agent (attempt 1/100)
Attempt 1: Agent failed (exit 1), restarting...
Agent failed with exit code 1, restarting (attempt 2/100)
Starting agent (attempt 2/100)
Agent timeout after 5m0s, killing process group
Process group killed, treating as failure
Restarting agent (attempt 3/100)
Starting agent (attempt 3/100)
Attempt 3: Agent succeeded
task completed (DONE marker present, no active children)
`

// 002-07, 002-12, 002-15
func TestSuperviseToTheLetter(t *testing.T) {
	t.Parallel()
	s := &logs.Supervise{Max: 100, Timeout: 5 * time.Minute}
	got := supervision(t, s, []attempt{{code: 1, kind: ralph.FailureCrash}, {code: -1, kind: ralph.FailureTimeout}, {marker: true}}, ralph.Report{Outcome: ralph.Completed})
	if got != supervisedToTheLetter {
		t.Errorf("log =\n%s\nwant\n%s", got, supervisedToTheLetter)
	}
}

func TestSupervise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		max      int
		attempts []attempt
		end      ralph.Report
		want     []string
	}{
		{"an exit code of 0 is no end", 3, []attempt{{}, {marker: true}}, ralph.Report{Outcome: ralph.Completed}, []string{ // 002-02
			"Starting agent (attempt 1/3)", "Attempt 1: Agent succeeded",
			"Restarting agent (attempt 2/3)", "Starting agent (attempt 2/3)", "Attempt 2: Agent succeeded",
			"task completed (DONE marker present, no active children)",
		}},
		{"an agent need not say anything", 0, []attempt{{kind: ralph.FailureEmpty, marker: true}}, ralph.Report{Outcome: ralph.Completed}, []string{
			"Starting agent (attempt 1)", "Attempt 1: Agent succeeded", "task completed (DONE marker present, no active children)",
		}},
		{"max restarts", 2, []attempt{{code: 1, kind: ralph.FailureCrash}, {code: 1, kind: ralph.FailureCrash}}, ralph.Report{Outcome: ralph.MaxIterations}, []string{ // 002-09
			"Starting agent (attempt 1/2)", "Attempt 1: Agent failed (exit 1), restarting...", "Agent failed with exit code 1, restarting (attempt 2/2)",
			"Starting agent (attempt 2/2)", "Attempt 2: Agent failed (exit 1)", "Attempt 2: Max restarts exceeded, stopping",
		}},
		{"a last attempt that went well", 1, []attempt{{}}, ralph.Report{Outcome: ralph.MaxIterations}, []string{
			"Starting agent (attempt 1/1)", "Attempt 1: Agent succeeded", "Attempt 1: Max restarts exceeded, stopping",
		}},
		{"a last attempt that took too long", 1, []attempt{{code: -1, kind: ralph.FailureTimeout}}, ralph.Report{Outcome: ralph.MaxIterations}, []string{
			"Starting agent (attempt 1/1)", "Agent timeout after 1s, killing process group", "Process group killed, treating as failure", "Attempt 1: Max restarts exceeded, stopping",
		}},
		{"waiting by exit code", 5, []attempt{{code: 42, kind: ralph.FailureCrash}}, ralph.Report{Outcome: ralph.Waiting}, []string{ // 002-16, 002-17
			"Starting agent (attempt 1/5)", "Wait-without-restart signal detected", "Run status: stopped",
		}},
		{"waiting by exit code at the last attempt", 1, []attempt{{code: 42, kind: ralph.FailureCrash}}, ralph.Report{Outcome: ralph.Waiting}, []string{
			"Starting agent (attempt 1/1)", "Wait-without-restart signal detected", "Run status: stopped",
		}},
		{"waiting by a file", 5, []attempt{{}}, ralph.Report{Outcome: ralph.Waiting}, []string{
			"Starting agent (attempt 1/5)", "Attempt 1: Agent succeeded", "Wait-without-restart signal detected", "Run status: stopped",
		}},
		{"done before the first attempt", 5, nil, ralph.Report{Outcome: ralph.Completed}, []string{"task completed (DONE marker present, no active children)"}}, // 002-05
		{"done and failed", 5, []attempt{{code: 3, kind: ralph.FailureCrash, marker: true}}, ralph.Report{Outcome: ralph.Completed}, []string{
			"Starting agent (attempt 1/5)", "Attempt 1: Agent failed (exit 3)", "task completed (DONE marker present, no active children)",
		}},
		{"done, but guardrails failed", 2, []attempt{{marker: true, red: true}, {marker: true}}, ralph.Report{Outcome: ralph.Completed}, []string{
			"Starting agent (attempt 1/2)", "Attempt 1: Agent succeeded", "DONE is taken back: guardrails failed",
			"Restarting agent (attempt 2/2)", "Starting agent (attempt 2/2)", "Attempt 2: Agent succeeded", "task completed (DONE marker present, no active children)",
		}},
		{"fatal", 5, nil, ralph.Report{Outcome: ralph.Invalid, Reason: "no-such-agent: not\nfound"}, []string{"Fatal error: no-such-agent: not found"}}, // 002-18
		{"interrupted", 5, []attempt{{code: -1, kind: ralph.FailureCancelled}}, ralph.Report{Outcome: ralph.Interrupted, Reason: "the run was cancelled"}, []string{ // 002-19
			"Starting agent (attempt 1/5)", "Interrupted: the run was cancelled",
		}},
		{"out of time", 5, []attempt{{code: 1, kind: ralph.FailureCrash}}, ralph.Report{Outcome: ralph.Deadline, Reason: "max-duration is used up"}, []string{
			"Starting agent (attempt 1/5)", "Attempt 1: Agent failed (exit 1)", "Stopped (deadline): max-duration is used up",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got, want := supervision(t, &logs.Supervise{Max: c.max}, c.attempts, c.end), strings.Join(c.want, "\n")+"\n"; got != want {
				t.Errorf("log =\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// 002-12: how an attempt failed.
func TestSuperviseExitTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		attempt     attempt
		short, long string
	}{
		{attempt{code: 1, kind: ralph.FailureCrash}, "exit 1", "with exit code 1"},
		{attempt{code: 137, kind: ralph.FailureCrash}, "exit 137, killed", "with exit code 137 (killed)"},
		{attempt{code: 143, kind: ralph.FailureCrash}, "exit 143, terminated", "with exit code 143 (terminated)"},
		{attempt{code: 130, kind: ralph.FailureCrash}, "exit 130, interrupted", "with exit code 130 (interrupted)"},
		{attempt{code: 255, kind: ralph.FailureCrash}, "exit 255", "with exit code 255"},
		{attempt{code: -1, kind: ralph.FailureCrash}, "ended by a signal", "(ended by a signal)"},
		{attempt{code: 0, kind: ralph.FailureCrash}, "crash", "(crash)"},
		{attempt{code: 0, kind: ralph.FailureMalformed}, "malformed", "(malformed)"},
		{attempt{code: -1, kind: ralph.FailureIdle}, "idle", "(idle)"},
		{attempt{code: -1, kind: ralph.FailureFlood}, "output-limit", "(output-limit)"},
	} {
		log := supervision(t, &logs.Supervise{Max: 9}, []attempt{c.attempt, {}}, ralph.Report{Outcome: ralph.Completed})
		want := "Attempt 1: Agent failed (" + c.short + "), restarting...\nAgent failed " + c.long + ", restarting (attempt 2/9)\n"
		if !strings.Contains(log, want) {
			t.Errorf("after %+v the log is\n%s\nwant in it\n%s", c.attempt, log, want)
		}
	}
}

// The question for a commit message is no attempt, and a try of the same
// attempt is a restart.
func TestSuperviseOtherTurns(t *testing.T) {
	t.Parallel()
	s := &logs.Supervise{}
	failed := &ralph.Turn{ExitCode: 1, Failure: &ralph.Failure{Kind: ralph.FailureCrash}}
	var got []string
	for _, e := range []ralph.Event{
		{Kind: ralph.EventIterationStart, Iteration: 1},
		{Kind: ralph.EventPrompt, Attempt: 1},
		{Kind: ralph.EventResult, Turn: failed},
		{Kind: ralph.EventRetry, Text: "why"},
		{Kind: ralph.EventPrompt, Attempt: 2},
		{Kind: ralph.EventResult, Turn: &ralph.Turn{}},
		{Kind: ralph.EventPrompt},
		{Kind: ralph.EventResult, Turn: failed},
		{Kind: ralph.EventIterationEnd},
	} {
		got = append(got, s.Lines(e)...)
	}
	want := []string{
		"Starting agent (attempt 1)", "Attempt 1: Agent failed (exit 1), restarting...", "Agent failed with exit code 1, restarting (attempt 1)",
		"Attempt 1: Agent succeeded",
	}
	if !slices.Equal(got, want) {
		t.Errorf("Lines() = %q, want %q", got, want)
	}
}
