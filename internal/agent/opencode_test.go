package agent

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/ralph"
)

func decodeOpencode(stream string, size, exit int) decoded {
	return decodeOpencodeWith(stream, "", size, exit)
}

func decodeOpencodeWith(stream, stderr string, size, exit int) decoded {
	return decodeWith(stream, size, exit, func(emit func(ralph.Event), finished func()) decoder {
		d := newOpencodeDecoder(Options{Model: "openai-compatible/nope"}, emit, finished)
		return &withStderr{decoder: d, stderr: stderr, size: size}
	})
}

func TestOpencodeTranscripts(t *testing.T) {
	t.Parallel()
	failures := map[string]ralph.FailureKind{
		"api_400_too_long": ralph.FailureRequest,
		"api_401":          ralph.FailureAuth,
		"api_403_model":    ralph.FailureModel,
		"api_429":          ralph.FailureAPI,
		"api_429_quota":    ralph.FailureQuota,
		"api_500":          ralph.FailureCrash,
		"api_refused":      ralph.FailureCrash,
		"bad_flag":         ralph.FailureCrash,
		"no_model":         ralph.FailureCrash, // without the log nothing says why
		"no_prompt":        ralph.FailureCrash,
		"sigkill_tool":     ralph.FailureCrash,
		"sigterm_tool":     ralph.FailureCrash,
		"stream_cut":       ralph.FailureCrash,
		"unknown_model":    ralph.FailureModel,
	}
	unknown := recording(t, "opencode", "unknown_model")
	log := complaints(t, "opencode", "unknown_model")
	decode := func(stream string, size, exit int) decoded {
		if stream == unknown {
			return decodeOpencodeWith(stream, log, size, exit)
		}
		return decodeOpencode(stream, size, exit)
	}
	each(t, "opencode", decode, failures, func(t *testing.T, got decoded, want ending) {
		var tokens ralph.Tokens
		cost := 0.0
		for _, end := range want.Ends {
			u := end.Usage
			tokens = tokens.Add(ralph.Tokens{Input: int64(u["input"]), CacheRead: int64(u["read"]), CacheWrite: int64(u["write"]), Output: int64(u["output"])})
			cost += u["cost"]
		}
		cut := len(want.Ends) == 0 || want.Case == "subagent"
		free := strings.HasPrefix(want.Case, "compact") || want.Case == "long_output"
		tokens.Unknown = cut
		wantUsage := ralph.Usage{Cost: ralph.Cost{Amount: ralph.MicroUSD(math.Round(cost * 1e6)), Unknown: cut || free}, Tokens: tokens}
		if got.turn.Usage != wantUsage {
			t.Errorf("Usage = %+v, want %+v", got.turn.Usage, wantUsage)
		}
		if got.turn.Messages != len(want.Ends) || got.count(ralph.EventUsage) != len(want.Ends) {
			t.Errorf("Messages = %d with %d events, want %d", got.turn.Messages, got.count(ralph.EventUsage), len(want.Ends))
		}
		good := len(want.Ends) > 0 && want.Ends[len(want.Ends)-1].Status == "stop" && failures[want.Case] == 0
		if got.done != good || got.finished != 0 {
			t.Errorf("Done, finished = %v, %d, want %v, 0", got.done, got.finished, good)
		}
	})
}

func TestOpencodeEvents(t *testing.T) {
	t.Parallel()
	golden(t, "opencode", decodeOpencode, "success_tool", "todo", "file_edit", "tool_error", "echo_marker", "subagent", "thinking", "compact", "api_400_too_long", "api_401", "no_auto", "sigkill_tool", "unicode", "long_output")
}

