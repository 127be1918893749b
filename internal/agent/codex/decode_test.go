package codex

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

func decodeStream(stream string, size, exit int) agenttest.Decoded {
	return agenttest.Decode(stream, size, exit, func(emit func(ralph.Event), finished func()) driver.Decoder { return newDecoder(emit, finished) })
}

// 001-42, 001-39, 000-21, 000-27
func TestCodexTranscripts(t *testing.T) {
	t.Parallel()
	agenttest.Each(t, "codex", decodeStream, map[string]ralph.FailureKind{
		"api_400":                 ralph.FailureRequest,
		"api_401":                 ralph.FailureAuth,
		"api_403":                 ralph.FailureAuth,
		"api_404":                 ralph.FailureAPI,
		"api_429":                 ralph.FailureAPI,
		"api_429_quota":           ralph.FailureQuota,
		"api_429_usage_limit":     ralph.FailureQuota,
		"api_500":                 ralph.FailureAPI,
		"api_500_after_tool":      ralph.FailureAPI,
		"api_503":                 ralph.FailureAPI,
		"api_refused":             ralph.FailureCrash,
		"bad_config":              ralph.FailureCrash,
		"bad_flag":                ralph.FailureCrash,
		"empty_answer":            ralph.FailureEmpty,
		"full_auto":               ralph.FailureCrash,
		"no_git_readonly":         ralph.FailureCrash,
		"no_key":                  ralph.FailureAuth,
		"no_prompt":               ralph.FailureCrash,
		"resume_missing":          ralph.FailureCrash,
		"sigint_tool":             ralph.FailureCrash,
		"sigkill_group":           ralph.FailureCrash,
		"sigkill_tool":            ralph.FailureCrash,
		"sigterm_tool":            ralph.FailureCrash,
		"slow_429_long":           ralph.FailureCrash,
		"slow_api_500_default":    ralph.FailureAPI,
		"slow_refused_default":    ralph.FailureCrash,
		"slow_stream_cut_default": ralph.FailureAPI,
		"stream_cut":              ralph.FailureAPI,
		"stream_failed_context":   ralph.FailureRequest,
		"stream_failed_event":     ralph.FailureAPI,
		"stream_failed_quota":     ralph.FailureQuota,
	}, func(t *testing.T, got agenttest.Decoded, want agenttest.Ending) {
		var tokens ralph.Tokens
		tokens.Unknown = true
		for _, end := range want.Ends {
			if u := end.Usage; u != nil {
				tokens = ralph.Tokens{
					Input:     int64(u["input_tokens"] - u["cached_input_tokens"] - u["cache_write_input_tokens"]),
					CacheRead: int64(u["cached_input_tokens"]), CacheWrite: int64(u["cache_write_input_tokens"]),
					Output: int64(u["output_tokens"]),
				}
			}
		}
		if wantUsage := (ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: tokens}); got.Turn.Usage != wantUsage {
			t.Errorf("Usage = %+v, want %+v", got.Turn.Usage, wantUsage)
		}
		if got.Done != (len(want.Ends) > 0) || got.Finished != len(want.Ends) {
			t.Errorf("Done, finished = %v, %d, want %d ends", got.Done, got.Finished, len(want.Ends))
		}
	})
}

// 001-38, 001-42
func TestCodexEvents(t *testing.T) {
	t.Parallel()
	agenttest.Golden(t, "codex", decodeStream, "success_tool", "todo", "file_change", "mcp", "web_search", "subagent", "tool_error", "thinking_marker", "two_final_texts", "background_left", "stream_cut_once", "unicode")
}

