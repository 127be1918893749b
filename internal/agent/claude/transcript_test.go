package claude

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// oracle is testdata/claude/index.json: what a parser should find in each
// transcript, worked out apart from this package.
type oracle struct {
	Case         string
	ExitCode     *int     `json:"exit_code"`
	NotJSON      int      `json:"not_json"`
	SessionIDs   []string `json:"session_ids"`
	MainTextLast string   `json:"main_text_last"`
	Marker       bool     `json:"marker_in_main_text"`
	Ends         []struct {
		IsError bool    `json:"is_error"`
		Cost    float64 `json:"total_cost_usd"`
		Models  map[string]struct {
			In, Out, CR, CW int64
		} `json:"model_usage"`
	}
}

func oracles(t *testing.T) []oracle {
	t.Helper()
	b, err := os.ReadFile(agenttest.Testdata("claude", "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []oracle
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// failures of the recorded cases; what is not named went well.
func recordedFailures() map[string]ralph.FailureKind {
	return map[string]ralph.FailureKind{
		"api_400_credit":           ralph.FailureQuota,
		"api_400_too_long":         ralph.FailureRequest,
		"api_401":                  ralph.FailureAuth,
		"api_403":                  ralph.FailureAuth,
		"api_404_model":            ralph.FailureModel,
		"api_429":                  ralph.FailureAPI,
		"api_500":                  ralph.FailureAPI,
		"api_500_after_tool":       ralph.FailureAPI,
		"api_529":                  ralph.FailureAPI,
		"api_refused":              ralph.FailureAPI,
		"bad_flag":                 ralph.FailureCrash,
		"bad_mcp_config":           ralph.FailureCrash,
		"bad_settings":             ralph.FailureCrash,
		"compact_cmd.2":            ralph.FailureEmpty,
		"empty_answer":             ralph.FailureEmpty,
		"format_stream_no_verbose": ralph.FailureCrash,
		"hook_api_error":           ralph.FailureAuth,
		"max_budget":               ralph.FailureBudget,
		"max_budget_text":          ralph.FailureBudget,
		"max_tokens":               ralph.FailureAPI,
		"no_key":                   ralph.FailureAuth,
		"no_prompt":                ralph.FailureCrash,
		"refusal":                  ralph.FailureRequest,
		"resume_after_kill.1":      ralph.FailureCrash,
		"resume_missing":           ralph.FailureCrash,
		"root_no_sandbox":          ralph.FailureCrash,
		"root_no_sandbox_mode":     ralph.FailureCrash,
		"sigint_tool":              ralph.FailureCrash,
		"sigkill_group":            ralph.FailureCrash,
		"sigkill_tool":             ralph.FailureCrash,
		"sigkill_truncated":        ralph.FailureCrash,
		"sigterm_model":            ralph.FailureCrash,
		"sigterm_tool":             ralph.FailureCrash,
		"slow_429_long":            ralph.FailureAPI,
		"slow_api_401_default":     ralph.FailureAuth,
		"slow_api_429_default":     ralph.FailureAPI,
		"slow_api_529_default":     ralph.FailureAPI,
		"slow_hang":                ralph.FailureCrash,
		"slow_refused_default":     ralph.FailureAPI,
		"stream_cut":               ralph.FailureAPI,
		"stream_error_event":       ralph.FailureAPI,
	}
}

// Every recorded transcript, fed whole and in small pieces, agrees with the
// oracle. // 001-39, 001-41, 000-27
func TestClaudeTranscripts(t *testing.T) {
	t.Parallel()
	failures := recordedFailures()
	for _, want := range oracles(t) {
		t.Run(want.Case, func(t *testing.T) {
			t.Parallel()
			stream := agenttest.Transcript(t, want.Case)
			exit := -1
			if want.ExitCode != nil {
				exit = *want.ExitCode
			}
			got := decodeStream(stream, 0, exit)
			if small := decodeStream(stream, 7, exit); small.Render() != got.Render() {
				t.Errorf("decode in pieces of 7 bytes = %s, want %s", small.Render(), got.Render())
			}

			if got.Turn.Malformed != want.NotJSON || got.Turn.Unknown != 0 {
				t.Errorf("Malformed, Unknown = %d, %d, want %d, 0", got.Turn.Malformed, got.Turn.Unknown, want.NotJSON)
			}
			if n := recordedKept()[want.Case]; got.Turn.Kept != n || got.Count(ralph.EventKept) != n {
				t.Errorf("Kept = %d, with %d events, want %d", got.Turn.Kept, got.Count(ralph.EventKept), n)
			}
			if g := got.Says(agenttest.Marker); g != want.Marker {
				t.Errorf("marker in the agent's own text = %v, want %v", g, want.Marker)
			}
			if n := len(want.SessionIDs); n > 0 && got.Turn.Session != want.SessionIDs[n-1] {
				t.Errorf("Session = %q, want %q", got.Turn.Session, want.SessionIDs[n-1])
			}
			if g := lastText(got, want.MainTextLast); !strings.HasSuffix(g, want.MainTextLast) {
				t.Errorf("last text = %q, want it to end in %q", g, want.MainTextLast)
			}
			wantKind := "none"
			if k, ok := failures[want.Case]; ok {
				wantKind = k.String()
			}
			if g := agenttest.FailureKind(got.Failure); g != wantKind {
				t.Errorf("Failure(%d) = %s (%+v), want %s", exit, g, got.Failure, wantKind)
			}
			if got.Failure != nil && got.Failure.Message == "" {
				t.Errorf("Failure(%d).Message is empty", exit)
			}
			checkUsage(t, got, want)
			if want.NotJSON == 0 {
				checkTools(t, got, stream)
			}
		})
	}
}

func lastText(got agenttest.Decoded, want string) string {
	if want == "" {
		return ""
	}
	return got.Turn.FinalText
}

func checkUsage(t *testing.T, got agenttest.Decoded, want oracle) {
	t.Helper()
	if len(want.Ends) == 0 {
		if !got.Turn.Usage.Cost.Unknown || !got.Turn.Usage.Tokens.Unknown || got.Done || got.Finished != 0 {
			t.Errorf("Usage = %+v, finished %d times, want unknown and never", got.Turn.Usage, got.Finished)
		}
		return
	}
	end := want.Ends[len(want.Ends)-1]
	tokens := ralph.Tokens{}
	for _, m := range end.Models {
		tokens = tokens.Add(ralph.Tokens{Input: m.In, Output: m.Out, CacheRead: m.CR, CacheWrite: m.CW})
	}
	wantUsage := ralph.Usage{Cost: ralph.Cost{Amount: ralph.MicroUSD(math.Round(end.Cost * 1e6))}, Tokens: tokens}
	if got.Turn.Usage != wantUsage || !got.Done || got.Finished == 0 {
		t.Errorf("Usage = %+v, finished %d times, want %+v", got.Turn.Usage, got.Finished, wantUsage)
	}
}

// checkTools counts tool calls and their ends with encoding/json.
func checkTools(t *testing.T, got agenttest.Decoded, stream string) {
	t.Helper()
	starts, ends, failed := 0, 0, 0
	for line := range strings.Lines(stream) {
		var e struct {
			Message struct{ Content any }
		}
		if json.Unmarshal([]byte(line), &e) != nil {
			continue
		}
		content, _ := e.Message.Content.([]any)
		for _, c := range content {
			b, _ := c.(map[string]any)
			switch b["type"] {
			case "tool_use":
				starts++
			case "tool_result":
				ends++
				if b["is_error"] == true {
					failed++
				}
			}
		}
	}
	if got.Turn.Tools != starts || got.Count(ralph.EventToolStart) != starts || got.Turn.ToolErrors != failed {
		t.Errorf("Tools, started, ToolErrors = %d, %d, %d, want %d, %d, %d",
			got.Turn.Tools, got.Count(ralph.EventToolStart), got.Turn.ToolErrors, starts, starts, failed)
	}
	if g := got.Count(ralph.EventToolEnd); g != ends {
		t.Errorf("tools ended = %d, want %d", g, ends)
	}
	for _, e := range got.Events {
		if e.Kind == ralph.EventToolEnd && e.Tool == "" {
			t.Errorf("tool end %q has no start", e.ToolID)
		}
	}
}

// The events of a handful of transcripts, one by one.
func TestClaudeEvents(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"success_tool", "tasks", "todowrite", "subagent", "subagent_background", "tool_error", "api_429", "multi_text", "edit_tools", "read_image", "unicode", "fallback_model", "mcp", "json_schema", "sigkill_truncated"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := decodeStream(agenttest.Transcript(t, name), 0, 0)
			for i := range got.Events {
				if e := &got.Events[i]; len(e.Text) > 300 {
					e.Text = driver.Clip(e.Text, 300)
				}
			}
			golden := agenttest.Testdata("claude", name+".golden")
			if *agenttest.Update {
				if err := os.WriteFile(golden, []byte(got.Render()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got.Render() != string(want) {
				t.Errorf("events of %s =\n%s\nwant\n%s", name, got.Render(), want)
			}
		})
	}
}
