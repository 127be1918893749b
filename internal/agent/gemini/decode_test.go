package gemini

import (
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

func decodeStream(stream string, size, exit int) agenttest.Decoded {
	return decodeWithStderr(stream, "", size, exit)
}

// decodeWithStderr has stderr as well, which comes behind everything else.
func decodeWithStderr(stream, stderr string, size, exit int) agenttest.Decoded {
	return agenttest.Decode(stream, size, exit, func(emit func(ralph.Event), finished func()) driver.Decoder {
		o := driver.Options{Name: "gemini", Model: "gemini-nope", Env: []string{"GEMINI_API_KEY=k"}}
		d := Driver{}.Decoder(o, ralph.Prompt{}, emit, finished)
		return &agenttest.WithStderr{Decoder: d, Complaints: stderr, Size: size}
	})
}

func TestGeminiTranscripts(t *testing.T) {
	t.Parallel()
	failures := map[string]ralph.FailureKind{
		"api_400_key":      ralph.FailureAuth,
		"api_400_too_long": ralph.FailureRequest,
		"api_401":          ralph.FailureAuth,
		"api_403":          ralph.FailureAuth,
		"api_404_model":    ralph.FailureModel,
		"api_429":          ralph.FailureCrash,
		"api_429_daily":    ralph.FailureQuota,
		"api_429_hour":     ralph.FailureQuota,
		"api_500":          ralph.FailureCrash,
		"api_refused":      ralph.FailureCrash,
		"bad_flag":         ralph.FailureCrash,
		"empty_answer":     ralph.FailureAPI,
		"no_auth_type":     ralph.FailureAuth,
		"no_key":           ralph.FailureAuth,
		"no_prompt":        ralph.FailureCrash,
		"sigkill_tool":     ralph.FailureCrash,
		"stream_cut":       ralph.FailureAPI,
		"untrusted":        ralph.FailureCrash,
	}
	// What the stream lacks stands on stderr.
	stderr := map[string]string{}
	for _, name := range []string{"api_404_model", "api_429_daily", "api_429_hour"} {
		stderr[agenttest.Recording(t, "gemini", name)] = agenttest.Complaints(t, "gemini", name)
	}
	decode := func(stream string, size, exit int) agenttest.Decoded {
		return decodeWithStderr(stream, stderr[stream], size, exit)
	}
	agenttest.Each(t, "gemini", decode, failures, func(t *testing.T, got agenttest.Decoded, want agenttest.Ending) {
		tokens := ralph.Tokens{Unknown: true}
		for _, end := range want.Ends {
			u := end.Usage
			tokens = ralph.Tokens{Input: int64(u["input_tokens"] - u["cached"]), CacheRead: int64(u["cached"]), Output: int64(u["output_tokens"])}
		}
		if wantUsage := (ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: tokens}); got.Turn.Usage != wantUsage {
			t.Errorf("Usage = %+v, want %+v", got.Turn.Usage, wantUsage)
		}
		var sum ralph.Tokens
		for _, m := range got.Turn.Models {
			sum = sum.Add(m.Usage.Tokens)
		}
		if !tokens.Unknown && sum != tokens {
			t.Errorf("the models used %+v, want %+v", sum, tokens)
		}
		if got.Done != (len(want.Ends) > 0) || got.Finished != len(want.Ends) {
			t.Errorf("Done, finished = %v, %d, want %d ends", got.Done, got.Finished, len(want.Ends))
		}
		if got.Failure != nil && got.Failure.Kind == ralph.FailureAuth && !strings.Contains(got.Failure.Message, "GEMINI_API_KEY") {
			t.Errorf("failure = %q, want it to name GEMINI_API_KEY", got.Failure.Message)
		}
	})
}

func TestGeminiEvents(t *testing.T) {
	t.Parallel()
	agenttest.Golden(t, "gemini", decodeStream, "success_tool", "todo", "file_edit", "tool_error", "echo_marker", "subagent", "thinking", "empty_answer", "api_401", "sigkill_tool", "unicode", "long_output")
}

func TestGeminiFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, message string
		exit          int
		retryAt       time.Time
	}{
		{name: "api_400_key", exit: 144, message: "API key not valid. Please pass a valid API key.; is the key right in GEMINI_API_KEY (input api-key), and may it use the model?"},
		{name: "api_401", exit: 145, message: "Incorrect API key provided; is the key right in GEMINI_API_KEY (input api-key), and may it use the model?"},
		{name: "api_404_model", exit: 1, message: "models/gemini-nope is not found for API version v1beta, or is not supported for generateContent.; is the input model right? it is \"gemini-nope\""},
		{name: "api_429_daily", exit: 173, message: "You have exhausted your daily quota on this model."},
		{name: "api_429_hour", exit: 173, message: "You exceeded your current quota. Suggested retry after 3600s.", retryAt: time.Date(2026, 11, 22, 3, 53, 2, 594e6, time.UTC)},
		{name: "stream_cut", exit: 1, message: "terminated"},
		{name: "no_key", exit: 41, message: "gemini found no way to log in: When using Gemini API, you must specify the GEMINI_API_KEY environment variable. Update your environment and try again (no reload needed if using .env)!; is the key right in GEMINI_API_KEY (input api-key), and may it use the model?"},
		{name: "no_prompt", exit: 42, message: "gemini exited with code 42 without a final result: No input provided via stdin. Input can be provided by piping data into gemini or using the --prompt option."},
		{name: "empty_answer", exit: 0, message: "The model returned an empty response with no text or thoughts. This may be a transient API issue; please try again."},
	} {
		got := decodeWithStderr(agenttest.Recording(t, "gemini", tt.name), agenttest.Complaints(t, "gemini", tt.name), 0, tt.exit)
		if got.Failure == nil || got.Failure.Message != tt.message || !got.Failure.RetryAt.Equal(tt.retryAt) {
			t.Errorf("%s: failure = %+v, want %q at %v", tt.name, got.Failure, tt.message, tt.retryAt)
		}
	}
	// Attempts that are repeated are told.
	got := decodeWithStderr(agenttest.Recording(t, "gemini", "api_500"), agenttest.Complaints(t, "gemini", "api_500"), 7, 137)
	if got.Count(ralph.EventProgress) < 2 || !strings.Contains(got.Render(), "Attempt 1 failed with status 500.") {
		t.Errorf("events = %s, want the attempts", got.Render())
	}
}