// What a subagent used is not in the stream; what the stream shows is a lower
// bound. A model the CLI knows no price of costs nothing there, so its cost is
// unknown, until the tokens are priced.
func TestOpencodeUsage(t *testing.T) {
	t.Parallel()
	price := func(model string, u ralph.Tokens) ralph.Cost {
		return ralph.Cost{Amount: ralph.MicroUSD(u.Total()), Estimated: true, Unknown: model != "p/m"}
	}
	for _, tt := range []struct {
		name, stream string
		want         ralph.Cost
	}{
		{"a price of the CLI's", recording(t, "opencode", "text_only"), ralph.Cost{Amount: 380}},
		{"no price", recording(t, "opencode", "long_output"), ralph.Cost{Amount: 2100, Estimated: true}},
		{"a subagent", recording(t, "opencode", "subagent"), ralph.Cost{Amount: 760, Unknown: true}},
	} {
		turn := turnsOf(t, Options{Name: "opencode", Provider: "p", Model: "m", Price: price}, tt.stream)[0]
		if turn.Usage.Cost != tt.want {
			t.Errorf("%s: cost = %+v, want %+v", tt.name, turn.Usage.Cost, tt.want)
		}
	}
}

const (
	ocStart = `{"type":"step_start","sessionID":"ses_1","part":{"type":"step-start"}}` + "\n"
	ocStop  = `{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop","tokens":{"total":18,"input":6,"output":3,"reasoning":5,"cache":{"write":0,"read":4}},"cost":0.5}}` + "\n"
	ocLong  = `{"type":"error","timestamp":1000,"sessionID":"ses_1","error":{"name":"ContextOverflowError","data":{"message":"too long"}}}` + "\n"
	ocGoOn  = `{"type":"text","sessionID":"ses_1","part":{"messageID":"c","metadata":{"compaction_continue":true},"synthetic":true,"text":"Continue ` + marker + `"}}` + "\n"
)

func ocText(text string) string {
	return `{"type":"text","sessionID":"ses_1","part":{"messageID":"m","text":` + quote(text) + `}}` + "\n"
}

func ocError(status int, headers, code string) string {
	body := quote(`{"error":{"message":"no","code":` + quote(code) + `}}`)
	return `{"type":"error","timestamp":1000000,"sessionID":"ses_1","error":{"name":"APIError","data":{"message":"no","statusCode":` + strconv.Itoa(status) + `,"isRetryable":false,"responseHeaders":{` + headers + `},"responseBody":` + body + `}}}` + "\n"
}

