package claude

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// recordedKept is how often a stop hook kept claude going in the recorded
// cases; in what is not named it never did. The ninth time in a row claude ends
// none the less.
func recordedKept() map[string]int {
	return map[string]int{"hook_stop": 1, "hook_stop_events": 1, "hook_stop_exit2": 1, "hook_stop_always": 9, "hook_stop_always_nocap": 9}
}

// What a stop hook says is reported once each time, whatever shape it comes in,
// and nothing else passes for it. // 004-05, 004-11
func TestClaudeKept(t *testing.T) {
	t.Parallel()
	const words = "Stop hook feedback:\\nGo on: not done."
	for _, tt := range []struct {
		name, line string
		want       string // empty: not kept
	}{
		{"a list", `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"` + words + `"}]},"parent_tool_use_id":null,"isSynthetic":true}`, "Go on: not done."},
		{"a string", `{"isSynthetic":true,"message":{"content":"` + words + `","role":"user"},"parent_tool_use_id":null,"type":"user"}`, "Go on: not done."},
		{"behind another block", `{"type":"user","message":{"content":[{"type":"image"},{"text":"` + words + `","type":"text"}]},"isSynthetic":true}`, "Go on: not done."},
		{"twice in one event", `{"type":"user","message":{"content":[{"type":"text","text":"` + words + `"},{"type":"text","text":"` + words + `"}]},"isSynthetic":true}`, "Go on: not done."},
		{"without the mark of older CLIs", `{"type":"user","message":{"content":"` + words + `"},"parent_tool_use_id":null}`, "Go on: not done."},
		{"of a hook that exits with 2", `{"type":"user","message":{"content":[{"type":"text","text":"Stop hook feedback:\n[/opt/stop.sh]: no\n"}]},"isSynthetic":true}`, "[/opt/stop.sh]: no"},
		{"a subagent's", `{"type":"user","message":{"content":[{"type":"text","text":"` + words + `"}]},"parent_tool_use_id":"t1","isSynthetic":true}`, ""},
		{"a prompt that is replayed", `{"type":"user","message":{"content":"` + words + `"},"parent_tool_use_id":null,"isReplay":true}`, ""},
		{"a message that is not synthetic", `{"type":"user","message":{"content":"` + words + `"},"isSynthetic":false}`, ""},
		{"a tool's output", `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"` + words + `"}]},"parent_tool_use_id":null}`, ""},
		{"a tool's output in blocks", `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"` + words + `"}]}]},"parent_tool_use_id":null}`, ""},
		{"the agent's own words", agenttest.Say("m", "Stop hook feedback:\nGo on"), ""},
		{"not at the beginning", `{"type":"user","message":{"content":"He said: ` + words + `"},"isSynthetic":true}`, ""},
		{"a list behind a string", `{"type":"user","message":{"content":"` + words + `","content":[]},"isSynthetic":true}`, ""},
		{"a line that breaks off", `{"type":"user","message":{"content":"` + words + `"},"isSynth`, ""},
	} {
		for _, size := range []int{0, 1} {
			got := decodeStream(tt.line+"\n"+agenttest.Say("n", "bye")+agenttest.Good, size, 0)
			texts := keptTexts(got)
			if strings.Join(texts, "|") != tt.want || got.Turn.Kept != len(texts) {
				t.Errorf("%s: kept %q, Kept = %d, want %q", tt.name, texts, got.Turn.Kept, tt.want)
			}
			if got.Failure != nil {
				t.Errorf("%s: failure %+v, want none", tt.name, got.Failure)
			}
		}
	}
	got := decodeStream(`{"type":"user","message":{"content":`+agenttest.Quote("Stop hook feedback: "+strings.Repeat("größer ", 1<<20))+`},"isSynthetic":true}`+"\n", 0, 0)
	if texts := keptTexts(got); len(texts) != 1 || utf8.RuneCountInString(texts[0]) > driver.MaxMessage || !strings.HasPrefix(texts[0], "größer größer") {
		t.Errorf("of 8 MB of feedback %d texts are kept, of %d bytes", len(texts), len(strings.Join(texts, "")))
	}
}

// When claude has been kept too often in a row, it ends with an empty result;
// that is no empty answer. // 004-05
func TestClaudeKeptToTheCap(t *testing.T) {
	t.Parallel()
	got := decodeStream(agenttest.Transcript(t, "hook_stop_always"), 0, 0)
	if got.Failure != nil || got.Turn.FinalText != "stop" || got.Turn.Kept != 9 || keptTexts(got)[8] != "never good enough" {
		t.Errorf("failure %+v, FinalText %q, Kept %d, want none, stop, 9", got.Failure, got.Turn.FinalText, got.Turn.Kept)
	}
}

// keptTexts are what the stop hook said, of each time.
func keptTexts(d agenttest.Decoded) (texts []string) {
	for _, e := range d.Events {
		if e.Kind == ralph.EventKept {
			texts = append(texts, e.Text)
		}
	}
	return texts
}