func TestCodexLines(t *testing.T) {
	t.Parallel()
	const answer = `{"type":"item.completed","item":{"id":"a","type":"agent_message","text":"<promise>COMPLETE</promise>"}}` + "\n"
	const end = `{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":3}}` + "\n"
	for _, tt := range []struct {
		name, stream       string
		malformed, unknown int
		says               bool
		tools, toolErrors  int
		failure            string
	}{
		{name: "keys in another order, a byte order mark", stream: "\xef\xbb\xbf" + `{"item":{"text":"<promise>COMPLETE</promise>","type":"agent_message"},"type":"item.completed"}` + "\r\n" + end, says: true, failure: "none"},
		{name: "a line that is no JSON", stream: "Reading prompt from stdin...\n" + answer + end, malformed: 1, says: true, failure: "none"},
		{name: "a kind of the future", stream: `{"type":"thread.renamed"}` + "\n" + answer + end, unknown: 1, says: true, failure: "none"},
		{name: "an item of the future with the marker", stream: `{"type":"item.completed","item":{"type":"plan","text":"<promise>COMPLETE</promise>"}}` + "\n" + end, unknown: 1, failure: "empty-answer"},
		{name: "the last line breaks off", stream: answer[:len(answer)-4], malformed: 1, failure: "malformed"},
		{name: "a command breaks off", stream: `{"type":"item.completed","item":{"id":"c","type":"command_execution","command":"ls","aggregated_output":"<promise>COMPLETE`, malformed: 1, tools: 1, failure: "malformed"},
		{name: "an answer that only began", stream: strings.Replace(answer, "completed", "started", 1) + end, failure: "empty-answer"},
		{name: "a command without a beginning", stream: `{"type":"item.completed","item":{"id":"c","type":"command_execution","command":"ls","aggregated_output":"x","exit_code":2}}` + "\n" + end, tools: 1, toolErrors: 1, failure: "none"},
		{name: "the seed's own lines", stream: `{"type": "thread.started", "thread_id": "t"}` + "\n" + `{"type": "item.started", "item": {"id": "c", "type": "command_execution", "command": "ls"}}` + "\n" +
			`{"type": "item.completed", "item": {"id": "c", "type": "command_execution", "aggregated_output": "x", "exit_code": 0}}` + "\n" + answer + end, says: true, tools: 1, failure: "none"},
	} {
		got := decodeStream(tt.stream, 0, 0)
		if got.Turn.Malformed != tt.malformed || got.Turn.Unknown != tt.unknown || got.Turn.Tools != tt.tools || got.Turn.ToolErrors != tt.toolErrors {
			t.Errorf("%s: Malformed, Unknown, Tools, ToolErrors = %d, %d, %d, %d, want %d, %d, %d, %d", tt.name,
				got.Turn.Malformed, got.Turn.Unknown, got.Turn.Tools, got.Turn.ToolErrors, tt.malformed, tt.unknown, tt.tools, tt.toolErrors)
		}
		if got.Says(agenttest.Marker) != tt.says || agenttest.FailureKind(got.Failure) != tt.failure {
			t.Errorf("%s: says = %v, Failure(0) = %+v, want %v, %s", tt.name, got.Says(agenttest.Marker), got.Failure, tt.says, tt.failure)
		}
	}
}

// Markers that come in pieces of one message are found, in the memory of one
// line.
func TestCodexLongText(t *testing.T) {
	t.Parallel()
	stream := `{"type":"item.completed","item":{"id":"a","type":"agent_message","text":"` + strings.Repeat("x", 3*driver.MaxText-5) + agenttest.Marker + `"}}` + "\n"
	got := decodeStream(stream, 4096, 0)
	if !got.Says(agenttest.Marker) || len(got.Events) < 3 {
		t.Errorf("%d events, marker found = %v, want it over several", len(got.Events), got.Says(agenttest.Marker))
	}
	for _, e := range got.Events {
		if len(e.Text) > driver.MaxText {
			t.Errorf("an event of %d bytes, want at most %d", len(e.Text), driver.MaxText)
		}
	}
}

func FuzzCodex(f *testing.F) {
	agenttest.RunFuzz(f, []string{"codex"}, func(emit func(ralph.Event)) driver.Decoder { return newDecoder(emit, func() {}) })
}

// Whatever stands in mcp-config and agent-settings, an argument for codex is one
// line, and a script has a quote around everything foreign.
func FuzzCodexOptions(f *testing.F) {
	f.Add(agenttest.Servers, `{"a":{"b":[1,"x",{"c d":true}]}}`, "it's\n\"x\"\x00\x7f")
	f.Add(`{"mcpServers":{"a":{"command":"$(x)","args":["'"],"env":{"A":"${SECRET:-'; rm}"}}}}`, `{"a":null}`, "\xff")
	f.Fuzz(func(t *testing.T, mcp, settings, text string) {
		o := driver.Options{Name: "codex", MCP: mcp, Settings: settings, System: text, Env: []string{"SECRET=s3cr3t'"}}
		overrides, err := overridesOf(o)
		if err != nil {
			return
		}
		for _, value := range overrides {
			if strings.ContainsAny(value, "\n\r\x00") && !strings.ContainsAny(settings, "\n\r") || !strings.Contains(value, "=") {
				t.Errorf("override %q", value)
			}
		}
		m, err := serversOf(o)
		if err != nil {
			t.Fatalf("serversOf = %v, but overridesOf has no error", err)
		}
		for _, file := range m.files {
			if strings.Count(strings.ReplaceAll(file.Text, `'\''`, ""), "'")%2 != 0 {
				t.Errorf("script %q has a quote that does not end", file.Text)
			}
		}
	})
}