func TestOpencodeLines(t *testing.T) {
	t.Parallel()
	summary := ocStart + ocText("summary "+marker) + ocStop + ocGoOn
	for _, tt := range []struct {
		name, stream string
		exit         int
		says         bool
		malformed    int
		unknown      int
		gaveUp       bool
		failure      string
	}{
		{name: "an answer", stream: ocStart + ocText(marker) + ocStop, says: true, failure: "none"},
		{name: "a summary", stream: summary + ocStart + ocText("x") + ocStop, failure: "none"},
		{name: "an answer, then a summary", stream: ocStart + ocText(marker) + ocStop + summary + ocStart + ocText("x") + ocStop, says: true, failure: "none"},
		{name: "synthetic", stream: ocStart + strings.Replace(ocText(marker), `"text":`, `"synthetic":true,"text":`, 1) + ocText("x") + ocStop, failure: "none"},
		{name: "reasoning", stream: ocStart + strings.Replace(ocText(marker), `"text"`, `"reasoning"`, 1) + ocText("x") + ocStop, failure: "none"},
		{name: "too long, and got over it", stream: ocLong + summary + ocStart + ocText("x") + ocStop, exit: 1, failure: "none"},
		{name: "too long again and again", stream: ocLong + summary + ocLong + summary, exit: 137, gaveUp: true, failure: "request"},
		{name: "too long, much later once more", stream: ocLong + summary + ocStart + ocText("x") + ocStop + ocStart + ocLong + summary + ocStart + ocText("y") + ocStop, exit: 1, failure: "none"},
		{name: "too long, and no more", stream: ocLong + summary, exit: 1, failure: "request"},
		{name: "a kind of the future", stream: `{"type":"weather"}` + "\n" + ocStart + ocText("x") + ocStop, unknown: 1, failure: "none"},
		{name: "a text breaks off", stream: ocStart + strings.TrimSuffix(ocText(marker), "\"}}\n"), malformed: 1, failure: "malformed"},
		{name: "the end breaks off", stream: ocStart + ocText(marker) + ocStop[:60], says: true, malformed: 1, failure: "malformed"},
		{name: "no end", stream: ocStart + ocText("x"), failure: "malformed"},
		{name: "nothing", failure: "malformed"},
		{name: "nothing said", stream: ocStart + ocStop, failure: "empty-answer"},
		{name: "an exit code behind a good end", stream: ocStart + ocText("x") + ocStop, exit: 1, failure: "crash"},
		{name: "forbidden", stream: ocError(403, "", ""), exit: 1, failure: "authentication"},
		{name: "no such model", stream: ocError(404, "", "model_not_found"), exit: 1, failure: "model"},
		{name: "no money", stream: ocError(402, "", ""), exit: 1, failure: "quota"},
		{name: "overloaded", stream: ocError(529, "", ""), exit: 1, failure: "api-error"},
		{name: "too many", stream: ocError(429, `"retry-after":"20"`, "rate_limit"), exit: 1, failure: "api-error"},
		{name: "a usage limit", stream: ocError(429, `"retry-after":"7200"`, "rate_limit"), exit: 1, failure: "quota"},
		{name: "refused", stream: ocError(422, "", ""), exit: 1, failure: "request"},
		{name: "no key", stream: `{"type":"error","error":{"name":"ProviderAuthError","data":{"providerID":"p","message":"no key"}}}` + "\n", exit: 1, failure: "authentication"},
		{name: "aborted", stream: `{"type":"error","error":{"name":"MessageAbortedError","data":{"message":"no"}}}` + "\n", exit: 1, failure: "crash"},
		{name: "words are no signal", stream: `{"type":"error","error":{"name":"UnknownError","data":{"message":"401 quota exceeded"}}}` + "\n", exit: 1, failure: "crash"},
	} {
		for _, size := range []int{0, 3} {
			gaveUp := false
			got := decodeWith(tt.stream, size, tt.exit, func(emit func(ralph.Event), finished func()) decoder {
				return newOpencodeDecoder(Options{giveUp: func() { gaveUp = true }}, emit, finished)
			})
			if got.turn.Malformed != tt.malformed || got.turn.Unknown != tt.unknown || gaveUp != tt.gaveUp {
				t.Errorf("%s: Malformed, Unknown, gave up = %d, %d, %v, want %d, %d, %v", tt.name, got.turn.Malformed, got.turn.Unknown, gaveUp, tt.malformed, tt.unknown, tt.gaveUp)
			}
			if got.says(marker) != tt.says || kind(got.failure) != tt.failure {
				t.Errorf("%s: says = %v, Failure(%d) = %+v, want %v, %s", tt.name, got.says(marker), tt.exit, got.failure, tt.says, tt.failure)
			}
		}
	}
	got := decodeOpencode(ocStart+ocText("x")+ocStop, 0, 0)
	if want := (ralph.Usage{Cost: ralph.Cost{Amount: 500_000}, Tokens: ralph.Tokens{Input: 6, CacheRead: 4, Output: 8}}); got.turn.Usage != want || got.turn.Session != "ses_1" {
		t.Errorf("turn = %+v, want usage %+v of ses_1", got.turn, want)
	}
}

