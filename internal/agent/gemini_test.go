package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

func decodeGemini(stream string, size, exit int) decoded {
	return decodeGeminiWith(stream, "", size, exit)
}

// decodeGeminiWith has stderr as well, which comes behind everything else.
func decodeGeminiWith(stream, stderr string, size, exit int) decoded {
	return decodeWith(stream, size, exit, func(emit func(ralph.Event), finished func()) decoder {
		o := Options{Name: "gemini", Model: "gemini-nope", Env: []string{"GEMINI_API_KEY=k"}}
		d := gemini{}.decoder(o, ralph.Prompt{}, emit, finished)
		return &withStderr{decoder: d, stderr: stderr, size: size}
	})
}

// withStderr writes to a decoder's Stderr before it is closed.
type withStderr struct {
	decoder
	stderr string
	size   int
}

func (d *withStderr) Close() {
	for rest := d.stderr; len(rest) > 0; {
		n := len(rest)
		if d.size > 0 {
			n = min(n, d.size)
		}
		d.Stderr([]byte(rest[:n]))
		rest = rest[n:]
	}
	d.decoder.Close()
}

// complaints is what stood on stderr; "" when nothing did.
func complaints(t *testing.T, name, which string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name, which+".stderr"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
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
		stderr[recording(t, "gemini", name)] = complaints(t, "gemini", name)
	}
	decode := func(stream string, size, exit int) decoded {
		return decodeGeminiWith(stream, stderr[stream], size, exit)
	}
	each(t, "gemini", decode, failures, func(t *testing.T, got decoded, want ending) {
		tokens := ralph.Tokens{Unknown: true}
		for _, end := range want.Ends {
			u := end.Usage
			tokens = ralph.Tokens{Input: int64(u["input_tokens"] - u["cached"]), CacheRead: int64(u["cached"]), Output: int64(u["output_tokens"])}
		}
		if wantUsage := (ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: tokens}); got.turn.Usage != wantUsage {
			t.Errorf("Usage = %+v, want %+v", got.turn.Usage, wantUsage)
		}
		var sum ralph.Tokens
		for _, m := range got.turn.Models {
			sum = sum.Add(m.Usage.Tokens)
		}
		if !tokens.Unknown && sum != tokens {
			t.Errorf("the models used %+v, want %+v", sum, tokens)
		}
		if got.done != (len(want.Ends) > 0) || got.finished != len(want.Ends) {
			t.Errorf("Done, finished = %v, %d, want %d ends", got.done, got.finished, len(want.Ends))
		}
		if got.failure != nil && got.failure.Kind == ralph.FailureAuth && !strings.Contains(got.failure.Message, "GEMINI_API_KEY") {
			t.Errorf("failure = %q, want it to name GEMINI_API_KEY", got.failure.Message)
		}
	})
}

func TestGeminiEvents(t *testing.T) {
	t.Parallel()
	golden(t, "gemini", decodeGemini, "success_tool", "todo", "file_edit", "tool_error", "echo_marker", "subagent", "thinking", "empty_answer", "api_401", "sigkill_tool", "unicode", "long_output")
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
		got := decodeGeminiWith(recording(t, "gemini", tt.name), complaints(t, "gemini", tt.name), 0, tt.exit)
		if got.failure == nil || got.failure.Message != tt.message || !got.failure.RetryAt.Equal(tt.retryAt) {
			t.Errorf("%s: failure = %+v, want %q at %v", tt.name, got.failure, tt.message, tt.retryAt)
		}
	}
	// Attempts that are repeated are told.
	got := decodeGeminiWith(recording(t, "gemini", "api_500"), complaints(t, "gemini", "api_500"), 7, 137)
	if got.count(ralph.EventProgress) < 2 || !strings.Contains(got.render(), "Attempt 1 failed with status 500.") {
		t.Errorf("events = %s, want the attempts", got.render())
	}
}

