package agent

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

const clinePrompt = "Create hello.txt with a greeting. When everything is done, answer <promise>COMPLETE</promise>."

func decodeCline(stream string, size, exit int) decoded {
	return decodeWith(stream, size, exit, func(emit func(ralph.Event), finished func()) decoder {
		return newClineDecoder(clinePrompt, emit, finished)
	})
}

// 000-20, 000-27
func TestClineTranscripts(t *testing.T) {
	t.Parallel()
	each(t, "cline", decodeCline, map[string]ralph.FailureKind{
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
	}, func(t *testing.T, got decoded, want ending) {
		tokens := ralph.Tokens{Unknown: true}
		for _, end := range want.Ends {
			u := end.Usage
			tokens = ralph.Tokens{
				Input:     int64(u["inputTokens"] - u["cacheReadTokens"] - u["cacheWriteTokens"]),
				CacheRead: int64(u["cacheReadTokens"]), CacheWrite: int64(u["cacheWriteTokens"]), Output: int64(u["outputTokens"]),
			}
		}
		if wantUsage := (ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: tokens}); got.turn.Usage != wantUsage {
			t.Errorf("Usage = %+v, want %+v", got.turn.Usage, wantUsage)
		}
		if got.done != (len(want.Ends) > 0) {
			t.Errorf("Done = %v with %d ends", got.done, len(want.Ends))
		}
	})
}

// 001-38
func TestClineEvents(t *testing.T) {
	t.Parallel()
	golden(t, "cline", decodeCline, "success_tool", "file_edit", "tool_error", "echo_marker", "api_400_too_long", "max_mistakes", "unicode")
}

func TestClineLines(t *testing.T) {
	t.Parallel()
	piece := func(text string) string {
		return `{"type":"agent_event","event":{"type":"content_start","contentType":"text","text":` + quote(text) + `}}` + "\n"
	}
	say := func(kind, text string) string {
		return `{"type":"say","say":` + quote(kind) + `,"text":` + quote(text) + `}` + "\n"
	}
	const over = `{"type":"agent_event","event":{"type":"content_end","contentType":"text","text":"x"}}` + "\n"
	const end = `{"type":"run_result","finishReason":"completed","iterations":1,"text":"x","aggregateUsage":{"inputTokens":10,"totalCost":0.25}}` + "\n"
	const half = len(marker) / 2
	for _, tt := range []struct {
		name, stream string
		says         bool
		malformed    int
		unknown      int
		failure      string
	}{
		{name: "a marker over two pieces", stream: piece("a "+marker[:half]) + piece(marker[half:]) + over + end, says: true, failure: "none"},
		{name: "a marker over two texts", stream: piece("a "+marker[:half]) + over + piece(marker[half:]) + over + end, failure: "none"},
		{name: "a text without pieces", stream: strings.Replace(over, `"x"`, quote(marker), 1) + end, says: true, failure: "none"},
		{name: "only the result has the text", stream: strings.Replace(end, `"x"`, quote(marker), 1), says: true, failure: "none"},
		{name: "reasoning", stream: strings.Replace(piece(marker), `"contentType":"text"`, `"contentType":"reasoning"`, 1) + end, failure: "none"},
		{name: "a subagent's text", stream: strings.Replace(piece(marker), `"type":"agent_event"`, `"type":"agent_event","parentAgentId":"a"`, 1) + end, failure: "none"},
		{name: "a kind of the future", stream: `{"type":"agent_event","event":{"type":"mood"}}` + "\n" + `{"type":"weather"}` + "\n" + piece("x") + over + end, unknown: 2, failure: "none"},
		{name: "a text breaks off", stream: strings.TrimSuffix(piece(marker), "}\n"), malformed: 1, failure: "malformed"},
		{name: "not JSON", stream: "hello\n" + piece("x") + over + end, malformed: 1, failure: "none"},
		{name: "aborted", stream: piece("x") + over + strings.Replace(end, "completed", "aborted", 1), failure: "crash"},
		{name: "of the seed", stream: `{"type":"say","text":` + quote(marker) + `}` + "\n", says: true, failure: "none"},
		{name: "older: a result", stream: say("text", "working") + say("completion_result", marker), says: true, failure: "none"},
		{name: "older: the prompt comes back", stream: say("task", clinePrompt) + say("text", clinePrompt+"\n") + say("text", "working"), failure: "none"},
		{name: "older: a request and what commands print", stream: say("api_req_started", `{"request":"`+marker+`"}`) + say("command_output", marker) + say("reasoning", marker) + say("user_feedback", marker) + say("text", "x"), failure: "none"},
		{name: "older: a text that still grows", stream: strings.Replace(say("text", marker), "}", `,"partial":true}`, 1) + say("text", "not yet"), failure: "none"},
		{name: "older: nothing said", stream: say("api_req_started", "{}"), failure: "empty-answer"},
		{name: "nothing", stream: "", failure: "malformed"},
	} {
		got := decodeCline(tt.stream, 3, 0)
		if got.turn.Malformed != tt.malformed || got.turn.Unknown != tt.unknown {
			t.Errorf("%s: Malformed, Unknown = %d, %d, want %d, %d", tt.name, got.turn.Malformed, got.turn.Unknown, tt.malformed, tt.unknown)
		}
		if got.says(marker) != tt.says || kind(got.failure) != tt.failure {
			t.Errorf("%s: says = %v, Failure(0) = %+v, want %v, %s", tt.name, got.says(marker), got.failure, tt.says, tt.failure)
		}
	}
	if got := decodeCline(end, 0, 0).turn.Usage.Cost; got != (ralph.Cost{Amount: 250_000}) {
		t.Errorf("Cost = %+v, want 0.25 USD", got)
	}
}

