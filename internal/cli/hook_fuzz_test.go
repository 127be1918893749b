package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/hook"
)

// FuzzHook feeds everything a hook reads that the agent, or nobody in
// particular, could have written. It never panics, always answers with one line
// of JSON, and never refuses a stop where there is no loop.
func FuzzHook(f *testing.F) {
	good := []hookStory{{"false null 0", "false needs_review 0", ""}}
	begun, err := hook.NewSession("t", "DONE", 3, time.Time{}).Encode()
	if err != nil {
		f.Fatal(err)
	}
	const say = `{"type":"assistant","message":{"content":[{"type":"text","text":"<promise>DONE</promise>"},{"type":"tool_use","id":"a"}]}}` + "\n"
	for _, seed := range [][6]string{
		{"stop", `{"session_id":"s","hook_event_name":"Stop","last_assistant_message":"x"}`, hookMarker("implement", "", good), hookList(good), string(begun), say},
		{"stop --session state.json", `{"session_id":"s","transcript_path":"t.jsonl"}`, "", "", string(begun), say},
		{"stop --session state.json", `{"session_id":"s","transcript_path":"t.jsonl"}`, "{}", "[]", `{"promiseToken":"DONE","iteration":-1}`, say + "\x00"},
		{"pre-tool-use", `{"session_id":"s","tool_name":"Bash","tool_input":{"command":"rm -rf /"}}`, "", "", "", ""},
		{"session-start", `{"session_id":"../x"}`, "{", "{", "{", "{"},
		{"user-prompt-expansion", `{"session_id":"s","hook_event_name":"UserPromptExpansion","command_name":"ralph-loop","command_args":"x --max-iterations 3"}`, "", "", "", ""},
		{"", "", "", "", "", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4], seed[5])
	}
	f.Fuzz(func(t *testing.T, line, stdin, marker, list, state, transcript string) {
		words := strings.Fields(line)
		if slices.Contains(words, "post-tool-use") {
			return // it keeps its state in /tmp
		}
		dir := t.TempDir()
		put := func(name, text string) string {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			return path
		}
		if marker != "" {
			put(".ralph-active", marker)
			put("ralph/tasks.json", list)
		}
		if state != "" {
			put(".ralph/sessions/s.json", state)
		}
		for i, w := range words {
			words[i] = strings.ReplaceAll(w, "state.json", put("state.json", state))
		}
		stdin = strings.ReplaceAll(stdin, "t.jsonl", put("t.jsonl", transcript))
		in, err := os.Open(put("stdin", stdin))
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		a := &app{environ: []string{"CLAUDE_PROJECT_DIR=" + dir, "HOME=" + dir}, stdin: in} // and no git on PATH
		answer := a.hook(words)
		if text := answer.JSON(); !json.Valid(text) || strings.Count(string(text), "\n") != 1 {
			t.Errorf("answer = %q, want one line of JSON", text)
		}
		if answer.Refused && answer.Event == hook.Stop && marker == "" && state == "" {
			t.Errorf("a stop without a loop: %+v", answer)
		}
		for _, w := range answer.Warnings {
			if strings.HasPrefix(w, "gave up") || strings.Contains(w, "gave up:") {
				t.Errorf("a check panicked: %s", w)
			}
		}
	})
}
