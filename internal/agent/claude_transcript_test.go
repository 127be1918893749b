package agent

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

var update = flag.Bool("update", false, "rewrite the golden files")

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
	b, err := os.ReadFile(filepath.Join("testdata", "claude", "index.json"))
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
			stream := transcript(t, want.Case)
			exit := -1
			if want.ExitCode != nil {
				exit = *want.ExitCode
			}
			got := decodeClaude(stream, 0, exit)
			if small := decodeClaude(stream, 7, exit); small.render() != got.render() {
				t.Errorf("decode in pieces of 7 bytes = %s, want %s", small.render(), got.render())
			}

			if got.turn.Malformed != want.NotJSON || got.turn.Unknown != 0 {
				t.Errorf("Malformed, Unknown = %d, %d, want %d, 0", got.turn.Malformed, got.turn.Unknown, want.NotJSON)
			}
			if n := recordedKept()[want.Case]; got.turn.Kept != n || got.count(ralph.EventKept) != n {
				t.Errorf("Kept = %d, with %d events, want %d", got.turn.Kept, got.count(ralph.EventKept), n)
			}
			if g := got.says(marker); g != want.Marker {
				t.Errorf("marker in the agent's own text = %v, want %v", g, want.Marker)
			}
			if n := len(want.SessionIDs); n > 0 && got.turn.Session != want.SessionIDs[n-1] {
				t.Errorf("Session = %q, want %q", got.turn.Session, want.SessionIDs[n-1])
			}
			if g := lastText(got, want.MainTextLast); !strings.HasSuffix(g, want.MainTextLast) {
				t.Errorf("last text = %q, want it to end in %q", g, want.MainTextLast)
			}
			wantKind := "none"
			if k, ok := failures[want.Case]; ok {
				wantKind = k.String()
			}
			if g := kind(got.failure); g != wantKind {
				t.Errorf("Failure(%d) = %s (%+v), want %s", exit, g, got.failure, wantKind)
			}
			if got.failure != nil && got.failure.Message == "" {
				t.Errorf("Failure(%d).Message is empty", exit)
			}
			checkUsage(t, got, want)
			if want.NotJSON == 0 {
				checkTools(t, got, stream)
			}
		})
	}
}

func lastText(got decoded, want string) string {
	if want == "" {
		return ""
	}
	return got.turn.FinalText
}

func checkUsage(t *testing.T, got decoded, want oracle) {
	t.Helper()
	if len(want.Ends) == 0 {
		if !got.turn.Usage.Cost.Unknown || !got.turn.Usage.Tokens.Unknown || got.done || got.finished != 0 {
			t.Errorf("Usage = %+v, finished %d times, want unknown and never", got.turn.Usage, got.finished)
		}
		return
	}
	end := want.Ends[len(want.Ends)-1]
	tokens := ralph.Tokens{}
	for _, m := range end.Models {
		tokens = tokens.Add(ralph.Tokens{Input: m.In, Output: m.Out, CacheRead: m.CR, CacheWrite: m.CW})
	}
	wantUsage := ralph.Usage{Cost: ralph.Cost{Amount: ralph.MicroUSD(math.Round(end.Cost * 1e6))}, Tokens: tokens}
	if got.turn.Usage != wantUsage || !got.done || got.finished == 0 {
		t.Errorf("Usage = %+v, finished %d times, want %+v", got.turn.Usage, got.finished, wantUsage)
	}
}

// checkTools counts tool calls and their ends with encoding/json.
func checkTools(t *testing.T, got decoded, stream string) {
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
	if got.turn.Tools != starts || got.count(ralph.EventToolStart) != starts || got.turn.ToolErrors != failed {
		t.Errorf("Tools, started, ToolErrors = %d, %d, %d, want %d, %d, %d",
			got.turn.Tools, got.count(ralph.EventToolStart), got.turn.ToolErrors, starts, starts, failed)
	}
	if g := got.count(ralph.EventToolEnd); g != ends {
		t.Errorf("tools ended = %d, want %d", g, ends)
	}
	for _, e := range got.events {
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
			got := decodeClaude(transcript(t, name), 0, 0)
			for i := range got.events {
				if e := &got.events[i]; len(e.Text) > 300 {
					e.Text = clip(e.Text, 300)
				}
			}
			golden := filepath.Join("testdata", "claude", name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got.render()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got.render() != string(want) {
				t.Errorf("events of %s =\n%s\nwant\n%s", name, got.render(), want)
			}
		})
	}
}
