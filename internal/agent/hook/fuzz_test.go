package hook_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/hook"
)

func FuzzInput(f *testing.F) {
	for _, name := range []string{"stop", "pre-tool-use", "post-tool-use-subagent", "session-start"} {
		f.Add(recorded(f, name))
	}
	f.Add(`{"session_id":"a","tool_name":"Bash","tool_input":{"command":"rm -rf /"}}`)
	f.Fuzz(func(t *testing.T, in string) {
		h := hook.Hook{Monitor: hook.Monitor{Dir: t.TempDir()}, Guard: guard()}
		for _, event := range hook.Commands() {
			answer := h.Answer(event, strings.NewReader(in))
			if !json.Valid(answer.JSON()) {
				t.Errorf("answer %q is no JSON", answer.JSON())
			}
			if answer.Refused && event != hook.PreToolUse {
				t.Errorf("%s was refused: %+v", event, answer)
			}
		}
	})
}

func FuzzTranscript(f *testing.F) {
	data, err := os.ReadFile("testdata/stop.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Add("{\"type\":\"assistant\"}\n\n\x00")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "t")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := hook.NewSession("t", "COMPLETE", 9, time.Time{})
		in := input(t, map[string]any{"session_id": "s", "transcript_path": path})
		for range 2 {
			hook.Hook{Stop: hook.StopFacts{Session: &s}}.Answer(hook.Stop, strings.NewReader(in))
		}
		if s.PromiseSeen && s.ToolCallsThisRun == 0 && s.Status == hook.PromiseAccepted {
			t.Errorf("a promise without work was accepted: %+v", s)
		}
		if s.Read > int64(len(text)) || s.Read < 0 {
			t.Errorf("read %d of %d bytes", s.Read, len(text))
		}
	})
}
