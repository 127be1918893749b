package claude

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/streamjson"
	"github.com/org/ralph-action/internal/ralph"
)

func TestClaudeStreamShapes(t *testing.T) {
	t.Parallel()
	hello := agenttest.Say("m1", "hello "+agenttest.Marker)
	for _, tt := range []struct {
		name, stream       string
		want               string // failure on exit 0
		marker             bool
		malformed, unknown int
	}{
		{name: "plain", stream: hello + agenttest.Good, want: "none", marker: true},
		{name: "CRLF", stream: strings.ReplaceAll(hello+agenttest.Good, "\n", "\r\n"), want: "none", marker: true},
		{name: "BOM and blank lines", stream: "\xef\xbb\xbf\n \n" + hello + "\n\n" + agenttest.Good, want: "none", marker: true},
		{name: "no line end at the end", stream: hello + strings.TrimSpace(agenttest.Good), want: "none", marker: true},
		{name: "type with spaces and last", stream: hello + `{ "result" : "bye" , "is_error" : false, "total_cost_usd": 1, "subtype": "success", "type" : "result" }`, want: "none", marker: true},
		{name: "result cut off", stream: hello + agenttest.Good[:len(agenttest.Good)-20], want: "malformed", marker: true, malformed: 1},
		{name: "text cut off", stream: hello[:len(hello)-60], want: "malformed", malformed: 1},
		{name: "garbage between", stream: "npm warn x\n" + hello + "{}{}\n{\"type\":\n" + agenttest.Good, want: "none", marker: true, malformed: 3},
		{name: "unknown events and blocks", stream: `{"type":"novelty"}` + "\n" + `{"no":"type"}` + "\n" + `{"type":"assistant","message":{"id":"x","model":"m","content":[{"type":"hologram"}]}}` + "\n" + hello + agenttest.Good, want: "none", marker: true, unknown: 3},
		{name: "odd shapes", stream: `{"type":"assistant"}` + "\n" + `{"type":"assistant","message":3}` + "\n" + `{"type":"user","message":{"content":"` + agenttest.Marker + `"}}` + "\n" + `{"type":["result"]}` + "\n" + `{"type":"assistant","message":{"content":[1,null,"x"]}}` + "\n" + `[1]` + "\n" + `"result"` + "\n" + agenttest.Good, want: "none", malformed: 2, unknown: 1},
		{name: "invalid UTF-8", stream: strings.Replace(hello, "hello", "\xff\xfe", 1) + agenttest.Good, want: "none", marker: true},
		{name: "model and parent behind the content", stream: `{"message":{"content":[{"text":"` + agenttest.Marker + `","type":"text"}],"model":"<synthetic>"},"type":"assistant"}` + "\n" + `{"message":{"content":[{"text":"` + agenttest.Marker + `","type":"text"}],"id":"z","model":"m"},"type":"assistant","parent_tool_use_id":"t1"}` + "\n" + agenttest.Say("m", "no") + agenttest.Good, want: "none"},
		{name: "marker split over two blocks", stream: `{"type":"assistant","message":{"id":"x","model":"m","content":[{"type":"text","text":"<promise>COMP"},{"type":"text","text":"LETE</promise>"}]}}` + "\n" + agenttest.Good, want: "none", marker: true},
		{name: "marker split over two events of one message", stream: agenttest.Say("x", "<promise>COMP") + agenttest.Say("x", "LETE</promise>") + agenttest.Good, want: "none", marker: true},
		{name: "marker split over two messages", stream: agenttest.Say("x", "<promise>COMP") + agenttest.Say("y", "LETE</promise>") + agenttest.Good, want: "none"},
		{name: "messages without an id are not one", stream: strings.ReplaceAll(agenttest.Say("", "<promise>COMP")+agenttest.Say("", "LETE</promise>"), `"id":"",`, "") + agenttest.Good, want: "none"},
		{name: "marker in the result only", stream: strings.Replace(agenttest.Good, "bye", agenttest.Marker, 1), want: "none", marker: true},
		{name: "marker in an error result", stream: agenttest.Say("m", "no") + strings.NewReplacer("bye", agenttest.Marker, `"is_error":false`, `"is_error":true`).Replace(agenttest.Good), want: "crash"},
		{name: "words about rate limits", stream: agenttest.Say("m", "API Error: Request rejected (429) rate limit reached; Claude AI usage limit reached|1749924000") + agenttest.Good, want: "none"},
		{name: "no result", stream: hello, want: "malformed", marker: true},
		{name: "nothing", stream: "", want: "malformed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{0, 1} {
				got := decodeStream(tt.stream, size, 0)
				if agenttest.FailureKind(got.Failure) != tt.want || got.Says(agenttest.Marker) != tt.marker || got.Turn.Malformed != tt.malformed || got.Turn.Unknown != tt.unknown {
					t.Errorf("size %d: failure, marker, Malformed, Unknown = %s, %v, %d, %d, want %s, %v, %d, %d", size,
						agenttest.FailureKind(got.Failure), got.Says(agenttest.Marker), got.Turn.Malformed, got.Turn.Unknown, tt.want, tt.marker, tt.malformed, tt.unknown)
				}
			}
		})
	}
}

