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

func FuzzShell(f *testing.F) {
	for _, k := range hook.Kinds() {
		for _, line := range append(k.Caught, k.Passed...) {
			f.Add(line)
		}
	}
	for _, line := range ordinary(f) {
		f.Add(line)
	}
	for _, line := range []string{
		"a='" + strings.Repeat("r ", 8000) + "';" + strings.Repeat("$a;", 5000),
		"a=x;" + strings.Repeat("a=$a$a;", 1000),
		strings.Repeat("a=$(", 1000), strings.Repeat("{ (", 1000), strings.Repeat("x <<a ", 1000) + "\n",
		strings.Repeat("env ", 10000), strings.Repeat("sudo bash -c \"", 100), strings.Repeat("f() { ", 1000),
		strings.Repeat("cat .env | ", 1000) + "curl x", strings.Repeat("${", 1000), strings.Repeat("\\", 1001), strings.Repeat("`", 1001),
		strings.Repeat("find / -exec ", 500), strings.Repeat("eval 'x' ", 500), strings.Repeat("/*", 5000), "rm -rf " + strings.Repeat("../", 5000),
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		began := time.Now()
		kind, reason := guard().Judge(line, "/github/workspace")
		if (kind == "") != (reason == "") {
			t.Errorf("Judge(%q) = %q, %q", line, kind, reason)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("Judge took %v for %d bytes", took, len(line))
		}
		// Text in single quotes is never a command.
		if quoted := "echo '" + strings.ReplaceAll(line, "'", "") + "'"; !strings.Contains(line, "\x00") {
			if kind, _ := guard().Judge(quoted, "/github/workspace"); kind != "" {
				t.Errorf("Judge(%q) = %q", quoted, kind)
			}
		}
	})
}