func TestOpencodeResets(t *testing.T) {
	t.Parallel()
	const date = `"date":"Sat, 21 Nov 2026 00:00:00 GMT"`
	for _, tt := range []struct {
		name, stream string
		want         time.Time
	}{
		{"seconds", ocError(429, date+`,"retry-after":"7200"`, ""), time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)},
		{"without a date", ocError(429, `"retry-after":"7200"`, ""), time.UnixMilli(1000000 + 7200_000).UTC()},
		{"a date", ocError(429, date+`,"retry-after":"Sat, 21 Nov 2026 05:00:00 GMT"`, ""), time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)},
		{"not told", ocError(429, date, "insufficient_quota"), time.Time{}},
		{"in the answer", strings.Replace(ocError(429, date, "usage_limit_reached"), `\"code\"`, `\"resets_at\":1795230000,\"code\"`, 1), time.Unix(1795230000, 0).UTC()},
		{"seconds in the answer", strings.Replace(ocError(429, date, "usage_limit_reached"), `\"code\"`, `\"resets_in_seconds\":60,\"code\"`, 1), time.Date(2026, 11, 21, 0, 1, 0, 0, time.UTC)},
		{"nonsense", ocError(429, `"retry-after":"99999999999999"`, "insufficient_quota"), time.Time{}},
	} {
		f := decodeOpencode(tt.stream, 0, 1).failure
		if f == nil || f.Kind != ralph.FailureQuota || !f.RetryAt.Equal(tt.want) {
			t.Errorf("%s: failure = %+v, want a quota until %v", tt.name, f, tt.want)
		}
	}
}

func TestOpencodeLog(t *testing.T) {
	t.Parallel()
	const failed = `timestamp=2026-11-22T02:58:10.097Z level=ERROR run=6c message="stream error" providerID=p modelID=m session.id=ses_1 small=false error.error="AI_APICallError: Rate \"limit\" reached"` + "\n"
	got := decodeOpencodeWith("", failed, 5, 143)
	const want = `opencode exited with code 143 (terminated) without a final result: AI_APICallError: Rate "limit" reached`
	if got.failure == nil || got.failure.Message != want || got.count(ralph.EventProgress) != 1 {
		t.Errorf("failure = %+v, events %s, want %q", got.failure, got.render(), want)
	}
	got = decodeOpencodeWith(recording(t, "opencode", "unknown_model"), complaints(t, "opencode", "unknown_model"), 0, 1)
	if f := got.failure; f == nil || f.Message != "ProviderModelNotFoundError: Model not found: openai-compatible/nope.; is the input model right? it is \"openai-compatible/nope\"" {
		t.Errorf("failure = %+v, want what the log says", f)
	}
	got = decodeOpencodeWith("", complaints(t, "opencode", "no_prompt"), 0, 1)
	if f := got.failure; f == nil || !strings.HasSuffix(f.Message, ": Error: You must provide a message or a command") {
		t.Errorf("failure = %+v, want the CLI's words without colours", f)
	}
	f := decodeOpencode(recording(t, "opencode", "api_401"), 0, 1).failure
	if keys := catalog.Of("opencode").Keys(); f == nil || !slices.ContainsFunc(keys, func(k string) bool { return strings.Contains(f.Message, k) }) {
		t.Errorf("failure = %+v, want it to name a variable", f)
	}
}

func FuzzOpencode(f *testing.F) {
	f.Add([]byte(ocLong+ocStart+ocText("summary")+ocStop+ocGoOn+ocLong), uint8(5))
	f.Add([]byte(ocError(429, `"retry-after":"7200"`, "x")), uint8(5))
	fuzzDecoder(f, []string{"opencode"}, func(emit func(ralph.Event)) decoder { return newOpencodeDecoder(Options{}, emit, func() {}) })
}

func FuzzOpencodeStderr(f *testing.F) {
	f.Add([]byte(`timestamp=x level=ERROR message=failed ref=err_1 error="ProviderModelNotFoundError: \"x\"" cause="y"`+"\n"), uint8(1))
	f.Fuzz(func(t *testing.T, stderr []byte, exit uint8) {
		d := newOpencodeDecoder(Options{}, func(ralph.Event) {}, func() {})
		d.Stdout([]byte(`{"type":"error","error":{"name":"UnknownError","data":{"ref":"err_1"}}}` + "\n"))
		d.Stderr(stderr)
		d.Close()
		if f := d.Failure(int(exit)); f == nil || f.Kind == 0 || len([]rune(f.Message)) > maxMessage+300 {
			t.Errorf("Failure(%d) = %+v", exit, f)
		}
	})
}
