package amp

import (
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/streamjson"
	"github.com/org/ralph-action/internal/ralph"
)

func decodeStream(stream string, size, exit int) agenttest.Decoded {
	return agenttest.Decode(stream, size, exit, func(emit func(ralph.Event), finished func()) driver.Decoder {
		return streamjson.New("amp", emit, finished)
	})
}

// What amp prints before a login. // 000-18
func TestAmpTranscripts(t *testing.T) {
	t.Parallel()
	crash := map[string]ralph.FailureKind{}
	for _, name := range []string{"bad_flag", "dangerously_allow_all", "fake_key", "fake_key_refused", "no_login", "no_login_default_url", "seed_order"} {
		crash[name] = ralph.FailureCrash
	}
	agenttest.Each(t, "amp", decodeStream, crash, func(*testing.T, agenttest.Decoded, agenttest.Ending) {})
}

// 001-43, 001-39, 000-18, 000-27
func TestAmpStream(t *testing.T) {
	t.Parallel()
	got := decodeStream(initLine+echo+tool+back+says+goodLine, 5, 0)
	if !got.Says(agenttest.Marker) || got.Failure != nil || !got.Done || got.Turn.Unknown+got.Turn.Malformed != 0 {
		t.Errorf("a good turn: says = %v, failure = %+v, turn = %+v", got.Says(agenttest.Marker), got.Failure, got.Turn)
	}
	want := ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Input: 100, Output: 50, CacheRead: 80, CacheWrite: 7}}
	if got.Turn.Usage != want || got.Turn.Session != "T-1" || got.Turn.Messages != 3 || got.Turn.Tools != 1 {
		t.Errorf("turn = %+v, want usage %+v, session T-1, 3 messages, 1 tool", got.Turn, want)
	}
	// The prompt it repeats and what tools print are not its words.
	if got := decodeStream(initLine+echo+tool+back+goodLine, 0, 0); got.Says(agenttest.Marker) {
		t.Error("the marker of an echoed prompt or of a tool counts")
	}
	got = decodeStream(initLine+errorLine, 0, 1)
	if agenttest.FailureKind(got.Failure) != "crash" || got.Failure.Message != "Out of credits" {
		t.Errorf("an error result: failure = %+v, want a crash with its text", got.Failure)
	}
	got = decodeStream(initLine+says+says[:40], 0, 143)
	if agenttest.FailureKind(got.Failure) != "crash" || got.Failure.Message != "amp exited with code 143 (terminated) without a final result" || got.Turn.Malformed != 1 {
		t.Errorf("a turn that was ended: failure = %+v", got.Failure)
	}
}

func FuzzAmp(f *testing.F) {
	f.Add([]byte(initLine+echo+tool+back+says+goodLine), uint8(3))
	f.Add([]byte(initLine+errorLine), uint8(200))
	agenttest.RunFuzz(f, []string{"amp"}, func(emit func(ralph.Event)) driver.Decoder { return streamjson.New("amp", emit, func() {}) })
}

func TestAmpUsageWhileRunning(t *testing.T) {
	t.Parallel()
	got := decodeStream(initLine+tool+back+says+goodLine, 0, 0)
	if n := got.Count(ralph.EventUsage); n != 2 {
		t.Errorf("amp told its usage %d times, want once for a message and once for the result", n)
	}
}

const (
	initLine  = `{"type":"system","subtype":"init","session_id":"T-1","tools":["Bash"]}` + "\n"
	echo      = `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"say <promise>COMPLETE</promise>"}]},"parent_tool_use_id":null,"session_id":"T-1"}` + "\n"
	tool      = `{"type":"assistant","message":{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"cmd":"ls"}}],"usage":{"input_tokens":5}},"parent_tool_use_id":null,"session_id":"T-1"}` + "\n"
	back      = `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"<promise>COMPLETE</promise>","is_error":false}]},"session_id":"T-1"}` + "\n"
	says      = `{"type":"assistant","message":{"content":[{"type":"text","text":"All done. <promise>COMPLETE</promise>"}]},"session_id":"T-1"}` + "\n"
	goodLine  = `{"type":"result","subtype":"success","result":"All done.","duration_ms":1234,"is_error":false,"num_turns":3,"usage":{"input_tokens":100,"output_tokens":50,"cache_read_input_tokens":80,"cache_creation_input_tokens":7},"session_id":"T-1"}` + "\n"
	errorLine = `{"type":"result","subtype":"error_during_execution","error":"Out of credits","is_error":true,"duration_ms":5,"num_turns":1,"session_id":"T-1"}` + "\n"
)
