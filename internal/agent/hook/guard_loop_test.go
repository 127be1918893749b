package hook_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/hook"
)

// Where the CLI asks a person, the person decides; in a loop nobody does.
func TestGuardAttended(t *testing.T) {
	t.Parallel()
	for mode, attended := range map[string]bool{
		"default": true, "plan": true, "acceptEdits": true,
		"bypassPermissions": false, "auto": false, "dontAsk": false, "": false, "someday": false,
	} {
		for _, loop := range []bool{false, true} {
			g := guard()
			g.Loop = loop
			answer := hook.Hook{Guard: g}.Answer(hook.PreToolUse, strings.NewReader(input(t, map[string]any{
				"session_id": "a", "hook_event_name": "PreToolUse", "permission_mode": mode, "tool_name": "Bash", "tool_input": map[string]any{"command": "rm -rf /"},
			})))
			if want := loop || !attended; answer.Refused != want {
				t.Errorf("mode %q, loop %v: refused %v, want %v", mode, loop, answer.Refused, want)
			}
		}
	}
}

// An agent cannot cancel the loop that keeps it at work; a person can. 004-10
func TestGuardEndsLoop(t *testing.T) {
	t.Parallel()
	g := guard()
	g.Loop = true
	for line, want := range map[string]bool{
		"ralph cancel":                        true,
		"/usr/local/bin/ralph cancel":         true,
		"cd /tmp && ralph cancel --session x": true,
		"bash -c 'ralph cancel'":              true,
		"ralph tasks check":                   false,
		"ralph --help":                        false,
		"ralph":                               false,
		"echo ralph cancel":                   false,
		"grep -rn 'ralph cancel' docs":        false,
		"git commit -m 'ralph cancel'":        false,
	} {
		kind, reason := g.Judge(line, "/github/workspace")
		if (kind == "end-loop") != want || want && !strings.Contains(reason, "/cancel-ralph") {
			t.Errorf("Judge(%q) = %q (%s), want it refused: %v", line, kind, reason, want)
		}
		if kind, _ := guard().Judge(line, "/github/workspace"); kind != "" {
			t.Errorf("without a loop Judge(%q) = %q, want it let through", line, kind)
		}
	}
}