func TestGeminiLines(t *testing.T) {
	t.Parallel()
	piece := func(text string) string {
		return `{"type":"message","role":"assistant","content":` + agenttest.Quote(text) + `,"delta":true}` + "\n"
	}
	const tool = `{"type":"tool_use","tool_name":"x","tool_id":"1","parameters":{}}` + "\n" + `{"type":"tool_result","tool_id":"1","status":"success","output":"` + agenttest.Marker + `"}` + "\n"
	const end = `{"type":"result","status":"success","stats":{"models":{"m":{"total_tokens":18,"input_tokens":10,"output_tokens":3,"cached":4}}}}` + "\n"
	failed := func(kind, message string) string {
		return `{"type":"result","status":"error","error":{"type":` + agenttest.Quote(kind) + `,"message":` + agenttest.Quote(message) + `}}` + "\n"
	}
	const half = len(agenttest.Marker) / 2
	for _, tt := range []struct {
		name, stream string
		exit         int
		says         bool
		malformed    int
		unknown      int
		failure      string
	}{
		{name: "a marker over two pieces", stream: piece("a "+agenttest.Marker[:half]) + piece(agenttest.Marker[half:]) + end, says: true, failure: "none"},
		{name: "a marker over a tool call", stream: piece("a "+agenttest.Marker[:half]) + tool + piece(agenttest.Marker[half:]) + end, failure: "none"},
		{name: "a marker over two messages", stream: piece(agenttest.Marker[:half]) + strings.Replace(piece(agenttest.Marker[half:]), `,"delta":true`, "", 1) + end, failure: "none"},
		{name: "the prompt", stream: strings.Replace(piece(agenttest.Marker), "assistant", "user", 1) + piece("x") + end, failure: "none"},
		{name: "a kind of the future", stream: `{"type":"weather"}` + "\n" + piece("x") + end, unknown: 1, failure: "none"},
		{name: "a text breaks off", stream: strings.TrimSuffix(piece(agenttest.Marker), ",\"delta\":true}\n"), malformed: 1, failure: "malformed"},
		{name: "the result breaks off", stream: piece(agenttest.Marker) + end[:40], says: true, malformed: 1, failure: "malformed"},
		{name: "not JSON", stream: "hello\n" + piece("x") + end, malformed: 1, failure: "none"},
		{name: "nothing said", stream: end, failure: "empty-answer"},
		{name: "nothing", failure: "malformed"},
		{name: "an exit code behind a good end", stream: piece("x") + end, exit: 1, failure: "crash"},
		{name: "a status in the exit code alone", stream: failed("unknown", "[API Error: no]"), exit: 403 - 256, failure: "authentication"},
		{name: "a server's error in the exit code", stream: failed("unknown", "[API Error: no]"), exit: 503 - 256, failure: "api-error"},
		{name: "killed behind its result", stream: failed("unknown", "[API Error: no]"), exit: 137, failure: "api-error"},
		{name: "the CLI's own quota error", stream: failed("TerminalQuotaError", "no"), exit: 1, failure: "quota"},
		{name: "no model", stream: failed("ModelNotFoundError", "no"), exit: 1, failure: "model"},
		{name: "a full disk", stream: failed("FatalToolExecutionError", "no space"), exit: 54, failure: "crash"},
		{name: "cancelled", stream: failed("FatalCancellationError", "Operation cancelled."), exit: 130, failure: "crash"},
		{name: "words are no signal", stream: failed("unknown", "[API Error: 401 quota exceeded, model not found]"), exit: 1, failure: "api-error"},
	} {
		for _, size := range []int{0, 3} {
			got := decodeStream(tt.stream, size, tt.exit)
			if got.Turn.Malformed != tt.malformed || got.Turn.Unknown != tt.unknown {
				t.Errorf("%s: Malformed, Unknown = %d, %d, want %d, %d", tt.name, got.Turn.Malformed, got.Turn.Unknown, tt.malformed, tt.unknown)
			}
			if got.Says(agenttest.Marker) != tt.says || agenttest.FailureKind(got.Failure) != tt.failure {
				t.Errorf("%s: says = %v, Failure(%d) = %+v, want %v, %s", tt.name, got.Says(agenttest.Marker), tt.exit, got.Failure, tt.says, tt.failure)
			}
		}
	}
	// Thoughts are in the sum alone.
	if got := decodeStream(end, 0, 0).Turn.Usage.Tokens; got != (ralph.Tokens{Input: 6, CacheRead: 4, Output: 8}) {
		t.Errorf("Tokens = %+v, want 6, 4 and 8", got)
	}
}

func FuzzGemini(f *testing.F) {
	f.Add([]byte("Error when talking to Gemini API Full report available at: /tmp/x.json TerminalQuotaError: no\n  retryDelayMs: 3600000,\n}\n"), uint8(9))
	agenttest.RunFuzz(f, []string{"gemini"}, func(emit func(ralph.Event)) driver.Decoder { return newDecoder(emit, func() {}) })
}

func FuzzGeminiStderr(f *testing.F) {
	f.Add([]byte("Error when talking to Gemini API Full report available at: /tmp/x.json TerminalQuotaError: no\n  retryDelayMs: 3600000,\n}\n"), uint8(1))
	f.Fuzz(func(t *testing.T, stderr []byte, exit uint8) {
		d := newDecoder(func(ralph.Event) {}, func() {})
		d.Stdout([]byte(`{"type":"result","status":"error"}` + "\n"))
		d.Stderr(stderr)
		d.Close()
		if f := d.Failure(int(exit)); f == nil || f.Kind == 0 || len([]rune(f.Message)) > driver.MaxMessage+100 {
			t.Errorf("Failure(%d) = %+v", exit, f)
		}
	})
}
