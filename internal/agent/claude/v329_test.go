package claude

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/agenttest"
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
		{name: "tool_use", failure: "none", says: true, tools: 1, texts: "Writing it.|All done. " + agenttest.Marker},
		{name: "tool_error", failure: "none", tools: 3, toolErrors: 3, texts: "There were errors."},
		{name: "tasks", failure: "none", says: true, tools: 3, texts: "All done. " + agenttest.Marker},
		{name: "subagent", failure: "none", tools: 2, texts: "Delegating.|The helper finished; more remains.|The helper finished; more remains."},
		{name: "long_output", failure: "none", says: true, tools: 1, texts: "All done. " + agenttest.Marker},
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
			stream := agenttest.Transcript(t, "v329_"+tt.name)
			got := decodeStream(stream, 0, tt.exit)
			if small := decodeStream(stream, 7, tt.exit); small.Render() != got.Render() {
				t.Error("how the stream is split matters")
			}
			if agenttest.FailureKind(got.Failure) != tt.failure || got.Says(agenttest.Marker) != tt.says || got.Turn.Tools != tt.tools || got.Turn.ToolErrors != tt.toolErrors {
				t.Errorf("failure %+v, says %v, %d tools, %d of them failed; want %+v", got.Failure, got.Says(agenttest.Marker), got.Turn.Tools, got.Turn.ToolErrors, tt)
			}
			if got.Turn.Malformed != tt.malformed || got.Turn.Unknown != 0 {
				t.Errorf("Malformed, Unknown = %d, %d, want %d, 0", got.Turn.Malformed, got.Turn.Unknown, tt.malformed)
			}
			if g := strings.Join(got.Searchable(), "|"); tt.texts != "" && g != tt.texts {
				t.Errorf("its words = %q, want %q", g, tt.texts)
			}
			checkModels(t, got, stream)
			if tt.name == "usage_limit" && !got.Failure.RetryAt.Equal(time.Unix(1795399999, 0)) {
				t.Errorf("RetryAt = %v", got.Failure.RetryAt)
			}
		})
	}
	agenttest.Golden(t, "claude", decodeStream, "v329_tool_use", "v329_tool_error", "v329_tasks", "v329_subagent", "v329_killed", "v329_usage_limit", "v329_api_401")
}

// checkModels compares usage with what encoding/json finds: by model, in all, and
// never less than what was told while the turn ran.
func checkModels(t *testing.T, got agenttest.Decoded, stream string) {
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
		if got.Turn.Models != nil || !got.Turn.Usage.Tokens.Unknown {
			t.Errorf("Models = %+v, Usage = %+v of a turn without a result", got.Turn.Models, got.Turn.Usage)
		}
		return
	}
	seen := 0
	for _, m := range got.Turn.Models {
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
		t.Errorf("Models = %+v, want those of %+v", got.Turn.Models, end.ModelUsage)
	}
	for _, e := range got.Events {
		if e.Kind == ralph.EventUsage {
			var u ralph.Tokens
			for _, m := range e.Models {
				u = u.Add(m.Usage.Tokens)
			}
			if u.Total() > got.Turn.Usage.Tokens.Total() || u.Unknown {
				t.Errorf("the stream told %+v, more than the turn's %+v", u, got.Turn.Usage.Tokens)
			}
		}
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
		agenttest.Good + message("d", "m", 4, "null") + message("s", "<synthetic>", 9, "null") + `{"type":"assistant","message":{"content":[],"model":"m","usage":{"input_tokens":9}}}` + "\n"
	got := decodeStream(stream, 0, 1)
	const want = `usage "m" 1+0+0/1 unknown;
usage "m" 1+0+0/1 unknown; "n" 2+0+0/1 unknown;
usage "m" 4+0+0/2 unknown; "n" 2+0+0/1 unknown;
text result 6 "bye"
usage "a" 1+3+4/2 unknown; "b" 10+0+0/0 unknown;
usage "a" 1+3+4/2 unknown; "b" 10+0+0/0 unknown; "m" 4+0+0/1 unknown;
`
	if got.Render() != want {
		t.Errorf("events =\n%s\nwant\n%s", got.Render(), want)
	}
	if got.Turn.Models != nil || !got.Turn.Usage.Tokens.Unknown {
		t.Errorf("turn = %+v, want its usage to be a lower bound", got.Turn)
	}
}

// In a session that goes on, the models' usage is that of the turn.
func TestClaudeModelsOfResumedSession(t *testing.T) {
	t.Parallel()
	const all = `"modelUsage":{"a":{"inputTokens":5,"outputTokens":6,"costUSD":0.5},"b":{"inputTokens":7,"outputTokens":1,"costUSD":0.25}},"total_cost_usd":0.75`
	const now = `"model_usage_since_last_result":{"b":{"inputTokens":3,"outputTokens":1,"costUSD":0.125}}`
	got := decodeStream(agenttest.Say("m", "hi")+`{"type":"result","subtype":"success","result":"hi",`+all+`,`+now+"}\n", 0, 0).Turn
	want := ralph.ModelUsage{Model: "b", Usage: ralph.Usage{Cost: ralph.Cost{Amount: 125_000}, Tokens: ralph.Tokens{Input: 3, Output: 1}}}
	if len(got.Models) != 1 || got.Models[0] != want || got.Usage != want.Usage {
		t.Errorf("Models = %+v, Usage = %+v, want %+v", got.Models, got.Usage, want)
	}
}
