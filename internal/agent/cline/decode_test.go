package cline

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

const testPrompt = "Create hello.txt with a greeting. When everything is done, answer <promise>COMPLETE</promise>."

func decodeStream(stream string, size, exit int) agenttest.Decoded {
	return agenttest.Decode(stream, size, exit, func(emit func(ralph.Event), finished func()) driver.Decoder {
		return newDecoder(testPrompt, emit, finished)
	})
}

// 000-20, 000-27
func TestClineTranscripts(t *testing.T) {
	t.Parallel()
	agenttest.Each(t, "cline", decodeStream, map[string]ralph.FailureKind{
		"api_400_too_long": ralph.FailureRequest,
		"api_401":          ralph.FailureAuth,
		"api_429":          ralph.FailureAPI,
		"api_500":          ralph.FailureCrash,
		"api_refused":      ralph.FailureCrash,
		"bad_flag":         ralph.FailureCrash,
		"max_mistakes":     ralph.FailureCrash,
		"stdin_only":       ralph.FailureCrash,
		"stream_cut":       ralph.FailureAPI,
		"timeout":          ralph.FailureCrash,
	}, func(t *testing.T, got agenttest.Decoded, want agenttest.Ending) {
		tokens := ralph.Tokens{Unknown: true}
		for _, end := range want.Ends {
			u := end.Usage
			tokens = ralph.Tokens{
				Input:     int64(u["inputTokens"] - u["cacheReadTokens"] - u["cacheWriteTokens"]),
				CacheRead: int64(u["cacheReadTokens"]), CacheWrite: int64(u["cacheWriteTokens"]), Output: int64(u["outputTokens"]),
			}
		}
		if wantUsage := (ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: tokens}); got.Turn.Usage != wantUsage {
			t.Errorf("Usage = %+v, want %+v", got.Turn.Usage, wantUsage)
		}
		if got.Done != (len(want.Ends) > 0) {
			t.Errorf("Done = %v with %d ends", got.Done, len(want.Ends))
		}
	})
}

// 001-38
func TestClineEvents(t *testing.T) {
	t.Parallel()
	agenttest.Golden(t, "cline", decodeStream, "success_tool", "file_edit", "tool_error", "echo_marker", "api_400_too_long", "max_mistakes", "unicode")
}

