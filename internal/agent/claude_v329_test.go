package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// Recordings of claude 2.1.329 with a scripted model: what a turn came to.
func TestClaude329(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name              string
		exit              int
		failure           string
		says              bool
		tools, toolErrors int
		malformed         int
		texts             string // the main agent's, joined by "|"
	}{
		{name: "tool_use", failure: "none", says: true, tools: 1, texts: "Writing it.|All done. " + marker},
		{name: "tool_error", failure: "none", tools: 3, toolErrors: 3, texts: "There were errors."},
		{name: "tasks", failure: "none", says: true, tools: 3, texts: "All done. " + marker},
		{name: "subagent", failure: "none", tools: 2, texts: "Delegating.|The helper finished; more remains.|The helper finished; more remains."},
		{name: "long_output", failure: "none", says: true, tools: 1, texts: "All done. " + marker},
		{name: "killed", exit: 137, failure: "crash", tools: 1, malformed: 1, texts: "Writing it."},
		{name: "usage_limit", exit: 1, failure: "quota"},
		{name: "api_400", exit: 1, failure: "request"},
		{name: "api_401", exit: 1, failure: "authentication"},
		{name: "api_403", exit: 1, failure: "authentication"},
		{name: "api_404", exit: 1, failure: "model"},
		{name: "api_429", exit: 1, failure: "api-error"},
		{name: "api_500", exit: 1, failure: "api-error"},
		{name: "api_529", exit: 1, failure: "api-error"},
		{name: "stream_cut", exit: 1, failure: "api-error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stream := transcript(t, "v329_"+tt.name)
			got := decodeClaude(stream, 0, tt.exit)
			if small := decodeClaude(stream, 7, tt.exit); small.render() != got.render() {
				t.Error("how the stream is split matters")
			}
			if kind(got.failure) != tt.failure || got.says(marker) != tt.says || got.turn.Tools != tt.tools || got.turn.ToolErrors != tt.toolErrors {
				t.Errorf("failure %+v, says %v, %d tools, %d of them failed; want %+v", got.failure, got.says(marker), got.turn.Tools, got.turn.ToolErrors, tt)
			}
			if got.turn.Malformed != tt.malformed || got.turn.Unknown != 0 {
				t.Errorf("Malformed, Unknown = %d, %d, want %d, 0", got.turn.Malformed, got.turn.Unknown, tt.malformed)
			}
			if g := strings.Join(got.searchable(), "|"); tt.texts != "" && g != tt.texts {
				t.Errorf("its words = %q, want %q", g, tt.texts)
			}
			checkModels(t, got, stream)
			if tt.name == "usage_limit" && !got.failure.RetryAt.Equal(time.Unix(1795399999, 0)) {
				t.Errorf("RetryAt = %v", got.failure.RetryAt)
			}
		})
	}
	golden(t, "claude", decodeClaude, "v329_tool_use", "v329_tool_error", "v329_tasks", "v329_subagent", "v329_killed", "v329_usage_limit", "v329_api_401")
}

// checkModels compares usage with what encoding/json finds: by model, in all, and
// never less than what was told while the turn ran.
func checkModels(t *testing.T, got decoded, stream string) {
	t.Helper()
	var end struct {
		Type       string
		ModelUsage map[string]struct {
			InputTokens, OutputTokens, CacheReadInputTokens, CacheCreationInputTokens int64
			CostUSD                                                                   float64
		}
	}
	lines := strings.Split(strings.TrimSpace(stream), "\n")
	if json.Unmarshal([]byte(lines[len(lines)-1]), &end) != nil || end.Type != "result" {
		if got.turn.Models != nil || !got.turn.Usage.Tokens.Unknown {
			t.Errorf("Models = %+v, Usage = %+v of a turn without a result", got.turn.Models, got.turn.Usage)
		}
		return
	}
	seen := 0
	for _, m := range got.turn.Models {
		w, u := end.ModelUsage[m.Model], m.Usage
		want := ralph.Usage{Cost: ralph.Cost{Amount: ralph.FromUSD(w.CostUSD)}, Tokens: ralph.Tokens{Input: w.InputTokens, Output: w.OutputTokens, CacheRead: w.CacheReadInputTokens, CacheWrite: w.CacheCreationInputTokens}}
		if u != want {
			t.Errorf("usage of %s = %+v, want %+v", m.Model, u, want)
		}
		seen++
	}
	for _, w := range end.ModelUsage {
		if w.InputTokens+w.OutputTokens > 0 {
			seen--
		}
	}
	if seen != 0 {
		t.Errorf("Models = %+v, want those of %+v", got.turn.Models, end.ModelUsage)
	}
	for _, e := range got.events {
		if e.Kind == ralph.EventUsage {
			if u := sum(e.Models).Tokens; u.Total() > got.turn.Usage.Tokens.Total() || u.Unknown {
				t.Errorf("the stream told %+v, more than the turn's %+v", u, got.turn.Usage.Tokens)
			}
		}
	}
}

