package opencode

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

func decodeStream(stream string, size, exit int) agenttest.Decoded {
	return decodeWithStderr(stream, "", size, exit)
}

func decodeWithStderr(stream, stderr string, size, exit int) agenttest.Decoded {
	return agenttest.Decode(stream, size, exit, func(emit func(ralph.Event), finished func()) driver.Decoder {
		d := newDecoder(driver.Options{Model: "openai-compatible/nope"}, emit, finished)
		return &agenttest.WithStderr{Decoder: d, Complaints: stderr, Size: size}
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
	unknown := agenttest.Recording(t, "opencode", "unknown_model")
	log := agenttest.Complaints(t, "opencode", "unknown_model")
	decode := func(stream string, size, exit int) agenttest.Decoded {
		if stream == unknown {
			return decodeWithStderr(stream, log, size, exit)
		}
		return decodeStream(stream, size, exit)
	}
	agenttest.Each(t, "opencode", decode, failures, func(t *testing.T, got agenttest.Decoded, want agenttest.Ending) {
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
		if got.Turn.Usage != wantUsage {
			t.Errorf("Usage = %+v, want %+v", got.Turn.Usage, wantUsage)
		}
		if got.Turn.Messages != len(want.Ends) || got.Count(ralph.EventUsage) != len(want.Ends) {
			t.Errorf("Messages = %d with %d events, want %d", got.Turn.Messages, got.Count(ralph.EventUsage), len(want.Ends))
		}
		good := len(want.Ends) > 0 && want.Ends[len(want.Ends)-1].Status == "stop" && failures[want.Case] == 0
		if got.Done != good || got.Finished != 0 {
			t.Errorf("Done, finished = %v, %d, want %v, 0", got.Done, got.Finished, good)
		}
	})
}

func TestOpencodeEvents(t *testing.T) {
	t.Parallel()
	agenttest.Golden(t, "opencode", decodeStream, "success_tool", "todo", "file_edit", "tool_error", "echo_marker", "subagent", "thinking", "compact", "api_400_too_long", "api_401", "no_auto", "sigkill_tool", "unicode", "long_output")
}

const (
	ocStart = `{"type":"step_start","sessionID":"ses_1","part":{"type":"step-start"}}` + "\n"
	ocStop  = `{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop","tokens":{"total":18,"input":6,"output":3,"reasoning":5,"cache":{"write":0,"read":4}},"cost":0.5}}` + "\n"
	ocLong  = `{"type":"error","timestamp":1000,"sessionID":"ses_1","error":{"name":"ContextOverflowError","data":{"message":"too long"}}}` + "\n"
	ocGoOn  = `{"type":"text","sessionID":"ses_1","part":{"messageID":"c","metadata":{"compaction_continue":true},"synthetic":true,"text":"Continue ` + agenttest.Marker + `"}}` + "\n"
)

func ocText(text string) string {
	return `{"type":"text","sessionID":"ses_1","part":{"messageID":"m","text":` + agenttest.Quote(text) + `}}` + "\n"
}

func ocError(status int, headers, code string) string {
	body := agenttest.Quote(`{"error":{"message":"no","code":` + agenttest.Quote(code) + `}}`)
	return `{"type":"error","timestamp":1000000,"sessionID":"ses_1","error":{"name":"APIError","data":{"message":"no","statusCode":` + strconv.Itoa(status) + `,"isRetryable":false,"responseHeaders":{` + headers + `},"responseBody":` + body + `}}}` + "\n"
}

func TestOpencodeLines(t *testing.T) {
	t.Parallel()
	summary := ocStart + ocText("summary "+agenttest.Marker) + ocStop + ocGoOn
	for _, tt := range []struct {
		name, stream string
		exit         int
		says         bool
		malformed    int
		unknown      int
		gaveUp       bool
		failure      string
	}{
		{name: "an answer", stream: ocStart + ocText(agenttest.Marker) + ocStop, says: true, failure: "none"},
		{name: "a summary", stream: summary + ocStart + ocText("x") + ocStop, failure: "none"},
		{name: "an answer, then a summary", stream: ocStart + ocText(agenttest.Marker) + ocStop + summary + ocStart + ocText("x") + ocStop, says: true, failure: "none"},
		{name: "synthetic", stream: ocStart + strings.Replace(ocText(agenttest.Marker), `"text":`, `"synthetic":true,"text":`, 1) + ocText("x") + ocStop, failure: "none"},
		{name: "reasoning", stream: ocStart + strings.Replace(ocText(agenttest.Marker), `"text"`, `"reasoning"`, 1) + ocText("x") + ocStop, failure: "none"},
		{name: "too long, and got over it", stream: ocLong + summary + ocStart + ocText("x") + ocStop, exit: 1, failure: "none"},
		{name: "too long again and again", stream: ocLong + summary + ocLong + summary, exit: 137, gaveUp: true, failure: "request"},
		{name: "too long, much later once more", stream: ocLong + summary + ocStart + ocText("x") + ocStop + ocStart + ocLong + summary + ocStart + ocText("y") + ocStop, exit: 1, failure: "none"},
		{name: "too long, and no more", stream: ocLong + summary, exit: 1, failure: "request"},
		{name: "a kind of the future", stream: `{"type":"weather"}` + "\n" + ocStart + ocText("x") + ocStop, unknown: 1, failure: "none"},
		{name: "a text breaks off", stream: ocStart + strings.TrimSuffix(ocText(agenttest.Marker), "\"}}\n"), malformed: 1, failure: "malformed"},
		{name: "the end breaks off", stream: ocStart + ocText(agenttest.Marker) + ocStop[:60], says: true, malformed: 1, failure: "malformed"},
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
			got := agenttest.Decode(tt.stream, size, tt.exit, func(emit func(ralph.Event), finished func()) driver.Decoder {
				return newDecoder(driver.Options{Turn: driver.Turn{GiveUp: func() { gaveUp = true }}}, emit, finished)
			})
			if got.Turn.Malformed != tt.malformed || got.Turn.Unknown != tt.unknown || gaveUp != tt.gaveUp {
				t.Errorf("%s: Malformed, Unknown, gave up = %d, %d, %v, want %d, %d, %v", tt.name, got.Turn.Malformed, got.Turn.Unknown, gaveUp, tt.malformed, tt.unknown, tt.gaveUp)
			}
			if got.Says(agenttest.Marker) != tt.says || agenttest.FailureKind(got.Failure) != tt.failure {
				t.Errorf("%s: says = %v, Failure(%d) = %+v, want %v, %s", tt.name, got.Says(agenttest.Marker), tt.exit, got.Failure, tt.says, tt.failure)
			}
		}
	}
	got := decodeStream(ocStart+ocText("x")+ocStop, 0, 0)
	if want := (ralph.Usage{Cost: ralph.Cost{Amount: 500_000}, Tokens: ralph.Tokens{Input: 6, CacheRead: 4, Output: 8}}); got.Turn.Usage != want || got.Turn.Session != "ses_1" {
		t.Errorf("turn = %+v, want usage %+v of ses_1", got.Turn, want)
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
		f := decodeStream(tt.stream, 0, 1).Failure
		if f == nil || f.Kind != ralph.FailureQuota || !f.RetryAt.Equal(tt.want) {
			t.Errorf("%s: failure = %+v, want a quota until %v", tt.name, f, tt.want)
		}
	}
}

func TestOpencodeLog(t *testing.T) {
	t.Parallel()
	const failed = `timestamp=2026-11-22T02:58:10.097Z level=ERROR run=6c message="stream error" providerID=p modelID=m session.id=ses_1 small=false error.error="AI_APICallError: Rate \"limit\" reached"` + "\n"
	got := decodeWithStderr("", failed, 5, 143)
	const want = `opencode exited with code 143 (terminated) without a final result: AI_APICallError: Rate "limit" reached`
	if got.Failure == nil || got.Failure.Message != want || got.Count(ralph.EventProgress) != 1 {
		t.Errorf("failure = %+v, events %s, want %q", got.Failure, got.Render(), want)
	}
	got = decodeWithStderr(agenttest.Recording(t, "opencode", "unknown_model"), agenttest.Complaints(t, "opencode", "unknown_model"), 0, 1)
	if f := got.Failure; f == nil || f.Message != "ProviderModelNotFoundError: Model not found: openai-compatible/nope.; is the input model right? it is \"openai-compatible/nope\"" {
		t.Errorf("failure = %+v, want what the log says", f)
	}
	got = decodeWithStderr("", agenttest.Complaints(t, "opencode", "no_prompt"), 0, 1)
	if f := got.Failure; f == nil || !strings.HasSuffix(f.Message, ": Error: You must provide a message or a command") {
		t.Errorf("failure = %+v, want the CLI's words without colours", f)
	}
	f := decodeStream(agenttest.Recording(t, "opencode", "api_401"), 0, 1).Failure
	if keys := catalog.Of("opencode").Keys(); f == nil || !slices.ContainsFunc(keys, func(k string) bool { return strings.Contains(f.Message, k) }) {
		t.Errorf("failure = %+v, want it to name a variable", f)
	}
}

func FuzzOpencode(f *testing.F) {
	f.Add([]byte(ocLong+ocStart+ocText("summary")+ocStop+ocGoOn+ocLong), uint8(5))
	f.Add([]byte(ocError(429, `"retry-after":"7200"`, "x")), uint8(5))
	agenttest.RunFuzz(f, []string{"opencode"}, func(emit func(ralph.Event)) driver.Decoder {
		return newDecoder(driver.Options{}, emit, func() {})
	})
}

func FuzzOpencodeStderr(f *testing.F) {
	f.Add([]byte(`timestamp=x level=ERROR message=failed ref=err_1 error="ProviderModelNotFoundError: \"x\"" cause="y"`+"\n"), uint8(1))
	f.Fuzz(func(t *testing.T, stderr []byte, exit uint8) {
		d := newDecoder(driver.Options{}, func(ralph.Event) {}, func() {})
		d.Stdout([]byte(`{"type":"error","error":{"name":"UnknownError","data":{"ref":"err_1"}}}` + "\n"))
		d.Stderr(stderr)
		d.Close()
		if f := d.Failure(int(exit)); f == nil || f.Kind == 0 || len([]rune(f.Message)) > driver.MaxMessage+300 {
			t.Errorf("Failure(%d) = %+v", exit, f)
		}
	})
}

// BenchmarkOpencodeDecode decodes 100 MB with lines of about a megabyte.
func BenchmarkOpencodeDecode(b *testing.B) {
	code := agenttest.SourceCode()
	var s bytes.Buffer
	for i := 0; s.Len() < 100<<20; i++ {
		fmt.Fprintf(&s, `{"type":"step_start","sessionID":"s","part":{"id":"p"}}`+"\n"+`{"type":"text","sessionID":"s","part":{"messageID":"m%d","text":"Reading file %d."}}`+"\n", i, i)
		fmt.Fprintf(&s, `{"type":"tool_use","sessionID":"s","part":{"type":"tool","tool":"read","callID":"t%d","state":{"status":"completed","input":{"filePath":"/w/f%d.go"},"output":%s}}}`+"\n", i, i, code)
		s.WriteString(`{"type":"step_finish","sessionID":"s","part":{"reason":"stop","tokens":{"total":3,"input":1,"output":2,"cache":{"read":0,"write":0}},"cost":0.1}}` + "\n")
	}
	agenttest.RunBenchmark(b, s.Bytes(), func(emit func(ralph.Event)) driver.Decoder {
		return newDecoder(driver.Options{}, emit, func() {})
	})
}

// BenchmarkOpencodeDecodeSmall decodes lines as short as most are.
func BenchmarkOpencodeDecodeSmall(b *testing.B) {
	agenttest.RunBenchmark(b, []byte(strings.Repeat(agenttest.Recording(b, "opencode", "success_tool"), 1000)), func(emit func(ralph.Event)) driver.Decoder {
		return newDecoder(driver.Options{}, emit, func() {})
	})
}