func TestGeminiLines(t *testing.T) {
	t.Parallel()
	piece := func(text string) string {
		return `{"type":"message","role":"assistant","content":` + quote(text) + `,"delta":true}` + "\n"
	}
	const tool = `{"type":"tool_use","tool_name":"x","tool_id":"1","parameters":{}}` + "\n" + `{"type":"tool_result","tool_id":"1","status":"success","output":"` + marker + `"}` + "\n"
	const end = `{"type":"result","status":"success","stats":{"models":{"m":{"total_tokens":18,"input_tokens":10,"output_tokens":3,"cached":4}}}}` + "\n"
	failed := func(kind, message string) string {
		return `{"type":"result","status":"error","error":{"type":` + quote(kind) + `,"message":` + quote(message) + `}}` + "\n"
	}
	const half = len(marker) / 2
	for _, tt := range []struct {
		name, stream string
		exit         int
		says         bool
		malformed    int
		unknown      int
		failure      string
	}{
		{name: "a marker over two pieces", stream: piece("a "+marker[:half]) + piece(marker[half:]) + end, says: true, failure: "none"},
		{name: "a marker over a tool call", stream: piece("a "+marker[:half]) + tool + piece(marker[half:]) + end, failure: "none"},
		{name: "a marker over two messages", stream: piece(marker[:half]) + strings.Replace(piece(marker[half:]), `,"delta":true`, "", 1) + end, failure: "none"},
		{name: "the prompt", stream: strings.Replace(piece(marker), "assistant", "user", 1) + piece("x") + end, failure: "none"},
		{name: "a kind of the future", stream: `{"type":"weather"}` + "\n" + piece("x") + end, unknown: 1, failure: "none"},
		{name: "a text breaks off", stream: strings.TrimSuffix(piece(marker), ",\"delta\":true}\n"), malformed: 1, failure: "malformed"},
		{name: "the result breaks off", stream: piece(marker) + end[:40], says: true, malformed: 1, failure: "malformed"},
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
			got := decodeGemini(tt.stream, size, tt.exit)
			if got.turn.Malformed != tt.malformed || got.turn.Unknown != tt.unknown {
				t.Errorf("%s: Malformed, Unknown = %d, %d, want %d, %d", tt.name, got.turn.Malformed, got.turn.Unknown, tt.malformed, tt.unknown)
			}
			if got.says(marker) != tt.says || kind(got.failure) != tt.failure {
				t.Errorf("%s: says = %v, Failure(%d) = %+v, want %v, %s", tt.name, got.says(marker), tt.exit, got.failure, tt.says, tt.failure)
			}
		}
	}
	// Thoughts are in the sum alone.
	if got := decodeGemini(end, 0, 0).turn.Usage.Tokens; got != (ralph.Tokens{Input: 6, CacheRead: 4, Output: 8}) {
		t.Errorf("Tokens = %+v, want 6, 4 and 8", got)
	}
}

func FuzzGemini(f *testing.F) {
	f.Add([]byte("Error when talking to Gemini API Full report available at: /tmp/x.json TerminalQuotaError: no\n  retryDelayMs: 3600000,\n}\n"), uint8(9))
	fuzzDecoder(f, []string{"gemini"}, func(emit func(ralph.Event)) decoder { return newGeminiDecoder(emit, func() {}) })
}

func FuzzGeminiStderr(f *testing.F) {
	f.Add([]byte("Error when talking to Gemini API Full report available at: /tmp/x.json TerminalQuotaError: no\n  retryDelayMs: 3600000,\n}\n"), uint8(1))
	f.Fuzz(func(t *testing.T, stderr []byte, exit uint8) {
		d := newGeminiDecoder(func(ralph.Event) {}, func() {})
		d.Stdout([]byte(`{"type":"result","status":"error"}` + "\n"))
		d.Stderr(stderr)
		d.Close()
		if f := d.Failure(int(exit)); f == nil || f.Kind == 0 || len([]rune(f.Message)) > maxMessage+100 {
			t.Errorf("Failure(%d) = %+v", exit, f)
		}
	})
}
