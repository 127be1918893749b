package agent

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

// What the user asks for holds, wherever it stands: nothing that cancels it is added.
// 001-11
func TestOwnPermissionsHold(t *testing.T) {
	t.Parallel()
	const (
		claudeAll = "--dangerously-skip-permissions"
		codexAll  = "--dangerously-bypass-approvals-and-sandbox"
	)
	for _, tt := range []struct {
		name    string
		o       Options
		with    string // in the command line
		without string // not in it
		caution string // its beginning; empty: none
		unasked bool
	}{
		{"claude", Options{Name: "claude"}, claudeAll, "--permission-mode", "", true},
		{"claude: a mode", Options{Name: "claude", Args: []string{"--permission-mode", "acceptEdits"}}, "--permission-mode acceptEdits", claudeAll, "claude: --permission-mode acceptEdits holds, so what it does not allow is refused", false},
		{"claude: a mode in the command", Options{Name: "claude", Command: []string{"npx", "claude", "--permission-mode=default"}}, "--permission-mode=default", claudeAll, "claude: --permission-mode default holds", false},
		{"claude: a mode in the settings", Options{Name: "claude", Settings: `{"permissions":{"defaultMode":"dontAsk"}}`, Scratch: "."}, "--settings", claudeAll, "claude: permissions.defaultMode dontAsk holds", false},
		{"claude: settings without a mode", Options{Name: "claude", Settings: `{"permissions":{"deny":["Bash(rm:*)"]}}`, Scratch: "."}, claudeAll, "--permission-mode", "", true},
		{"claude: plan", Options{Name: "claude", Args: []string{"--permission-mode", "plan"}}, "--permission-mode plan", claudeAll, "claude: --permission-mode plan holds, and in it claude changes no file", false},
		{"claude: no permissions", Options{Name: "claude", Args: []string{"--permission-mode", "bypassPermissions"}}, "--permission-mode bypassPermissions", claudeAll, "", true},
		{"claude: both", Options{Name: "claude", Args: []string{"--permission-mode", "plan", claudeAll}}, claudeAll, "", "", true},
		{"claude: who answers", Options{Name: "claude", Args: []string{"--permission-prompt-tool", "mcp__x__ask"}}, "--permission-prompt-tool mcp__x__ask", claudeAll, "claude: --permission-prompt-tool holds", false},
		{"claude: exact", Options{Name: "claude", Exact: true, ExactArgs: []string{"-p"}}, "-p", claudeAll, "", false},
		{"claude: exact, and all", Options{Name: "claude", Exact: true, ExactArgs: []string{"-p", claudeAll}}, claudeAll, "--setting-sources", "", true},
		{"codex", Options{Name: "codex"}, codexAll, "--sandbox", "", true},
		{"codex: a sandbox", Options{Name: "codex", Args: []string{"--sandbox", "workspace-write"}}, "--sandbox workspace-write", codexAll, "codex: --sandbox workspace-write holds: codex can neither write to .git nor reach the network", false},
		{"codex: a sandbox in the command", Options{Name: "codex", Command: []string{"codex", "exec", "-s", "read-only"}}, "-s read-only", codexAll, "codex: --sandbox read-only holds: codex cannot change a file", false},
		{"codex: a sandbox by configuration", Options{Name: "codex", Args: []string{"-c", `sandbox_mode="workspace-write"`}}, "sandbox_mode", codexAll, "codex: sandbox_mode workspace-write holds", false},
		{"codex: a sandbox by settings", Options{Name: "codex", Settings: `{"sandbox_mode":"read-only"}`}, "sandbox_mode", codexAll, "codex: sandbox_mode read-only holds", false},
		{"codex: other configuration", Options{Name: "codex", Args: []string{"-c", `model_verbosity="low"`}}, codexAll, "sandbox_mode", "", true},
		{"codex: no sandbox", Options{Name: "codex", Args: []string{"-s", "danger-full-access"}}, "-s danger-full-access", codexAll, "", true},
		{"gemini", Options{Name: "gemini"}, "--yolo", "--approval-mode", "", true},
		{"gemini: a mode", Options{Name: "gemini", Args: []string{"--approval-mode", "auto_edit"}}, "--approval-mode auto_edit", "--yolo", "gemini: --approval-mode auto_edit holds", false},
		{"gemini: a mode in the command", Options{Name: "gemini", Command: []string{"gemini", "--approval-mode=auto_edit"}}, "--approval-mode=auto_edit", "--yolo", "gemini: --approval-mode auto_edit holds", false},
		{"copilot", Options{Name: "copilot"}, "--allow-all", "--allow-tool", "", true},
		{"copilot: tools in the command", Options{Name: "copilot", Command: []string{"copilot", "--allow-tool", "write"}}, "--allow-tool write", "--allow-all", "", false},
		{"opencode", Options{Name: "opencode"}, "--auto", "", "", true},
		{"amp", Options{Name: "amp"}, "--dangerously-allow-all", "", "", true},
		{"cline", Options{Name: "cline"}, "--json", "", "", true},
		{"text", Options{Name: "text", Command: []string{"claude", claudeAll}}, claudeAll, "", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := tt.o
			o.Process = noProcess{}
			c, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			line := strings.Join(c.Argv(ralph.Prompt{Text: "task"}), " ") + " "
			if !strings.Contains(line, tt.with) || tt.without != "" && strings.Contains(line, tt.without+" ") {
				t.Errorf("Argv = %s, want %q in it, and not %q", line, tt.with, tt.without)
			}
			cautions := strings.Join(Cautions(o), "\n")
			if !strings.HasPrefix(cautions, tt.caution) || tt.caution == "" && cautions != "" {
				t.Errorf("Cautions = %q, want %q", cautions, tt.caution)
			}
			if got := Unasked(o); got != tt.unasked {
				t.Errorf("Unasked = %v, want %v", got, tt.unasked)
			}
		})
	}
}