func errorResult(fields string) string {
	return `{"type":"result","subtype":"success","is_error":true,"result":"API Error: x","total_cost_usd":0,"modelUsage":{},` + fields + `"session_id":"s"}` + "\n"
}

func synthetic(kind string) string {
	return `{"type":"assistant","message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"API Error: x"}]},"parent_tool_use_id":null,"error":"` + kind + `"}` + "\n"
}

func TestClaudeFailureKinds(t *testing.T) {
	t.Parallel()
	rejected := `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795219764,"rateLimitType":"five_hour"}}` + "\n"
	warning := strings.Replace(rejected, "rejected", "allowed_warning", 1)
	reset := time.Unix(1795219764, 0).UTC()
	for _, tt := range []struct {
		name, stream string
		want         ralph.FailureKind
		retryAt      time.Time
	}{
		{"401", errorResult(`"api_error_status":401,`), ralph.FailureAuth, time.Time{}},
		{"403", errorResult(`"api_error_status":403,`), ralph.FailureAuth, time.Time{}},
		{"no status, authentication_failed", synthetic("authentication_failed") + errorResult(""), ralph.FailureAuth, time.Time{}},
		{"404", errorResult(`"api_error_status":404,`), ralph.FailureModel, time.Time{}},
		{"413", errorResult(`"api_error_status":413,`), ralph.FailureRequest, time.Time{}},
		{"429", errorResult(`"api_error_status":429,`), ralph.FailureAPI, time.Time{}},
		{"429 and a warning", warning + errorResult(`"api_error_status":429,`), ralph.FailureAPI, time.Time{}},
		{"429 and a usage limit", rejected + errorResult(`"api_error_status":429,`), ralph.FailureQuota, reset},
		{"rate_limit and a usage limit", rejected + synthetic("rate_limit") + errorResult(""), ralph.FailureQuota, reset},
		{"a usage limit that was lifted", rejected + warning + errorResult(`"api_error_status":429,`), ralph.FailureAPI, time.Time{}},
		{"a usage limit and another error", rejected + errorResult(`"api_error_status":500,`), ralph.FailureAPI, time.Time{}},
		{"usage limit of old", strings.Replace(errorResult(""), "API Error: x", "Claude AI usage limit reached|1795219764", 1), ralph.FailureQuota, reset},
		{"usage limit of old without a time", strings.Replace(errorResult(""), "API Error: x", "Claude AI usage limit reached|soon", 1), ralph.FailureQuota, time.Time{}},
		{"billing", synthetic("billing_error") + errorResult(`"api_error_status":400,`), ralph.FailureQuota, time.Time{}},
		{"500", errorResult(`"api_error_status":500,`), ralph.FailureAPI, time.Time{}},
		{"529", errorResult(`"api_error_status":529,`), ralph.FailureAPI, time.Time{}},
		{"overloaded", synthetic("overloaded") + errorResult(""), ralph.FailureAPI, time.Time{}},
		{"a kind of tomorrow", synthetic("gremlins") + errorResult(""), ralph.FailureAPI, time.Time{}},
		{"prompt too long", errorResult(`"terminal_reason":"prompt_too_long",`), ralph.FailureRequest, time.Time{}},
		{"refusal", errorResult(`"stop_reason":"refusal",`), ralph.FailureRequest, time.Time{}},
		{"a subagent's error before", strings.Replace(synthetic("authentication_failed"), `"parent_tool_use_id":null`, `"parent_tool_use_id":"t"`, 1) + errorResult(`"terminal_reason":"prompt_too_long",`), ralph.FailureRequest, time.Time{}},
		{"an error that was overcome", synthetic("rate_limit") + agenttest.Say("n", "on we go") + errorResult(""), ralph.FailureCrash, time.Time{}},
		{"nothing known", errorResult(""), ralph.FailureCrash, time.Time{}},
		{"died behind an error", synthetic("authentication_failed"), ralph.FailureAuth, time.Time{}},
	} {
		for _, exit := range []int{0, 1} {
			f := decodeStream(agenttest.Say("m", "hi")+tt.stream, 0, exit).Failure
			if f == nil || f.Kind != tt.want || !f.RetryAt.Equal(tt.retryAt) || f.Message == "" {
				t.Errorf("%s: Failure(%d) = %+v, want kind %v, retry at %v", tt.name, exit, f, tt.want, tt.retryAt)
			}
		}
	}
	if f := decodeStream(agenttest.Say("m", "hi")+agenttest.Good, 0, 1).Failure; agenttest.FailureKind(f) != "crash" {
		t.Errorf("good result, Failure(1) = %s, want crash", agenttest.FailureKind(f))
	}
}

