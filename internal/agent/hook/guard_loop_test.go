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