// refused decodes a stream line by line, as a CLI that is ended when the turn is
// given up: what it would have said behind that never comes.
func refused(d decoder, c *common, stream string, exit int) (read int, f *ralph.Failure) {
	over := false
	c.giveUp = func() { over = true }
	for line := range strings.Lines(stream) {
		if over {
			exit = 143
			break
		}
		d.Stdout([]byte(line))
		read++
	}
	d.Close()
	return read, d.Failure(exit)
}

// A key that is refused, a model that is not there and a usage limit end the turn
// as soon as the stream shows them, and the message says what to look at. What may
// pass is left to the CLI.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	retry := func(attempt, status string) string {
		return `{"type":"system","subtype":"api_retry","attempt":` + attempt + `,"max_retries":10,"retry_delay_ms":500,"error_status":` + status + `,"error":"x"}` + "\n"
	}
	const rejected = `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795399999}}` + "\n"
	again := func(message string) string { return `{"type":"error","message":` + quote(message) + `}` + "\n" }
	const unauthorized = "(unexpected status 401 Unauthorized: nope, url: "
	lost := again("Reconnecting... waiting for network (Connection failed: error sending request)")
	read := func(path string) string {
		b, err := os.ReadFile(filepath.Join("testdata", path+".ndjson"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, tt := range []struct {
		name, agent, stream string
		read                int // lines; 0: all
		want                string
		says                string
	}{
		{"claude: 401", "claude", read("claude/slow_api_401_default"), 3, "authentication", "claude: the API refused the request, twice (401 authentication_failed); is the key right in THE_KEY (input api-key)"},
		{"claude: 401, which a second attempt overcomes", "claude", retry("1", "401") + say("a", "hi") + good, 0, "none", ""},
		{"claude: 403", "claude", retry("1", "403") + retry("2", "403") + good, 2, "authentication", "is the key right in THE_KEY"},
		{"claude: 404", "claude", retry("1", "404") + retry("2", "404") + good, 2, "model", `; is the input model right? it is "the-model"`},
		{"claude: 404 at once", "claude", read("claude/v329_api_404"), 0, "model", `; is the input model right? it is "the-model"`},
		{"claude: 403 at once", "claude", read("claude/v329_api_403"), 0, "authentication", "is the key right in THE_KEY"},
		{"claude: 500", "claude", retry("1", "500") + retry("2", "500") + say("a", "hi") + good, 0, "none", ""},
		{"claude: 429", "claude", retry("1", "429") + retry("2", "429") + say("a", "hi") + good, 0, "none", ""},
		{"claude: a usage limit it would wait for", "claude", rejected + retry("1", "429") + say("a", "hi") + good, 2, "quota", "claude: the usage limit is reached"},
		{"codex: 401", "codex", read("codex/retry_401"), 3, "authentication", "unexpected status 401 Unauthorized: mock, url: http://127.0.0.1:8981/v1/responses; is the key right in THE_KEY"},
		{"codex: 403", "codex", read("codex/retry_403"), 3, "authentication", "; is the key right in THE_KEY"},
		{"codex: a proxy without WebSockets", "codex", again("Reconnecting... 1/5 (unexpected status 403 Forbidden: no, url: wss://x/v1/responses)") + say("a", "x"), 0, "malformed", ""},
		{"codex: 401 to a WebSocket", "codex", again("Reconnecting... 1/5 "+unauthorized+"wss://x/v1/responses)") + again("x"), 1, "authentication", "THE_KEY"},
		{"codex: without WebSockets, then 401", "codex", read("codex/websocket_401"), 8, "authentication", "THE_KEY"},
		{"codex: model", "codex", read("codex/model_404"), 0, "model", "The model `gpt-9` does not exist or you do not have access to it.; is the input model right?"},
		{"codex: 400", "codex", read("codex/body_400"), 0, "request", "Unsupported value"},
		{"codex: 400 of an account", "codex", read("codex/model_400"), 0, "request", "The model is not supported with this account."},
		{"codex: no network", "codex", strings.Repeat(lost, maxWaits+3), maxWaits, "api-error", "codex found no way to its API, again and again: waiting for network"},
		{"codex: no network for a while", "codex", strings.Repeat(lost, maxWaits-1) + `{"type":"turn.started"}` + "\n" + strings.Repeat(lost, maxWaits-1), 0, "malformed", ""},
		{"cline: 401", "cline", read("cline/api_401"), 0, "authentication", "Incorrect API key provided; is the key right in THE_KEY"},
	} {
		var d decoder
		var c *common
		emit, finished := func(ralph.Event) {}, func() {}
		switch tt.agent {
		case "claude":
			x := newClaudeDecoder("claude", emit, finished)
			d, c = x, &x.common
		case "codex":
			x := newCodexDecoder(emit, finished)
			d, c = x, &x.common
		case "cline":
			x := newClineDecoder("p", emit, finished)
			d, c = x, &x.common
		}
		c.hints = hints{key: "THE_KEY", model: "the-model"}
		n, f := refused(d, c, tt.stream, 0)
		if want := tt.read; n != want && want > 0 || want == 0 && n != strings.Count(tt.stream, "\n") {
			t.Errorf("%s: given up behind %d lines, want %d", tt.name, n, want)
		}
		if kind(f) != tt.want || f != nil && (!strings.Contains(f.Message, tt.says) || len([]rune(f.Message)) > maxMessage) {
			t.Errorf("%s: failure = %+v, want %s that says %q", tt.name, f, tt.want, tt.says)
		}
		if tt.want == "quota" && !f.RetryAt.Equal(time.Unix(1795399999, 0)) {
			t.Errorf("%s: RetryAt = %v", tt.name, f.RetryAt)
		}
	}
}

// A refused key ends the child, and the turn fails for that reason.
func TestGiveUpEndsTheCLI(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(transcript(t, "slow_api_401_default"), "\n")
	file := filepath.Join(t.TempDir(), "refused.ndjson")
	if err := os.WriteFile(file, []byte(strings.Join(lines[:3], "")), 0o600); err != nil {
		t.Fatal(err)
	}
	o := player(t, "claude", "hang", file)
	o.Env = append(o.Env, "ANTHROPIC_API_KEY=k")
	start := time.Now()
	got := run(t, t.Context(), o, "p")
	if kind(got.failure) != "authentication" || !strings.Contains(got.failure.Message, "is the key right in ANTHROPIC_API_KEY") || time.Since(start) > 30*time.Second {
		t.Errorf("failure = %+v after %v, want authentication", got.failure, time.Since(start))
	}
}

// What a turn used is told while it runs: each message once, subagents included,
// on top of what a result said.
func TestClaudeUsageWhileRunning(t *testing.T) {
	t.Parallel()
	message := func(id, model string, in int, parent string) string {
		return `{"type":"assistant","message":{"id":"` + id + `","model":"` + model + `","content":[],"usage":{"input_tokens":` + string(rune('0'+in)) + `,"output_tokens":1}},"parent_tool_use_id":` + parent + `}` + "\n"
	}
	stream := message("a", "m", 1, "null") + message("a", "m", 1, "null") + message("b", "n", 2, `"t"`) + message("a", "m", 1, "null") + message("c", "m", 3, "null") +
		good + message("d", "m", 4, "null") + message("s", "<synthetic>", 9, "null") + `{"type":"assistant","message":{"content":[],"model":"m","usage":{"input_tokens":9}}}` + "\n"
	got := decodeClaude(stream, 0, 1)
	const want = `usage "m" 1+0+0/1 unknown;
usage "m" 1+0+0/1 unknown; "n" 2+0+0/1 unknown;
usage "m" 4+0+0/2 unknown; "n" 2+0+0/1 unknown;
text result 6 "bye"
usage "a" 1+3+4/2 unknown; "b" 10+0+0/0 unknown;
usage "a" 1+3+4/2 unknown; "b" 10+0+0/0 unknown; "m" 4+0+0/1 unknown;
`
	if got.render() != want {
		t.Errorf("events =\n%s\nwant\n%s", got.render(), want)
	}
	if got.turn.Models != nil || !got.turn.Usage.Tokens.Unknown {
		t.Errorf("turn = %+v, want its usage to be a lower bound", got.turn)
	}
	amp := decodeAmp(ampInit+ampTool+ampBack+ampSays+ampGood, 0, 0)
	if n := amp.count(ralph.EventUsage); n != 2 {
		t.Errorf("amp told its usage %d times, want once for a message and once for the result", n)
	}
}

// In a session that goes on, the models' usage is that of the turn.
func TestClaudeModelsOfResumedSession(t *testing.T) {
	t.Parallel()
	const all = `"modelUsage":{"a":{"inputTokens":5,"outputTokens":6,"costUSD":0.5},"b":{"inputTokens":7,"outputTokens":1,"costUSD":0.25}},"total_cost_usd":0.75`
	const now = `"model_usage_since_last_result":{"b":{"inputTokens":3,"outputTokens":1,"costUSD":0.125}}`
	got := decodeClaude(say("m", "hi")+`{"type":"result","subtype":"success","result":"hi",`+all+`,`+now+"}\n", 0, 0).turn
	want := ralph.ModelUsage{Model: "b", Usage: ralph.Usage{Cost: ralph.Cost{Amount: 125_000}, Tokens: ralph.Tokens{Input: 3, Output: 1}}}
	if len(got.Models) != 1 || got.Models[0] != want || got.Usage != want.Usage {
		t.Errorf("Models = %+v, Usage = %+v, want %+v", got.Models, got.Usage, want)
	}
}