// What claude 2.1.197 prints when a subscription's limit is used up.
func TestClaudeUsageLimit(t *testing.T) {
	t.Parallel()
	f := decodeStream(agenttest.Transcript(t, "usage_limit"), 0, 1).Failure
	if want := time.Unix(1795299764, 0); agenttest.FailureKind(f) != "quota" || !f.RetryAt.Equal(want) || f.Message != "You've hit your limit · resets 10:22pm (UTC)" {
		t.Errorf("Failure(1) = %+v, want quota until %v", f, want)
	}
}

// Several results: the last one stands, and what follows it makes the usage a
// lower bound.
func TestClaudeSeveralResults(t *testing.T) {
	t.Parallel()
	second := strings.NewReplacer("0.25", "0.75", `"inputTokens":10`, `"inputTokens":20`, "bye", "later").Replace(agenttest.Good)
	got := decodeStream(agenttest.Say("a", "one")+agenttest.Good+agenttest.Say("b", "two")+second, 0, 0)
	want := ralph.Usage{Cost: ralph.Cost{Amount: 750_000}, Tokens: ralph.Tokens{Input: 21, Output: 2, CacheRead: 3, CacheWrite: 4}}
	if got.Turn.Usage != want || got.Turn.Messages != 2 || got.Turn.FinalText != "later" || got.Finished != 2 {
		t.Errorf("Turn = %+v, finished %d times, want usage %+v", got.Turn, got.Finished, want)
	}
	got = decodeStream(agenttest.Say("a", "one")+agenttest.Good+agenttest.Say("b", "two"), 0, 0)
	if c := got.Turn.Usage.Cost; !c.Unknown || c.Amount != 250_000 {
		t.Errorf("Cost = %+v, want at least $0.25", c)
	}
}

// A subagent that still works in the background keeps the turn open; a shell
// command in the background does not.
func TestClaudeFinishedWaitsForSubagents(t *testing.T) {
	t.Parallel()
	started := func(kind string) string {
		return `{"type":"system","subtype":"task_started","task_id":"t","task_type":"` + kind + `"}` + "\n"
	}
	updated := func(status string) string {
		return `{"type":"system","subtype":"task_updated","task_id":"t","patch":{"status":"` + status + `"}}` + "\n"
	}
	for _, tt := range []struct {
		name, stream string
		want         int
	}{
		{"shell", started("local_bash") + agenttest.Good, 1},
		{"subagent at work", started("local_agent") + updated("running") + agenttest.Good, 0},
		{"subagent done", started("local_agent") + agenttest.Good + updated("completed") + agenttest.Good, 1},
		{"subagent failed", started("local_agent") + updated("failed") + agenttest.Good, 1},
		{"subagent notified", started("local_agent") + `{"type":"system","subtype":"task_notification","task_id":"t","status":"completed"}` + "\n" + agenttest.Good, 1},
	} {
		if got := decodeStream(tt.stream, 0, 0); got.Finished != tt.want {
			t.Errorf("%s: finished %d times, want %d", tt.name, got.Finished, tt.want)
		}
	}
}