func TestClineLastWords(t *testing.T) {
	t.Parallel()
	d := newClineDecoder("p", func(ralph.Event) {}, func() {})
	d.Stderr([]byte("Warning: something\n" + `{"type":"error","message":"JSON output mode requires a prompt argument"}` + "\n"))
	d.Close()
	const want = "cline exited with code 1 without a final result: JSON output mode requires a prompt argument"
	if f := d.Failure(1); f == nil || f.Message != want {
		t.Errorf("Failure(1) = %+v, want %q", f, want)
	}
}

func FuzzCline(f *testing.F) {
	fuzzDecoder(f, []string{"cline"}, func(emit func(ralph.Event)) decoder { return newClineDecoder(clinePrompt, emit, func() {}) })
}

func decodeAmp(stream string, size, exit int) decoded {
	return decodeWith(stream, size, exit, func(emit func(ralph.Event), finished func()) decoder {
		return newClaudeDecoder("amp", emit, finished)
	})
}

// What amp prints before a login. // 000-18
func TestAmpTranscripts(t *testing.T) {
	t.Parallel()
	crash := map[string]ralph.FailureKind{}
	for _, name := range []string{"bad_flag", "dangerously_allow_all", "fake_key", "fake_key_refused", "no_login", "no_login_default_url", "seed_order"} {
		crash[name] = ralph.FailureCrash
	}
	each(t, "amp", decodeAmp, crash, func(*testing.T, decoded, ending) {})
}

const (
	ampInit  = `{"type":"system","subtype":"init","session_id":"T-1","tools":["Bash"]}` + "\n"
	ampEcho  = `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"say <promise>COMPLETE</promise>"}]},"parent_tool_use_id":null,"session_id":"T-1"}` + "\n"
	ampTool  = `{"type":"assistant","message":{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"cmd":"ls"}}],"usage":{"input_tokens":5}},"parent_tool_use_id":null,"session_id":"T-1"}` + "\n"
	ampBack  = `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"<promise>COMPLETE</promise>","is_error":false}]},"session_id":"T-1"}` + "\n"
	ampSays  = `{"type":"assistant","message":{"content":[{"type":"text","text":"All done. <promise>COMPLETE</promise>"}]},"session_id":"T-1"}` + "\n"
	ampGood  = `{"type":"result","subtype":"success","result":"All done.","duration_ms":1234,"is_error":false,"num_turns":3,"usage":{"input_tokens":100,"output_tokens":50,"cache_read_input_tokens":80,"cache_creation_input_tokens":7},"session_id":"T-1"}` + "\n"
	ampError = `{"type":"result","subtype":"error_during_execution","error":"Out of credits","is_error":true,"duration_ms":5,"num_turns":1,"session_id":"T-1"}` + "\n"
)

// 001-43, 001-39, 000-18, 000-27
func TestAmpStream(t *testing.T) {
	t.Parallel()
	got := decodeAmp(ampInit+ampEcho+ampTool+ampBack+ampSays+ampGood, 5, 0)
	if !got.says(marker) || got.failure != nil || !got.done || got.turn.Unknown+got.turn.Malformed != 0 {
		t.Errorf("a good turn: says = %v, failure = %+v, turn = %+v", got.says(marker), got.failure, got.turn)
	}
	want := ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Input: 100, Output: 50, CacheRead: 80, CacheWrite: 7}}
	if got.turn.Usage != want || got.turn.Session != "T-1" || got.turn.Messages != 3 || got.turn.Tools != 1 {
		t.Errorf("turn = %+v, want usage %+v, session T-1, 3 messages, 1 tool", got.turn, want)
	}
	// The prompt it repeats and what tools print are not its words.
	if got := decodeAmp(ampInit+ampEcho+ampTool+ampBack+ampGood, 0, 0); got.says(marker) {
		t.Error("the marker of an echoed prompt or of a tool counts")
	}
	got = decodeAmp(ampInit+ampError, 0, 1)
	if kind(got.failure) != "crash" || got.failure.Message != "Out of credits" {
		t.Errorf("an error result: failure = %+v, want a crash with its text", got.failure)
	}
	got = decodeAmp(ampInit+ampSays+ampSays[:40], 0, 143)
	if kind(got.failure) != "crash" || got.failure.Message != "amp exited with code 143 (terminated) without a final result" || got.turn.Malformed != 1 {
		t.Errorf("a turn that was ended: failure = %+v", got.failure)
	}
}

func FuzzAmp(f *testing.F) {
	f.Add([]byte(ampInit+ampEcho+ampTool+ampBack+ampSays+ampGood), uint8(3))
	f.Add([]byte(ampInit+ampError), uint8(200))
	fuzzDecoder(f, []string{"amp"}, func(emit func(ralph.Event)) decoder { return newClaudeDecoder("amp", emit, func() {}) })
}
