package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/logs"
)

// verboseToTheLetter is what the documentation shows, too.
var verboseToTheLetter = []string{
	"[ralph] Loading settings from .ralph/settings.json",
	"[ralph] Agent command: claude -p --model opus",
	"[ralph] Iteration 1/10 starting",
	`[ralph] Prompt (31 chars): Make the tests pass.\n\nBe quick.`,
	"[ralph] Agent exited with code 0 (3.0s)",
	"[ralph] Running guardrail: ./mvnw clean install",
	"[ralph] Guardrail exited with code 0 (1.2s)",
	`[ralph] Prompt for the commit message (13 chars): Which message`,
	"[ralph] Agent exited with code 0 (0.4s)",
	"[ralph] Running SCM task: git push",
	"[ralph] SCM task exited with code 0 (0.5s)",
	"[ralph] Completion detected: <response>DONE</response>",
	"[ralph] Iteration 1 took 5.2s (agent 3.4s, guardrails 1.2s, SCM tasks 0.5s)",
}

// 001-34
func TestVerboseToTheLetter(t *testing.T) {
	t.Parallel()
	v := logs.Verbose{Completion: ralph.Completion{Kind: ralph.CompletionResponse, Token: "DONE"}}
	turn, question := ralph.Turn{Duration: 3 * time.Second}, ralph.Turn{Duration: 400 * time.Millisecond}
	verdict := ralph.Verdict{Command: "./mvnw clean install", Passed: true, Duration: 1200 * time.Millisecond}
	task := ralph.Task{Command: "git push", Duration: 500 * time.Millisecond}
	got := []string{logs.LoadingSettings(".ralph/settings.json"), logs.AgentCommand("claude", "-p", "--model", "opus")}
	for _, e := range []ralph.Event{
		{Kind: ralph.EventIterationStart, Iteration: 1, Max: 10},
		{Kind: ralph.EventPrompt, Attempt: 1, Text: "Make the tests pass.\n\nBe quick."},
		{Kind: ralph.EventText, Text: "Done."},
		{Kind: ralph.EventResult, Turn: &turn},
		{Kind: ralph.EventGuardrailStart, Text: "./mvnw clean install"},
		{Kind: ralph.EventGuardrailEnd, Verdict: &verdict},
		{Kind: ralph.EventPrompt, Text: "Which message"},
		{Kind: ralph.EventResult, Turn: &question},
		{Kind: ralph.EventTaskStart, Text: "git push"},
		{Kind: ralph.EventTaskEnd, Task: &task},
		{Kind: ralph.EventIterationEnd, Record: &ralph.Iteration{
			Number: 1, Duration: 5200 * time.Millisecond, Turns: []ralph.Turn{turn}, Verdicts: []ralph.Verdict{verdict}, Marker: true,
			Delivery: ralph.Delivery{Turn: &question, Tasks: []ralph.Task{task}},
		}},
	} {
		got = append(got, v.Lines(e)...)
	}
	if !slices.Equal(got, verboseToTheLetter) {
		t.Errorf("Lines() =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(verboseToTheLetter, "\n"))
	}
}

// 001-34
func TestVerboseLines(t *testing.T) {
	t.Parallel()
	promise := logs.Verbose{Completion: ralph.Completion{Kind: ralph.CompletionPromise, Token: "COMPLETE"}}
	end := func(it ralph.Iteration) ralph.Event {
		it.Number = 2
		return ralph.Event{Kind: ralph.EventIterationEnd, Record: &it}
	}
	took := "[ralph] Iteration 2 took 0.0s (agent 0.0s, guardrails 0.0s)"
	for _, c := range []struct {
		name string
		v    logs.Verbose
		e    ralph.Event
		want []string
	}{
		{"no limit", promise, ralph.Event{Kind: ralph.EventIterationStart, Iteration: 1}, []string{"[ralph] Iteration 1 starting"}},
		{"long prompt", promise, ralph.Event{Kind: ralph.EventPrompt, Attempt: 1, Text: strings.Repeat("ü", 201)}, []string{"[ralph] Prompt (201 chars): " + strings.Repeat("ü", 200) + "…"}},
		{"prompt of 200", promise, ralph.Event{Kind: ralph.EventPrompt, Attempt: 1, Text: strings.Repeat("ü", 200)}, []string{"[ralph] Prompt (200 chars): " + strings.Repeat("ü", 200)}},
		{"hostile prompt", promise, ralph.Event{Kind: ralph.EventPrompt, Attempt: 1, Text: "a\x1b[2J\x00\r\tb\u202ec\xff"}, []string{`[ralph] Prompt (12 chars): a\x1b[2J\x00\r\tb\u202ec` + "\uFFFD"}},
		{"secret where the prompt is cut", logs.Verbose{Mask: func(s string) string { return strings.ReplaceAll(s, "s3cret", "***") }},
			ralph.Event{Kind: ralph.EventPrompt, Attempt: 1, Text: strings.Repeat("x", 197) + "s3cret"}, []string{"[ralph] Prompt (203 chars): " + strings.Repeat("x", 197) + "***"}},
		{"failed guardrail", promise, ralph.Event{Kind: ralph.EventGuardrailEnd, Verdict: &ralph.Verdict{ExitCode: 3, Duration: 90 * time.Second}}, []string{"[ralph] Guardrail exited with code 3 (1m30s)"}},
		{"slow guardrail", promise, ralph.Event{Kind: ralph.EventGuardrailEnd, Verdict: &ralph.Verdict{ExitCode: -1, Reason: "timed out after 1s", Duration: time.Second}}, []string{"[ralph] Guardrail failed: timed out after 1s (1.0s)"}},
		{"failed agent", promise, ralph.Event{Kind: ralph.EventResult, Turn: &ralph.Turn{ExitCode: 1, Failure: &ralph.Failure{Kind: ralph.FailureCrash}}}, []string{"[ralph] Agent exited with code 1 (0.0s)"}},
		{"slow agent", promise, ralph.Event{Kind: ralph.EventResult, Turn: &ralph.Turn{ExitCode: -1, Failure: &ralph.Failure{Kind: ralph.FailureTimeout}}}, []string{"[ralph] Agent failed: timeout (0.0s)"}},
		{"retry", promise, ralph.Event{Kind: ralph.EventRetry, Text: "529\noverloaded", Wait: 2 * time.Second}, []string{"[ralph] Trying again in 2.0s: 529 overloaded"}},
		{"task without an exit code", promise, ralph.Event{Kind: ralph.EventTaskEnd, Task: &ralph.Task{ExitCode: -1}}, []string{"[ralph] SCM task ended without an exit code (0.0s)"}},
		{"no marker", promise, end(ralph.Iteration{Rejection: ralph.RejectedNoMarker}), []string{"[ralph] No completion: <promise>COMPLETE</promise> was not found", took}},
		{"no work", promise, end(ralph.Iteration{Rejection: ralph.RejectedNoWork}), []string{"[ralph] No completion: <promise>COMPLETE</promise> was found, but no sign of work", took}},
		{"red guardrails", promise, end(ralph.Iteration{Rejection: ralph.RejectedGuardrails, Verdicts: []ralph.Verdict{{}, {Passed: true}}}), []string{"[ralph] No completion: 1 of 2 guardrails failed", took}},
		{"failed commit", promise, end(ralph.Iteration{Rejection: ralph.RejectedSCM}), []string{"[ralph] No completion: the SCM tasks failed", took}},
		{"failed turn", promise, end(ralph.Iteration{Rejection: ralph.RejectedTurn}), []string{"[ralph] No completion: the agent failed", took}},
		{"done file", logs.Verbose{Completion: ralph.Completion{Kind: ralph.CompletionDoneFile}}, end(ralph.Iteration{Marker: true}), []string{"[ralph] Completion detected: the file DONE", took}},
		{"nobody was asked", promise, ralph.Event{Kind: ralph.EventIterationEnd}, nil},
		{"text", promise, ralph.Event{Kind: ralph.EventText, Text: "x"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.v.Lines(c.e); !slices.Equal(got, c.want) {
				t.Errorf("Lines() = %q, want %q", got, c.want)
			}
		})
	}
	if got, want := logs.VerboseLines("{\n  \"a\": 1\n}\n"), []string{"[ralph] {", `[ralph]   "a": 1`, "[ralph] }"}; !slices.Equal(got, want) {
		t.Errorf("VerboseLines() = %q, want %q", got, want)
	}
}