// 001-40, pitfall 5: huge texts come whole but in pieces, huge outputs are cut
// with their size, huge lines are cut and said.
func TestClaudeHuge(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Zeile \"größer\"\t😀\n", 100_000)
	got := decodeStream(agenttest.Say("m", long+agenttest.Marker)+strings.Replace(agenttest.Good, `"bye"`, agenttest.Quote(long+agenttest.Marker), 1), 64<<10, 0)
	if !got.Says(agenttest.Marker) || strings.Join(got.Searchable(), "") != long+agenttest.Marker {
		t.Error("a text of 2 MB is not passed on whole, or twice")
	}
	if n := len(got.Turn.FinalText); n > driver.MaxText || !strings.HasSuffix(got.Turn.FinalText, agenttest.Marker) {
		t.Errorf("FinalText has %d bytes, want the last %d at most", n, driver.MaxText)
	}
	for _, e := range got.Events {
		if len(e.Text) > driver.MaxText || strings.Contains(e.Text, "\uFFFD") {
			t.Fatalf("an event of %d bytes splits a character or is longer than %d", len(e.Text), driver.MaxText)
		}
	}

	use := `{"type":"assistant","message":{"id":"m","model":"m","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/p","content":` + agenttest.Quote(long) + `}}]}}` + "\n"
	end := `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":` + agenttest.Quote(long) + `}]}}` + "\n"
	got = decodeStream(use+end+agenttest.Good, 64<<10, 0)
	if e := got.Events[0]; e.Tool != "Read" || e.Text != "/p" {
		t.Errorf("tool start = %s %q, want Read /p", e.Tool, e.Text)
	}
	lines, chars := 100_001, 100_000*len([]rune("Zeile \"größer\"\t😀\n"))
	if e := got.Events[1]; e.Lines != lines || e.Chars != chars || len(e.Text) > 16<<10 || !strings.HasPrefix(e.Text, "Zeile") {
		t.Errorf("tool end has %d bytes of %d lines, %d characters; want %d, %d", len(e.Text), e.Lines, e.Chars, lines, chars)
	}
}

// A line beyond the limit is counted; its tool call still ends, and its text is
// shown but not believed.
func TestClaudeLineBeyondLimit(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	long := strings.Repeat("x", limit)
	use := `{"type":"assistant","message":{"id":"m","model":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]}}` + "\n"
	end := `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"` + long + `"}]},"session_id":"s"}` + "\n"
	got := decodeLines(use+end+agenttest.Say("m", agenttest.Marker+long)+agenttest.Say("n", "next")+agenttest.Good, 64<<10, 0, limit)
	if got.Turn.Malformed != 2 || got.Failure != nil {
		t.Errorf("Malformed, failure = %d, %+v, want 2, none", got.Turn.Malformed, got.Failure)
	}
	if got.Count(ralph.EventToolEnd) != 1 || got.Says(agenttest.Marker) || !got.Says("next") {
		t.Errorf("tool ends = %d, marker found = %v, want 1, false, and the stream to go on", got.Count(ralph.EventToolEnd), got.Says(agenttest.Marker))
	}
}

func TestClaudeToolSummaries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ tool, input, want string }{
		{"Read", `{"limit":3,"file_path":"/w/a.go"}`, "/w/a.go"},
		{"Bash", `{"description":"list","command":"ls\n  -la"}`, "ls -la"},
		{"Grep", `{"path":"/w","pattern":"a.*b"}`, "a.*b"},
		{"Task", `{"prompt":"long","description":"short"}`, "short"},
		{"TaskUpdate", `{"taskId":"3","status":"completed"}`, "#3 completed"},
		{"TodoWrite", `{"todos":[]}`, ""},
		{"TaskList", `{}`, ""},
		{"mcp__x__y", `{"a":1,"b":[2]}`, `{"a":1,"b":[2]}`},
		{"Odd", `"text"`, `"text"`},
		{"None", ``, ""},
	} {
		if got := driver.InputSummary(tt.tool, []byte(tt.input)); got != tt.want {
			t.Errorf("inputSummary(%s, %s) = %q, want %q", tt.tool, tt.input, got, tt.want)
		}
	}
	if got := driver.InputSummary("Bash", []byte(`{"command":"`+strings.Repeat("ä ", 9999)+`"}`)); len([]rune(got)) != driver.MaxMessage || !strings.HasSuffix(got, "…") {
		t.Errorf("inputSummary of a long command has %d characters, want %d", len([]rune(got)), driver.MaxMessage)
	}
}

