package hook_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/hook"
)

const (
	missing = "You attempted to end the loop, but you did not output the completion promise <promise>DONE</promise>. Continue working on the original task below. Only output the promise when the task is fully complete. Original task: paint the fence"
	bypass  = "Promise detected, but no tool calls/work were performed; you must actually complete the task before emitting the promise."
)

// agent writes a transcript the way claude does.
type agent struct {
	tb    testing.TB
	path  string
	clock time.Time
	n     int
}

func newAgent(tb testing.TB) *agent {
	return &agent{tb: tb, path: filepath.Join(tb.TempDir(), "t.jsonl"), clock: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
}

func (a *agent) line(extra map[string]any, content ...map[string]string) {
	a.tb.Helper()
	a.n++
	a.clock = a.clock.Add(time.Second)
	entry := map[string]any{
		"type": "assistant", "isSidechain": false, "timestamp": a.clock.Format(time.RFC3339Nano), "uuid": fmt.Sprint(a.n),
		"message": map[string]any{"id": fmt.Sprintf("msg_%d", a.n), "role": "assistant", "model": "m", "content": content},
	}
	for k, v := range extra {
		entry[k] = v
	}
	data, err := json.Marshal(entry)
	if err != nil {
		a.tb.Fatal(err)
	}
	a.raw(string(data) + "\n")
}

func (a *agent) raw(s string) {
	a.tb.Helper()
	f, err := os.OpenFile(a.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		a.tb.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(s); err != nil {
		a.tb.Fatal(err)
	}
}

func (a *agent) says(text string) { a.line(nil, map[string]string{"type": "text", "text": text}) }
func (a *agent) works() {
	a.line(nil, map[string]string{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", a.n), "name": "Bash"})
}

// stops asks the hook as the CLI does when the agent wants to end.
func (a *agent) stops(facts hook.StopFacts, last string) hook.Answer {
	a.tb.Helper()
	a.clock = a.clock.Add(time.Second)
	facts.Now = a.clock
	return hook.Hook{Stop: facts}.Answer(hook.Stop, strings.NewReader(input(a.tb, map[string]any{
		"session_id": "s", "transcript_path": a.path, "hook_event_name": "Stop", "last_assistant_message": last,
	})))
}

// 004-01, 004-02, 004-03, 004-04
func TestNewSession(t *testing.T) {
	t.Parallel()
	s := hook.NewSession("paint the fence", "DONE", 7, time.Time{})
	if s.PromiseMarker != "<promise>DONE</promise>" || s.Iteration != 0 || s.MaxIterations != 7 || s.MinToolCalls != 1 || s.OnPromiseNoWork != "reject" {
		t.Errorf("NewSession = %+v", s)
	}
	start := s.Start()
	for _, want := range []string{"paint the fence", "Only when it is fully done, output the exact marker", "<promise>DONE</promise>", "no white space inside the tag, no variants", "do not output the promise"} {
		if !strings.Contains(start, want) {
			t.Errorf("Start() = %q lacks %q", start, want)
		}
	}
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"taskPrompt", "promiseToken", "promiseMarker", "iteration", "maxIterations", "toolCallsThisRun", "promiseSeen", "lastAssistantText"} {
		if !strings.Contains(string(data), `"`+field+`"`) {
			t.Errorf("state %s lacks %q", data, field)
		}
	}
	if back, err := hook.DecodeSession(data); err != nil || back != s {
		t.Errorf("DecodeSession = %+v, %v, want %+v", back, err, s)
	}
	for _, bad := range []string{"", "{}", "[]", `{"promiseToken":"x","iteration":-1}`, strings.Repeat("x", 2<<20)} {
		if _, err := hook.DecodeSession([]byte(bad)); err == nil {
			t.Errorf("DecodeSession(%.20q) succeeded", bad)
		}
	}
}

// 004-05 … 004-08, 004-11, 004-12: one stop each.
func TestSessionStop(t *testing.T) {
	t.Parallel()
	const promise = "All is done.\n```\n<promise>DONE</promise>\n```"
	yes := func() (bool, error) { return true, nil }
	for _, tt := range []struct {
		name   string
		do     func(*agent)
		last   string
		change func(*hook.Session)
		facts  hook.StopFacts
		refuse string // the reason's beginning; empty: approved
		status hook.Status
		log    string
	}{
		{name: "004-12 (1) work and promise", do: func(a *agent) { a.works(); a.says(promise) }, status: hook.PromiseAccepted, log: "iteration 1: promise found: after 1 tool calls (PROMISE_ACCEPTED)"},
		{name: "004-12 (5) only in the final message", do: (*agent).works, last: promise, status: hook.PromiseAccepted},
		{name: "004-05 in an earlier message", do: func(a *agent) { a.says(promise); a.works(); a.says("bye") }, last: "bye", status: hook.PromiseAccepted},
		{name: "004-12 (2) no promise", do: func(a *agent) { a.works(); a.says("I'm done") }, last: "I'm done", refuse: missing, log: "iteration 1: promise missing: the completion promise was not output"},
		{name: "004-02 case", do: func(a *agent) { a.works(); a.says("<promise>done</promise>") }, refuse: missing},
		{name: "004-02 white space", do: func(a *agent) { a.works(); a.says("<promise> DONE </promise>") }, refuse: missing},
		{name: "004-12 (4) bypass", do: func(a *agent) { a.says(promise) }, last: promise, refuse: bypass, status: hook.PromiseRejected, log: "iteration 1: promise rejected: too little work (bypass): 0 tool calls, 1 needed (PROMISE_REJECTED)"},
		{name: "004-07 too few tool calls", do: func(a *agent) { a.works(); a.says(promise) }, change: func(s *hook.Session) { s.MinToolCalls = 2 }, refuse: bypass, status: hook.PromiseRejected},
		{name: "004-07 a diff does not outweigh a count", do: func(a *agent) { a.says(promise) }, facts: hook.StopFacts{Changed: yes}, refuse: bypass, status: hook.PromiseRejected},
		{name: "004-01 no evidence asked for", do: func(a *agent) { a.says(promise) }, change: func(s *hook.Session) { s.MinToolCalls = 0 }, status: hook.PromiseAccepted},
		{name: "004-01 accept", do: func(a *agent) { a.says(promise) }, change: func(s *hook.Session) { s.OnPromiseNoWork = hook.Accept }, status: hook.PromiseAccepted},
		{name: "004-08 no counter, a diff", last: promise, facts: hook.StopFacts{Changed: yes}, status: hook.PromiseAccepted},
		{name: "004-08 no counter, no diff", last: promise, facts: hook.StopFacts{Changed: func() (bool, error) { return false, nil }}, refuse: bypass, status: hook.PromiseRejected},
		{name: "004-08 no counter, nothing known", last: promise, refuse: bypass, status: hook.PromiseRejected},
		{name: "004-08 no counter, no tree", last: promise, facts: hook.StopFacts{Changed: func() (bool, error) { return false, errors.New("no tree") }}, refuse: bypass, status: hook.PromiseRejected},
		{name: "004-12 (3) limit", do: func(a *agent) { a.works(); a.says("no") }, change: func(s *hook.Session) { s.MaxIterations = 1 }, status: hook.MaxIterationsReached, log: "iteration 1: promise missing: the completion promise was not output (MAX_ITERATIONS_REACHED)"},
		{name: "a promise in the last allowed run counts", do: func(a *agent) { a.works(); a.says(promise) }, change: func(s *hook.Session) { s.MaxIterations = 1 }, status: hook.PromiseAccepted},
		{name: "a bypass in the last allowed run", do: func(a *agent) { a.says(promise) }, change: func(s *hook.Session) { s.MaxIterations = 1 }, status: hook.MaxIterationsReached, log: "iteration 1: promise rejected: too little work (bypass): 0 tool calls, 1 needed (MAX_ITERATIONS_REACHED)"},
		{name: "no limit", do: func(a *agent) { a.says("no") }, change: func(s *hook.Session) { s.MaxIterations = 0; s.Iteration = 900 }, refuse: missing},
		{name: "004-09 ultrawork", do: func(a *agent) { a.says("no") }, change: func(s *hook.Session) { s.Ultrawork = "ULTRA" }, refuse: "ULTRA\n\n" + missing},
		{name: "checks outweigh a promise", do: func(a *agent) { a.works(); a.says(promise) }, facts: hook.StopFacts{Active: true, Checks: func() ([]string, []string) { return []string{"Story 1 is bad."}, nil }}, refuse: "Story 1 is bad.\n\nOriginal task: paint the fence", status: hook.PromiseRejected},
		{name: "subagent", do: func(a *agent) {
			a.line(map[string]any{"isSidechain": true}, map[string]string{"type": "text", "text": promise})
			a.line(map[string]any{"parent_tool_use_id": "toolu_9"}, map[string]string{"type": "text", "text": promise})
			a.works()
		}, refuse: missing},
		{name: "a subagent's tools are not the agent's", do: func(a *agent) {
			a.line(map[string]any{"isSidechain": true}, map[string]string{"type": "tool_use", "id": "t"})
			a.says(promise)
		}, refuse: bypass, status: hook.PromiseRejected},
		{name: "the prompt, tools and thinking", do: func(a *agent) {
			a.line(map[string]any{"type": "user"}, map[string]string{"type": "text", "text": promise + `"assistant"`})
			a.line(nil, map[string]string{"type": "thinking", "thinking": promise}, map[string]string{"type": "tool_use", "id": "a", "name": promise})
			a.line(map[string]any{"isApiErrorMessage": true}, map[string]string{"type": "text", "text": promise})
		}, refuse: missing},
		{name: "malformed lines", do: func(a *agent) {
			a.works()
			a.raw("\n\x00\xff\"assistant\"\n{\"type\":\"assistant\",\"message\":7}\n{\"type\":\"assistant\",\"message\":{\"content\":\"a string\"}}\n")
			a.says(promise)
			a.raw(`{"type":"assistant","message":{"content":[{"ty`)
		}, status: hook.PromiseAccepted},
		{name: "split over two blocks of a message", do: func(a *agent) {
			a.works()
			a.line(nil, map[string]string{"type": "text", "text": "<promise>DO"}, map[string]string{"type": "text", "text": "NE</promise>"})
		}, status: hook.PromiseAccepted},
		{name: "nothing to judge by", refuse: "", status: ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t)
			s := hook.NewSession("paint the fence", "DONE", 5, time.Time{})
			if tt.change != nil {
				tt.change(&s)
			}
			if tt.do != nil {
				tt.do(a)
			}
			var log []string
			tt.facts.Session, tt.facts.Log = &s, func(e hook.Entry) { log = append(log, e.String()) }
			answer := a.stops(tt.facts, tt.last)
			if answer.Refused != (tt.refuse != "") || !strings.HasPrefix(answer.Reason, tt.refuse) {
				t.Errorf("answer = %+v, want the reason %q", answer, tt.refuse)
			}
			if s.Status != tt.status {
				t.Errorf("status = %q, want %q", s.Status, tt.status)
			}
			if answer.Refused && !strings.HasSuffix(answer.Reason, "Original task: paint the fence") {
				t.Errorf("the continuation %q lacks the task", answer.Reason)
			}
			if tt.log != "" && (len(log) != 1 || log[0] != tt.log) {
				t.Errorf("log = %q, want %q", log, tt.log)
			}
		})
	}
}

// 004-05: N allowed runs are N runs. 004-12 (3)
func TestSessionRunsToItsLimit(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	s := hook.NewSession("t", "DONE", 3, time.Time{})
	for run := 1; run <= 3; run++ {
		a.works()
		a.says("still at it")
		answer := a.stops(hook.StopFacts{Session: &s}, "")
		if answer.Refused != (run < 3) || s.Iteration != run || s.ToolCallsThisRun != run {
			t.Errorf("run %d: %+v, %+v", run, answer, s)
		}
	}
	if s.Status != hook.MaxIterationsReached {
		t.Errorf("status = %q", s.Status)
	}
}

// A rejected promise is not remembered, also when its line was written late;
// the work that follows is counted.
func TestRejectedPromiseIsForgotten(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	s := hook.NewSession("t", "DONE", 9, time.Time{})
	const promise = "<promise>DONE</promise>"
	a.raw("{}\n")
	late := a.clock.Add(time.Millisecond)
	if answer := a.stops(hook.StopFacts{Session: &s}, promise); !answer.Refused || s.Status != hook.PromiseRejected || !s.PromiseSeen {
		t.Fatalf("first stop: %+v, %+v", answer, s)
	}
	a.line(map[string]any{"timestamp": late.Format(time.RFC3339Nano)}, map[string]string{"type": "text", "text": promise})
	a.works()
	if answer := a.stops(hook.StopFacts{Session: &s}, "no promise"); !answer.Refused || s.PromiseSeen || s.ToolCallsThisRun != 1 {
		t.Errorf("second stop: %+v, %+v", answer, s)
	}
	if answer := a.stops(hook.StopFacts{Session: &s}, promise); answer.Refused || s.Status != hook.PromiseAccepted {
		t.Errorf("third stop: %+v, %+v", answer, s)
	}
}

// Work and words before the loop began do not count, and a transcript that
// begins anew is read again.
func TestSessionBegins(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.works()
	a.says("<promise>DONE</promise>")
	s := hook.NewSession("t", "DONE", 9, a.clock.Add(time.Second))
	s.Said = s.Began
	a.clock = a.clock.Add(time.Minute)
	a.says("hello")
	if answer := a.stops(hook.StopFacts{Session: &s}, ""); !answer.Refused || s.ToolCallsThisRun != 0 || s.LastAssistantText != "hello" {
		t.Errorf("answer = %+v, %+v", answer, s)
	}
	if err := os.Truncate(a.path, 0); err != nil {
		t.Fatal(err)
	}
	a.works()
	if a.stops(hook.StopFacts{Session: &s}, "x"); s.ToolCallsThisRun != 1 {
		t.Errorf("%d tool calls after a new beginning, want 1", s.ToolCallsThisRun)
	}
}

// The transcript that claude 2.1.197 left behind.
// A transcript of any length costs the same; its end is what counts, and a
// pipe or a link in its place holds nobody up.
// A loop that begins late in a long session counts what it should: what came
// before is older than the loop, and need not be read to know that.
// An accepted or used-up loop has no say in later stops; checks still have.
func TestSessionIsOver(t *testing.T) {
	t.Parallel()
	for _, status := range []hook.Status{hook.PromiseAccepted, hook.MaxIterationsReached} {
		a := newAgent(t)
		a.says("no promise")
		s := hook.NewSession("t", "DONE", 9, time.Time{})
		s.Status = status
		if answer := a.stops(hook.StopFacts{Session: &s}, ""); answer.Refused || s.Iteration != 0 {
			t.Errorf("%s: %+v, %+v", status, answer, s)
		}
		checks := func() ([]string, []string) { return []string{"bad"}, []string{"odd"} }
		if answer := a.stops(hook.StopFacts{Session: &s, Active: true, Checks: checks}, ""); answer.Reason != "bad" || len(answer.Warnings) != 1 {
			t.Errorf("%s with a failed check: %+v", status, answer)
		}
	}
}

// 004-06, 004-07, 004-09: what sessions that go on by resume are told.
func TestContinuations(t *testing.T) {
	t.Parallel()
	s := hook.NewSession("paint the fence", "DONE", 9, time.Time{})
	const task = "Original task: paint the fence"
	for _, prefix := range []string{"", "ULTRA\n\n"} {
		s.Ultrawork = strings.TrimSpace(prefix)
		for got, want := range map[string]string{
			s.Missing(): "You attempted to end the loop, but you did not output the completion promise <promise>DONE</promise>. " +
				"Continue working on the original task below. Only output the promise when the task is fully complete. " + task,
			s.Rejected():                   "Promise detected, but no tool calls/work were performed; you must actually complete the task before emitting the promise. " + task,
			s.Failed([]string{"one", "2"}): "one\n\n2\n\n" + task,
		} {
			if got != prefix+want {
				t.Errorf("continuation = %q, want %q", got, prefix+want)
			}
		}
	}
}

// A transcript that is behind the final message gets a moment to catch up
// before the promise is called a bypass.
