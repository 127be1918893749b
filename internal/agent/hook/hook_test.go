package hook_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/hook"
	"github.com/org/ralph-action/internal/agent/hook/shellguard"
)

func guard() shellguard.Guard {
	return shellguard.Guard{Home: "/home/agent", Workspace: "/github/workspace"}
}

func recorded(tb testing.TB, name string) string {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "input", name+".json"))
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// input is a hook's input with the fields given.
func input(tb testing.TB, fields map[string]any) string {
	tb.Helper()
	line, err := json.Marshal(fields)
	if err != nil {
		tb.Fatal(err)
	}
	return string(line)
}

// What claude 2.1.197 sends is read, and what it takes is written.
func TestRecordedInputs(t *testing.T) {
	t.Parallel()
	h := hook.Hook{Monitor: hook.Monitor{Dir: t.TempDir()}}
	for _, tt := range []struct {
		input string
		event hook.Event
		want  string
	}{
		{"stop", hook.Stop, `{"decision":"approve"}`},
		{"stop-again", hook.Stop, `{"decision":"approve"}`},
		{"subagent-stop", hook.Stop, `{"decision":"approve"}`},
		{"pre-tool-use", hook.PreToolUse, `{}`},
		{"post-tool-use", hook.PostToolUse, `{}`},
		{"post-tool-use-subagent", hook.PostToolUse, `{}`},
		{"session-start", hook.SessionStart, `{}`},
	} {
		got := string(h.Answer(tt.event, strings.NewReader(recorded(t, tt.input))).JSON())
		if got != tt.want+"\n" {
			t.Errorf("Answer(%s) = %q, want %q", tt.input, got, tt.want)
		}
	}
	in, err := hook.ReadInput(strings.NewReader(recorded(t, "stop-again")))
	want := hook.Input{
		SessionID: "af18e15f-0386-4077-8572-9fb483c4c9ef", CWD: "/github/workspace", Event: "Stop", StopHookActive: true, PermissionMode: "bypassPermissions",
		TranscriptPath:       "/home/agent/.claude/projects/-github-workspace/af18e15f-0386-4077-8572-9fb483c4c9ef.jsonl",
		LastAssistantMessage: "Second stop. <promise>COMPLETE</promise>",
	}
	if err != nil || in != want {
		t.Errorf("ReadInput = %+v, %v, want %+v", in, err, want)
	}
}