// What the decoder keeps does not grow with the stream. This test is not
// parallel: it measures the heap.
func TestClaudeMemoryIsFlat(t *testing.T) {
	block := agenttest.BigStream(8 << 20)
	d := streamjson.New("claude", func(ralph.Event) {}, func() {})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 8 {
		for rest := block; len(rest) > 0; {
			n := min(len(rest), 64<<10)
			d.Stdout(rest[:n])
			rest = rest[n:]
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 6<<20 {
		t.Errorf("the decoder keeps %d bytes after 64 MiB, want at most 6 MiB", kept)
	}
	if made := after.TotalAlloc - before.TotalAlloc; made > 40<<20 {
		t.Errorf("the decoder allocated %d bytes for 64 MiB, want at most 40 MiB", made)
	}
	runtime.KeepAlive(d)
}

// A line of nothing but blocks costs no more memory than any other.
func TestClaudeManyBlocks(t *testing.T) {
	t.Parallel()
	line := `{"type":"assistant","message":{"id":"m","model":"m","content":[` + strings.Repeat(`{"type":"text","text":"x"},`, 100_000) + `{}]}}` + "\n"
	got := decodeStream(line+agenttest.Good, 0, 0)
	if n := got.Count(ralph.EventText); n > 1024+1 || got.Turn.Malformed != 0 {
		t.Errorf("100,000 blocks = %d texts, %d malformed, want at most %d and none", n, got.Turn.Malformed, 1024)
	}
}

// FuzzClaude feeds anything: nothing panics, nothing grows beyond its bound,
// how the stream is split does not matter, and a marker that stands in a tool
// result only is never the agent's own text.
func FuzzClaude(f *testing.F) {
	files, err := filepath.Glob(agenttest.Testdata("claude", "*.ndjson"))
	if err != nil || len(files) == 0 {
		f.Fatal(err, len(files))
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 20<<10 {
			f.Add(string(b), "output "+agenttest.Marker, 7)
		}
	}
	f.Add(`{"type":"user","message":{"content":"Stop hook feedback: go on"},"isSynthetic":true}`, "Stop hook feedback:"+agenttest.Marker, 3)
	f.Fuzz(func(t *testing.T, stream, output string, size int) {
		// The foreign text stands in a tool result, JSON-encoded as the CLI does.
		if strings.Contains(stream, "promise") || strings.Contains(stream, `\`) {
			stream = ""
		}
		poisoned := `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":` + agenttest.Quote(output) + `}]}}` + "\n" + stream
		got := decodeStream(poisoned, 0, 0)
		if got.Says(agenttest.Marker) {
			t.Errorf("decode(%q) says the marker, which stood in a tool result", poisoned)
		}
		if size > 0 {
			if again := decodeStream(poisoned, size, 0); again.Render() != got.Render() {
				t.Errorf("decode in pieces of %d = %s, want %s", size, again.Render(), got.Render())
			}
		}
		// Whatever a tool puts out, it does not pass for a stop hook.
		if alone := decodeStream("\n"+stream, 0, 0); got.Turn.Kept != alone.Turn.Kept || got.Turn.Kept != got.Count(ralph.EventKept) {
			t.Errorf("Kept = %d, with %d events, want %d", got.Turn.Kept, got.Count(ralph.EventKept), alone.Turn.Kept)
		}
		for _, text := range keptTexts(got) {
			if len([]rune(text)) > driver.MaxMessage || strings.Contains(text, "\n") {
				t.Errorf("a stop hook's words of %d bytes, want one line of at most %d characters", len(text), driver.MaxMessage)
			}
		}
		for _, e := range got.Events {
			if len(e.Text) > 3*driver.MaxText+100 || len(e.Tool) > 3*driver.MaxName || len(e.ToolID) > 3*driver.MaxName || len(e.Message) > 3*driver.MaxName {
				t.Errorf("an event is beyond its bounds: %d bytes", len(e.Text))
			}
		}
		if got.Failure != nil && len([]rune(got.Failure.Message)) > driver.MaxMessage {
			t.Errorf("failure message has %d characters, want at most %d", len([]rune(got.Failure.Message)), driver.MaxMessage)
		}
	})
}

// decodeStream feeds a stream in pieces of size bytes; 0 is all at once.
func decodeStream(stream string, size, exit int) agenttest.Decoded {
	return decodeLines(stream, size, exit, driver.MaxLine)
}

// decodeLines is decodeClaude with a bound of its own for a line.
func decodeLines(stream string, size, exit, limit int) agenttest.Decoded {
	var got agenttest.Decoded
	d := streamjson.New("claude", func(e ralph.Event) { got.Events = append(got.Events, e) }, func() { got.Finished++ })
	d.Out.Limit = limit
	agenttest.Feed(d, stream, size)
	got.Turn, got.Failure, got.Done = d.Turn(), d.Failure(exit), d.Done()
	return got
}
