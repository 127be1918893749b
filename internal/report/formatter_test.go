package report_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/logs"
)

// toTheLetter is what the documentation shows, too.
var toTheLetter = []string{
	"› Read(/path/to/file.go)",
	"✅ Result ← Read (45 lines, 1234 chars)",
	"  ⎿  package main",
	"     … 44 more lines",
	"📋 Todo List",
	"  ✅ Read the file",
	"  🔄 Edit the code ← ACTIVE",
	"  ⏸️ Run tests",
	"  📊 Progress: 1/3 (33%)",
	"✅ Complete (cost: $5.76, tokens: 1.2M in (850K cached) / 45K out, tools: 58, errors: 4, time: 6m7s)",
}

// 001-38, 001-40
func TestFormatterToTheLetter(t *testing.T) {
	t.Parallel()
	f := &logs.Formatter{Emoji: true, MaxOutputLines: 1}
	file := "package main\n" + strings.Repeat("12345678901234567890123456\n", 44)
	file += strings.Repeat("x", 1234-len(file))
	file = strings.Replace(file, "\nx", "xx", 1)
	events := []ralph.Event{
		{Kind: ralph.EventToolStart, Tool: "Read", ToolID: "t1", Text: "/path/to/file.go"},
		{Kind: ralph.EventToolEnd, ToolID: "t1", Text: file},
		{Kind: ralph.EventTodo, Todos: []ralph.Todo{{Text: "Read the file", Status: ralph.TodoDone}, {Text: "Edit the code", Status: ralph.TodoActive}, {Text: "Run tests"}}},
		{Kind: ralph.EventResult, Turn: bigTurn()},
	}
	var got []string
	for _, e := range events {
		got = append(got, f.Lines(e)...)
	}
	if !slices.Equal(got, toTheLetter) {
		t.Errorf("Lines() =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(toTheLetter, "\n"))
	}
}

// What an agent says of its commit and its change is shown without our tags, also when its
// message comes line by line.
func TestFormatterLabelsWhatTheAgentSays(t *testing.T) {
	t.Parallel()
	for _, texts := range [][]string{
		{"Done.\n<commit>Round up</commit>\n<change>\nRound totals\n\nThey were too low.\n</change>"},
		{"Done.", "<commit>Round up</commit>", "<change>", "Round totals", "", "They were too low.", "</change>"},
	} {
		f := &logs.Formatter{}
		var got []string
		for _, text := range texts {
			got = append(got, f.Lines(ralph.Event{Kind: ralph.EventText, Text: text})...)
		}
		all := strings.Join(got, "\n")
		if strings.Contains(all, ">") || !strings.Contains(all, "Done.\ncommit: Round up\nchange:") || !strings.HasSuffix(all, "They were too low.") {
			t.Errorf("Lines(%q) =\n%s", texts, all)
		}
	}
	f := &logs.Formatter{}
	if got := f.Lines(ralph.Event{Kind: ralph.EventText, Text: "I use <commit> tags."}); !slices.Equal(got, []string{"I use <commit> tags."}) {
		t.Errorf("Lines() = %q, want a tag within a sentence left alone", got)
	}
}

func bigTurn() *ralph.Turn {
	return &ralph.Turn{
		Duration: 6*time.Minute + 7*time.Second, Tools: 58, ToolErrors: 4, CountsTools: true,
		Usage: ralph.Usage{Cost: ralph.Cost{Amount: ralph.FromUSD(5.76)}, Tokens: ralph.Tokens{Input: 350_000, CacheRead: 850_000, Output: 45_000}},
	}
}

func estimatedTurn(unknown bool) *ralph.Turn {
	t := bigTurn()
	t.Usage.Cost.Estimated, t.Usage.Cost.Unknown = true, unknown
	return t
}

// 001-40: the same without emoji, with colours and with times.
func TestFormatterOptionsToTheLetter(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 5, 9, 8, 7, 0, time.UTC)
	events := []ralph.Event{
		{Kind: ralph.EventToolStart, Tool: "Read", ToolID: "t1", Text: "/path", At: at},
		{Kind: ralph.EventToolEnd, ToolID: "t1", Text: "one\ntwo\nthree", At: at},
		{Kind: ralph.EventToolEnd, Tool: "Bash", Text: "exit 1", IsError: true, At: at},
		{Kind: ralph.EventTodo, Todos: []ralph.Todo{{Text: "Read the file", Status: ralph.TodoDone}, {Text: "Edit the code"}}, At: at},
		{Kind: ralph.EventResult, Turn: bigTurn(), At: at},
	}
	for name, c := range map[string]struct {
		f    logs.Formatter
		want []string
	}{
		"text markers": {logs.Formatter{}, []string{
			"› Read(/path)", "[OK] Result ← Read (3 lines, 13 chars)", "  ⎿  one", "     two", "     three",
			"[ERR] Error ← Bash (1 line, 6 chars)", "  ⎿  exit 1",
			"[TODO] Todo List", "  [x] Read the file", "  [ ] Edit the code", "  [=] Progress: 1/2 (50%)",
			"[OK] Complete (cost: $5.76, tokens: 1.2M in (850K cached) / 45K out, tools: 58, errors: 4, time: 6m7s)",
		}},
		"times and limits": {logs.Formatter{Emoji: true, Timestamp: true, MaxOutputLines: 2, MaxOutputChars: 5}, []string{
			"[09:08:07] › Read(/path)", "[09:08:07] ✅ Result ← Read (3 lines, 13 chars)", "[09:08:07]   ⎿  one", "[09:08:07]      t", "[09:08:07]      …",
			"[09:08:07] ❌ Error ← Bash (1 line, 6 chars)", "[09:08:07]   ⎿  exit", "[09:08:07]      …",
			"[09:08:07] 📋 Todo List", "[09:08:07]   ✅ Read the file", "[09:08:07]   ⏸️ Edit the code", "[09:08:07]   📊 Progress: 1/2 (50%)",
			"[09:08:07] ✅ Complete (cost: $5.76, tokens: 1.2M in (850K cached) / 45K out, tools: 58, errors: 4, time: 6m7s)",
		}},
		"colours": {logs.Formatter{Emoji: true, Color: true, MaxOutputLines: -1}, []string{
			"\x1b[36m› Read(/path)\x1b[0m", "\x1b[32m✅ Result ← Read (3 lines, 13 chars)\x1b[0m",
			"\x1b[31m❌ Error ← Bash (1 line, 6 chars)\x1b[0m",
			"\x1b[1m📋 Todo List\x1b[0m", "\x1b[2m  ✅ Read the file\x1b[0m", "  ⏸️ Edit the code", "  📊 Progress: 1/2 (50%)",
			"\x1b[32m✅ Complete (cost: $5.76, tokens: 1.2M in (850K cached) / 45K out, tools: 58, errors: 4, time: 6m7s)\x1b[0m",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, e := range events {
				got = append(got, c.f.Lines(e)...)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("Lines() =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// 001-03: without the agent's output the loop still tells what happens.
func TestFormatterQuiet(t *testing.T) {
	t.Parallel()
	f := &logs.Formatter{Emoji: true, Quiet: true}
	var got []string
	for _, e := range []ralph.Event{
		{Kind: ralph.EventIterationStart, Iteration: 1, Max: 3},
		{Kind: ralph.EventText, Text: "thinking aloud"},
		{Kind: ralph.EventToolStart, Tool: "Read", ToolID: "t1", Text: "/path"},
		{Kind: ralph.EventToolEnd, ToolID: "t1", Text: "one"},
		{Kind: ralph.EventTodo, Todos: []ralph.Todo{{Text: "a"}}},
		{Kind: ralph.EventProgress, Text: "session 1"},
		{Kind: ralph.EventResult, Turn: bigTurn()},
		{Kind: ralph.EventGuardrailStart, Text: "make lint"},
		{Kind: ralph.EventWarning, Text: "careful"},
	} {
		got = append(got, f.Lines(e)...)
	}
	want := []string{"▶ Iteration 1 of 3", toTheLetter[len(toTheLetter)-1], "› Guardrail: make lint", "⚠️ careful"}
	if !slices.Equal(got, want) {
		t.Errorf("Lines() = %q, want %q", got, want)
	}
}

// 001-25, 001-40
func TestFormatterLines(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 5, 9, 8, 7, 0, time.UTC)
	unknown := ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Unknown: true}}
	it := maxIterations().Iterations[2]
	cases := []struct {
		name string
		f    logs.Formatter
		e    ralph.Event
		want []string
	}{
		{"text markers", logs.Formatter{}, ralph.Event{Kind: ralph.EventToolEnd, Tool: "Bash", Text: "a\nb\n"}, []string{"[OK] Result ← Bash (2 lines, 3 chars)", "  ⎿  a", "     b"}},
		{"failed tool", logs.Formatter{}, ralph.Event{Kind: ralph.EventToolEnd, Tool: "Bash", Text: "no", IsError: true}, []string{"[ERR] Error ← Bash (1 line, 2 chars)", "  ⎿  no"}},
		{"failed tool, emoji", logs.Formatter{Emoji: true, MaxOutputLines: -1}, ralph.Event{Kind: ralph.EventToolEnd, Tool: "Bash", Text: "no", IsError: true}, []string{"❌ Error ← Bash (1 line, 2 chars)"}},
		{"unknown tool", logs.Formatter{}, ralph.Event{Kind: ralph.EventToolEnd, ToolID: "never seen"}, []string{"[OK] Result ← tool (0 lines, 0 chars)"}},
		{"chars", logs.Formatter{MaxOutputChars: 3}, ralph.Event{Kind: ralph.EventToolEnd, Tool: "X", Text: "äöüß"}, []string{"[OK] Result ← X (1 line, 4 chars)", "  ⎿  äöü", "     …"}},
		{"no input", logs.Formatter{}, ralph.Event{Kind: ralph.EventToolStart, Tool: "List"}, []string{"› List"}},
		{"input on one line", logs.Formatter{}, ralph.Event{Kind: ralph.EventToolStart, Tool: "Bash", Text: "go vet\ngo test"}, []string{"› Bash(go vet go test)"}},
		{"width", logs.Formatter{Width: 14}, ralph.Event{Kind: ralph.EventToolStart, Tool: "Bash", Text: "go test ./..."}, []string{"› Bash(go te…)"}},
		{"width of output", logs.Formatter{Width: 10}, ralph.Event{Kind: ralph.EventToolEnd, Tool: "X", Text: "0123456789"}, []string{"[OK] Result ← X (1 line, 10 chars)", "  ⎿  0123…"}},
		{"timestamp", logs.Formatter{Timestamp: true}, ralph.Event{Kind: ralph.EventText, Text: "a\nb", At: at}, []string{"[09:08:07] a", "[09:08:07] b"}},
		{"colour", logs.Formatter{Color: true}, ralph.Event{Kind: ralph.EventToolStart, Tool: "X"}, []string{"\x1b[36m› X\x1b[0m"}},
		{"escape sequences", logs.Formatter{}, ralph.Event{Kind: ralph.EventText, Text: "\x1b[2Ja\x1b]0;t\x07\rb\x00\u202e"}, []string{"a", "b"}},
		{"blank text", logs.Formatter{}, ralph.Event{Kind: ralph.EventText, Text: " \n"}, nil},
		{"echo", logs.Formatter{MaxOutputLines: 1}, ralph.Event{Kind: ralph.EventText, Echo: true, Text: "you are\nto"}, []string{"  ⎿  you are", "     … 1 more line"}},
		{"progress", logs.Formatter{}, ralph.Event{Kind: ralph.EventProgress, Text: "session 1"}, []string{"session 1"}},
		{"todo markers", logs.Formatter{}, ralph.Event{Kind: ralph.EventTodo, Todos: []ralph.Todo{{Text: "a", Status: ralph.TodoDone}, {Text: "b", Status: ralph.TodoActive}, {Text: "c"}}}, []string{"[TODO] Todo List", "  [x] a", "  [>] b ← ACTIVE", "  [ ] c", "  [=] Progress: 1/3 (33%)"}},
		{"no todos", logs.Formatter{}, ralph.Event{Kind: ralph.EventTodo}, nil},
		{"unknown cost", logs.Formatter{}, ralph.Event{Kind: ralph.EventResult, Turn: &ralph.Turn{Duration: 1500 * time.Millisecond, Usage: unknown}}, []string{"[OK] Complete (cost: unknown, tokens: unknown, time: 1.5s)"}},
		{"failed turn", logs.Formatter{}, ralph.Event{Kind: ralph.EventResult, Turn: &ralph.Turn{Failure: &ralph.Failure{Kind: ralph.FailureTimeout, Message: "after 5m0s"}}}, []string{"[ERR] Failed: timeout: after 5m0s (cost: $0.00, tokens: 0 in / 0 out, time: 0s)"}},
		{"result without turn", logs.Formatter{}, ralph.Event{Kind: ralph.EventResult}, nil},
		{"iteration", logs.Formatter{Emoji: true}, ralph.Event{Kind: ralph.EventIterationStart, Iteration: 2, Max: 10}, []string{"▶ Iteration 2 of 10"}},
		{"iteration of a story", logs.Formatter{Emoji: true}, ralph.Event{Kind: ralph.EventIterationStart, Iteration: 2, Max: 10, Step: ralph.Step{Mode: "review", Story: "US-001"}}, []string{"▶ Iteration 2 of 10: review US-001"}},
		{"iteration without limit", logs.Formatter{}, ralph.Event{Kind: ralph.EventIterationStart, Iteration: 2}, []string{"> Iteration 2"}},
		{"iteration end", logs.Formatter{Emoji: true}, ralph.Event{Kind: ralph.EventIterationEnd, Record: &it}, []string{"■ Iteration 3: guardrails failed, 2m0s, $0.0123, 1 file (+2 −1), guardrails 1/2"}},
		{"retry", logs.Formatter{}, ralph.Event{Kind: ralph.EventRetry, Text: "529 overloaded", Wait: 2 * time.Second}, []string{"[RETRY] Trying again in 2s: 529 overloaded"}},
		{"wait for a usage limit", logs.Formatter{Emoji: true}, ralph.Event{Kind: ralph.EventRetry, At: at, Text: "quota: limit reached; the limit resets at 2026-02-05T11:21:00Z", Wait: 2*time.Hour + 13*time.Minute + 4*time.Second}, []string{"🔁 Waiting 2h13m, until 11:21 UTC: quota: limit reached; the limit resets at 2026-02-05T11:21:00Z"}},
		{"wait over midnight", logs.Formatter{}, ralph.Event{Kind: ralph.EventRetry, At: at.In(time.FixedZone("", -5*3600)), Wait: 15 * time.Hour}, []string{"[RETRY] Waiting 15h0m, until 2026-02-06 00:08 UTC"}},
		{"wait of a back-off", logs.Formatter{}, ralph.Event{Kind: ralph.EventRetry, At: at, Wait: 70 * time.Second}, []string{"[RETRY] Trying again in 1m10s"}},
		{"wait at an unknown time", logs.Formatter{}, ralph.Event{Kind: ralph.EventRetry, Wait: time.Hour}, []string{"[RETRY] Waiting 1h0m"}},
		{"no wait", logs.Formatter{}, ralph.Event{Kind: ralph.EventRetry, Text: "quota"}, []string{"[RETRY] Trying again: quota"}},
		{"usage so far", logs.Formatter{}, ralph.Event{Kind: ralph.EventUsage, Text: "x", Usage: &ralph.Usage{Cost: ralph.Cost{Amount: 5}}, Models: []ralph.ModelUsage{{Model: "m"}}}, nil},
		{"estimated cost", logs.Formatter{Emoji: true}, ralph.Event{Kind: ralph.EventResult, Turn: estimatedTurn(false)}, []string{"✅ Complete (cost: about $5.76, tokens: 1.2M in (850K cached) / 45K out, tools: 58, errors: 4, time: 6m7s)"}},
		{"estimated cost, a lower bound", logs.Formatter{Emoji: true}, ralph.Event{Kind: ralph.EventResult, Turn: estimatedTurn(true)}, []string{"✅ Complete (cost: ≥ ~$5.76, tokens: 1.2M in (850K cached) / 45K out, tools: 58, errors: 4, time: 6m7s)"}},
		{"guardrail start", logs.Formatter{}, ralph.Event{Kind: ralph.EventGuardrailStart, Text: "go test ./..."}, []string{"› Guardrail: go test ./..."}},
		{"guardrail passed", logs.Formatter{}, ralph.Event{Kind: ralph.EventGuardrailEnd, Verdict: &ralph.Verdict{Command: "go vet", Passed: true, Duration: time.Second}}, []string{"[OK] Guardrail passed: go vet (exit code 0, 1s)"}},
		{"guardrail failed", logs.Formatter{}, ralph.Event{Kind: ralph.EventGuardrailEnd, Verdict: &ralph.Verdict{Command: "go vet", ExitCode: 2, Duration: time.Second, Action: ralph.Append, Output: "x.go:1", LogFile: ".ralph/g.log"}}, []string{"[ERR] Guardrail failed: go vet (exit code 2, 1s, action APPEND)", "  ⎿  x.go:1", "     log: .ralph/g.log"}},
		{"guardrail broken", logs.Formatter{}, ralph.Event{Kind: ralph.EventGuardrailEnd, Verdict: &ralph.Verdict{Command: "nope", Broken: true, Reason: "not found", ExitCode: -1}}, []string{"[ERR] Guardrail could not be started: nope (not found, 0s)"}},
		{"checkpoint", logs.Formatter{}, ralph.Event{Kind: ralph.EventCheckpoint, Commit: &ralph.Commit{SHA: sha1, Subject: "ralph: iteration 1", Files: 2, Pushed: true, Own: 1}}, []string{"[GIT] Commit 1f0c2d3 ralph: iteration 1 (2 files, 1 commit of the agent below, pushed)"}},
		{"checkpoint not pushed", logs.Formatter{}, ralph.Event{Kind: ralph.EventCheckpoint, Commit: &ralph.Commit{SHA: sha1, Subject: "s", Files: 1, PushError: "503"}}, []string{"[GIT] Commit 1f0c2d3 s (1 file, not pushed: 503)"}},
		{"nothing committed", logs.Formatter{}, ralph.Event{Kind: ralph.EventCheckpoint, Commit: &ralph.Commit{}}, nil},
		{"task start", logs.Formatter{}, ralph.Event{Kind: ralph.EventTaskStart, Text: "git commit -am Fix\nthe sum"}, []string{"› SCM task: git commit -am Fix the sum"}},
		{"task done", logs.Formatter{Emoji: true}, ralph.Event{Kind: ralph.EventTaskEnd, Task: &ralph.Task{Command: "git push", Duration: time.Second, Output: "Everything up-to-date"}}, []string{"✅ SCM task done: git push (exit code 0, 1s)"}},
		{"task failed", logs.Formatter{}, ralph.Event{Kind: ralph.EventTaskEnd, Task: &ralph.Task{Command: "git push", ExitCode: 128, Output: "fatal: no\n"}}, []string{"[ERR] SCM task failed: git push (exit code 128, 0s)", "  ⎿  fatal: no"}},
		{"task that never started", logs.Formatter{}, ralph.Event{Kind: ralph.EventTaskEnd, Task: &ralph.Task{Command: "hg", ExitCode: -1}}, []string{"[ERR] SCM task failed: hg (no exit code, 0s)"}},
		{"task end without task", logs.Formatter{}, ralph.Event{Kind: ralph.EventTaskEnd}, nil},
		{"prompt", logs.Formatter{}, ralph.Event{Kind: ralph.EventPrompt, Text: "do it"}, nil},
		{"notice", logs.Formatter{}, ralph.Event{Kind: ralph.EventNotice, Text: "one\ntwo"}, []string{"[NOTE] one", "       two"}},
		{"warning", logs.Formatter{Emoji: true}, ralph.Event{Kind: ralph.EventWarning, Text: "x"}, []string{"⚠️ x"}},
		{"unknown kind", logs.Formatter{}, ralph.Event{Kind: 99, Text: "x"}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.f.Lines(c.e); !slices.Equal(got, c.want) {
				t.Errorf("Lines(%+v) = %q, want %q", c.e, got, c.want)
			}
		})
	}
}

func TestFormatterShowsATodoListOnce(t *testing.T) {
	t.Parallel()
	f := &logs.Formatter{}
	e := ralph.Event{Kind: ralph.EventTodo, Todos: []ralph.Todo{{Text: "a"}}}
	if got := len(f.Lines(e)); got != 3 {
		t.Errorf("first: %d lines, want 3", got)
	}
	if got := f.Lines(e); got != nil {
		t.Errorf("second: %q, want nothing", got)
	}
	e.Todos[0].Status = ralph.TodoDone
	if got := len(f.Lines(e)); got != 3 {
		t.Errorf("changed: %d lines, want 3", got)
	}
}

func TestFormatterForgetsCallsThatNeverEnd(t *testing.T) {
	t.Parallel()
	f := &logs.Formatter{}
	const calls = 100_000
	for i := range calls {
		f.Lines(ralph.Event{Kind: ralph.EventToolStart, Tool: "X", ToolID: fmt.Sprint(i)})
	}
	for id, want := range map[int]string{0: "tool", calls - 1: "X"} {
		want = "[OK] Result ← " + want + " (0 lines, 0 chars)"
		if got := f.Lines(ralph.Event{Kind: ralph.EventToolEnd, ToolID: fmt.Sprint(id)}); len(got) != 1 || got[0] != want {
			t.Errorf("Lines(end of call %d) = %q, want %q", id, got, want)
		}
	}
}

func FuzzFormatter(f *testing.F) {
	for kind := range 18 {
		f.Add(kind, nasty, "Bash\n@x", "id", 40)
	}
	f.Fuzz(func(t *testing.T, kind int, text, tool, id string, width int) {
		fm := &logs.Formatter{Emoji: true, Timestamp: true, MaxOutputLines: 5, MaxOutputChars: 200, Width: width}
		e := ralph.Event{
			Kind: ralph.EventKind(kind), Text: text, Tool: tool, ToolID: id, Iteration: kind, Max: width,
			Todos: []ralph.Todo{{Text: text}}, Turn: &ralph.Turn{Failure: &ralph.Failure{Message: text}},
			Record: &ralph.Iteration{}, Verdict: &ralph.Verdict{Command: text, Output: text, Reason: text}, Commit: &ralph.Commit{SHA: text, Subject: text}, Task: &ralph.Task{Command: text, Output: text, ExitCode: width},
		}
		lines := fm.Lines(e)
		lines = append(lines, logs.Verbose{}.Lines(e)...)
		lines = append(lines, (&logs.Supervise{Max: width}).Lines(e)...)
		lines = append(lines, (&logs.Supervise{}).Ending(ralph.Report{Outcome: ralph.Outcome(tool), Reason: text})...)
		for _, line := range lines {
			if i := strings.IndexFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f || r == '\u202e' || r == '\u200b' }); i >= 0 {
				t.Errorf("Lines(%d, %q) = %q has a control character at %d", kind, text, line, i)
			}
		}
	})
}