// Issue 4: bad input gets an approval and a warning, whatever it is.
func TestBadInputNeverStopsTheAgent(t *testing.T) {
	t.Parallel()
	session := hook.NewSession("task", "DONE", 5, time.Time{})
	h := hook.Hook{
		Monitor: hook.Monitor{Dir: t.TempDir()}, Guard: guard(),
		Stop: hook.StopFacts{Active: true, Session: &session, Checks: func() ([]string, []string) { panic("no tasks") }},
	}
	for name, in := range map[string]string{
		"empty": "", "blank": " \n", "garbage": "\x00\xff{", "text": "hello", "array": "[1]", "number": "7", "null": "null",
		"cut": `{"session_id":"a","tool_name":"Ba`, "deep": strings.Repeat(`{"a":`, 20000), "wrong types": `{"session_id":7,"tool_input":[]}`,
		"huge": `{"x":"` + strings.Repeat("y", 3<<20) + `"}`, "no transcript": `{"session_id":"a","hook_event_name":"PostToolUse"}`,
		"missing transcript": `{"session_id":"a","transcript_path":"/nowhere/x.jsonl"}`,
		"folder":             `{"session_id":"a","transcript_path":"/"}`,
		"endless":            `{"session_id":"a","transcript_path":"/dev/zero"}`,
		"other event":        `{"session_id":"a","hook_event_name":"Elsewhere"}`,
	} {
		for _, event := range hook.Commands() {
			answer := h.Answer(event, strings.NewReader(in))
			if answer.Refused || answer.Context != "" {
				t.Errorf("%s, %s: %+v, want an approval", name, event, answer)
			}
			if !json.Valid(answer.JSON()) {
				t.Errorf("%s, %s: answer %q is no JSON", name, event, answer.JSON())
			}
			if len(answer.Warnings) == 0 && event != hook.SessionStart && event != hook.UserPromptExpansion { // these look at no transcript
				t.Errorf("%s, %s: no warning", name, event)
			}
		}
	}
	if answer := h.Answer(hook.Stop, failing{}); answer.Refused || len(answer.Warnings) == 0 {
		t.Errorf("unreadable input: %+v, want an approval and a warning", answer)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken pipe") }

// A tool's response of many megabytes does not hide what stands before it.
func TestHugeResponseStillMonitored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := transcriptOf(t, dir, 500_000)
	in := `{"session_id":"s1","transcript_path":"` + path + `","hook_event_name":"PostToolUse","tool_response":{"stdout":"` + strings.Repeat("x", 3<<20) + `"}}`
	answer := hook.Hook{Monitor: hook.Monitor{Dir: dir}}.Answer(hook.PostToolUse, strings.NewReader(in))
	if !strings.HasPrefix(answer.Context, "NOTICE") || len(answer.Warnings) != 1 || !strings.Contains(answer.Warnings[0], "1 MiB") {
		t.Errorf("answer = %+v, want the notice and a warning about the length", answer)
	}
}

// PreToolUse: a refusal is a denial with a reason; other tools are not our business.
func TestPreToolUse(t *testing.T) {
	t.Parallel()
	h := hook.Hook{Guard: guard()}
	deny := h.Answer(hook.PreToolUse, strings.NewReader(input(t, map[string]any{
		"session_id": "a", "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": "/github/workspace",
		"tool_input": map[string]string{"command": "sudo rm -rf / <&-\x1b[31m"},
	})))
	var out struct {
		Specific struct {
			Event    string `json:"hookEventName"`
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal(deny.JSON(), &out); err != nil {
		t.Fatal(err)
	}
	if out.Specific.Event != "PreToolUse" || out.Specific.Decision != "deny" ||
		!strings.Contains(out.Specific.Reason, "delete-system") || strings.Contains(out.Specific.Reason, "\x1b") {
		t.Errorf("answer = %s", deny.JSON())
	}
	for _, tool := range []string{"Write", "Read", "Agent"} {
		answer := h.Answer(hook.PreToolUse, strings.NewReader(input(t, map[string]any{
			"session_id": "a", "tool_name": tool, "tool_input": map[string]string{"command": "rm -rf /"},
		})))
		if got := string(answer.JSON()); got != "{}\n" {
			t.Errorf("%s: %s, want no decision", tool, got)
		}
	}
}

// 003-17 … 003-24
func TestStopChecks(t *testing.T) {
	t.Parallel()
	problem := "Story US-1 has passes=true but reviewStatus is 'null', not 'approved'."
	three := []string{
		"1. Update `ralph/progress.txt` with what was accomplished + learnings",
		"2. Consider if any lasting patterns belong in CLAUDE.md or `.claude/rules/`",
		"3. Commit ALL changes including progress.txt and tasks.json updates",
	}
	dirty := func() ([]string, error) { return []string{" M main.go", "?? a\x1b[2Jb"}, nil }
	for _, tt := range []struct {
		name   string
		facts  hook.StopFacts
		refuse bool
		want   []string
	}{
		{"003-17 no loop", hook.StopFacts{Checks: func() ([]string, []string) { return []string{problem}, nil }, Uncommitted: dirty}, false, nil},
		{"clean", hook.StopFacts{Active: true, Checks: func() ([]string, []string) { return nil, nil }, Uncommitted: func() ([]string, error) { return nil, nil }}, false, nil},
		{"nothing to check", hook.StopFacts{Active: true}, false, nil},
		{"003-18 … 22 a check fails", hook.StopFacts{Active: true, Checks: func() ([]string, []string) { return []string{problem}, nil }}, true, []string{problem}},
		{"003-24 uncommitted", hook.StopFacts{Active: true, Uncommitted: dirty}, true, append(slices.Clone(three), " M main.go", "?? a [2Jb")},
		{"both are told", hook.StopFacts{Active: true, Checks: func() ([]string, []string) { return []string{problem}, nil }, Uncommitted: dirty}, true, append(slices.Clone(three), problem)},
		{"git fails", hook.StopFacts{Active: true, Uncommitted: func() ([]string, error) { return nil, errors.New("no git") }}, false, nil},
		{"many", hook.StopFacts{Active: true, Checks: func() ([]string, []string) { return slices.Repeat([]string{problem}, 50), nil }}, true, []string{"30 more"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answer := hook.Hook{Stop: tt.facts}.Answer(hook.Stop, strings.NewReader(recorded(t, "stop")))
			if answer.Refused != tt.refuse {
				t.Errorf("refused = %v, want %v (%s)", answer.Refused, tt.refuse, answer.Reason)
			}
			for _, w := range tt.want {
				if !strings.Contains(answer.Reason, w) {
					t.Errorf("reason %q lacks %q", answer.Reason, w)
				}
			}
			var out map[string]string
			if err := json.Unmarshal(answer.JSON(), &out); err != nil {
				t.Fatal(err)
			}
			if want := map[bool]string{true: "block", false: "approve"}[tt.refuse]; out["decision"] != want || out["reason"] != answer.Reason {
				t.Errorf("answer = %s, want the decision %q", answer.JSON(), want)
			}
		})
	}
	answer := hook.Hook{Stop: hook.StopFacts{Active: true, Uncommitted: func() ([]string, error) { return nil, errors.New("no git") }}}.
		Answer(hook.Stop, strings.NewReader(recorded(t, "stop")))
	if len(answer.Warnings) != 1 || !strings.Contains(answer.Warnings[0], "no git") {
		t.Errorf("warnings = %q, want one about git", answer.Warnings)
	}
	// A subagent that stops does not end the session.
	facts := hook.StopFacts{Active: true, Checks: func() ([]string, []string) { return []string{problem}, nil }}
	if answer := (hook.Hook{Stop: facts}).Answer(hook.Stop, strings.NewReader(recorded(t, "subagent-stop"))); answer.Refused {
		t.Error("the stop of a subagent was refused")
	}
}