func TestClineLines(t *testing.T) {
	t.Parallel()
	piece := func(text string) string {
		return `{"type":"agent_event","event":{"type":"content_start","contentType":"text","text":` + agenttest.Quote(text) + `}}` + "\n"
	}
	say := func(kind, text string) string {
		return `{"type":"say","say":` + agenttest.Quote(kind) + `,"text":` + agenttest.Quote(text) + `}` + "\n"
	}
	const over = `{"type":"agent_event","event":{"type":"content_end","contentType":"text","text":"x"}}` + "\n"
	const end = `{"type":"run_result","finishReason":"completed","iterations":1,"text":"x","aggregateUsage":{"inputTokens":10,"totalCost":0.25}}` + "\n"
	const half = len(agenttest.Marker) / 2
	for _, tt := range []struct {
		name, stream string
		says         bool
		malformed    int
		unknown      int
		failure      string
	}{
		{name: "a marker over two pieces", stream: piece("a "+agenttest.Marker[:half]) + piece(agenttest.Marker[half:]) + over + end, says: true, failure: "none"},
		{name: "a marker over two texts", stream: piece("a "+agenttest.Marker[:half]) + over + piece(agenttest.Marker[half:]) + over + end, failure: "none"},
		{name: "a text without pieces", stream: strings.Replace(over, `"x"`, agenttest.Quote(agenttest.Marker), 1) + end, says: true, failure: "none"},
		{name: "only the result has the text", stream: strings.Replace(end, `"x"`, agenttest.Quote(agenttest.Marker), 1), says: true, failure: "none"},
		{name: "reasoning", stream: strings.Replace(piece(agenttest.Marker), `"contentType":"text"`, `"contentType":"reasoning"`, 1) + end, failure: "none"},
		{name: "a subagent's text", stream: strings.Replace(piece(agenttest.Marker), `"type":"agent_event"`, `"type":"agent_event","parentAgentId":"a"`, 1) + end, failure: "none"},
		{name: "a kind of the future", stream: `{"type":"agent_event","event":{"type":"mood"}}` + "\n" + `{"type":"weather"}` + "\n" + piece("x") + over + end, unknown: 2, failure: "none"},
		{name: "a text breaks off", stream: strings.TrimSuffix(piece(agenttest.Marker), "}\n"), malformed: 1, failure: "malformed"},
		{name: "not JSON", stream: "hello\n" + piece("x") + over + end, malformed: 1, failure: "none"},
		{name: "aborted", stream: piece("x") + over + strings.Replace(end, "completed", "aborted", 1), failure: "crash"},
		{name: "of the seed", stream: `{"type":"say","text":` + agenttest.Quote(agenttest.Marker) + `}` + "\n", says: true, failure: "none"},
		{name: "older: a result", stream: say("text", "working") + say("completion_result", agenttest.Marker), says: true, failure: "none"},
		{name: "older: the prompt comes back", stream: say("task", testPrompt) + say("text", testPrompt+"\n") + say("text", "working"), failure: "none"},
		{name: "older: a request and what commands print", stream: say("api_req_started", `{"request":"`+agenttest.Marker+`"}`) + say("command_output", agenttest.Marker) + say("reasoning", agenttest.Marker) + say("user_feedback", agenttest.Marker) + say("text", "x"), failure: "none"},
		{name: "older: a text that still grows", stream: strings.Replace(say("text", agenttest.Marker), "}", `,"partial":true}`, 1) + say("text", "not yet"), failure: "none"},
		{name: "older: nothing said", stream: say("api_req_started", "{}"), failure: "empty-answer"},
		{name: "nothing", stream: "", failure: "malformed"},
	} {
		got := decodeStream(tt.stream, 3, 0)
		if got.Turn.Malformed != tt.malformed || got.Turn.Unknown != tt.unknown {
			t.Errorf("%s: Malformed, Unknown = %d, %d, want %d, %d", tt.name, got.Turn.Malformed, got.Turn.Unknown, tt.malformed, tt.unknown)
		}
		if got.Says(agenttest.Marker) != tt.says || agenttest.FailureKind(got.Failure) != tt.failure {
			t.Errorf("%s: says = %v, Failure(0) = %+v, want %v, %s", tt.name, got.Says(agenttest.Marker), got.Failure, tt.says, tt.failure)
		}
	}
	if got := decodeStream(end, 0, 0).Turn.Usage.Cost; got != (ralph.Cost{Amount: 250_000}) {
		t.Errorf("Cost = %+v, want 0.25 USD", got)
	}
}

func TestClineLastWords(t *testing.T) {
	t.Parallel()
	d := newDecoder("p", func(ralph.Event) {}, func() {})
	d.Stderr([]byte("Warning: something\n" + `{"type":"error","message":"JSON output mode requires a prompt argument"}` + "\n"))
	d.Close()
	const want = "cline exited with code 1 without a final result: JSON output mode requires a prompt argument"
	if f := d.Failure(1); f == nil || f.Message != want {
		t.Errorf("Failure(1) = %+v, want %q", f, want)
	}
}

func FuzzCline(f *testing.F) {
	agenttest.RunFuzz(f, []string{"cline"}, func(emit func(ralph.Event)) driver.Decoder { return newDecoder(testPrompt, emit, func() {}) })
}

// What a subagent says begins another text: the agent's own before it stay its own.
func TestClineSubagentBetween(t *testing.T) {
	t.Parallel()
	event := func(parent, text string) string {
		return `{"type":"agent_event"` + parent + `,"event":{"type":"content_update","contentType":"text","text":"` + text + `"}}` + "\n"
	}
	stream := event("", "mine ") + event(`,"parentAgentId":"p"`, "theirs ") + event("", "after")
	got := decodeStream(stream, 0, 0)
	if own, echo := got.Words(false), got.Words(true); own != "mine " || echo != "theirs after" {
		t.Errorf("own words %q, echo %q, want %q, %q", own, echo, "mine ", "theirs after")
	}
}
