package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// A user who asks for a sandbox or a permission mode of the CLI's own gets it:
// nothing that cancels it is added. Each CLI has its function below; the other
// agents look at their options where they build their command lines.

// given are the arguments that the user gave a CLI: behind its name in the command,
// and Args.
func given(o Options, name string) []string { return slices.Concat(behind(o, name), o.Args) }

const claudeBypass = "--dangerously-skip-permissions"

// claudeMode is how the user wants claude to be asked for permissions, and where
// that stands; both are empty when the user leaves it to us.
func claudeMode(o Options) (mode, where string) {
	args := given(o, "claude")
	switch {
	case has(args, claudeBypass):
		return "", ""
	case has(args, "--permission-mode"):
		mode = value(args, "--permission-mode")
		return mode, "--permission-mode " + mode
	case has(args, "--permission-prompt-tool"):
		return "default", "--permission-prompt-tool"
	}
	var settings struct {
		Permissions struct {
			DefaultMode string `json:"defaultMode"`
		} `json:"permissions"`
	}
	if err := json.Unmarshal([]byte(o.Settings), &settings); err != nil || settings.Permissions.DefaultMode == "" {
		return "", "" // New reports what is no JSON
	}
	mode = settings.Permissions.DefaultMode
	return mode, "permissions.defaultMode " + mode
}

// codexSandbox is the sandbox of codex's own that the user asks for, and where that
// stands; both are empty when the user leaves it to us. One that is not known is
// "other".
func codexSandbox(o Options) (sandbox, where string) {
	args := given(o, "codex")
	switch {
	case has(args, "-s", "--sandbox"):
		sandbox = value(args, "-s", "--sandbox")
		return sandbox, "--sandbox " + sandbox
	case has(args, "--approve-for-me"):
		return "other", "--approve-for-me"
	}
	overrides, _ := codexOverrides(o) // New has seen the error
	for i, arg := range args {
		switch _, joined, found := find(arg, []option{{names: []string{"-c", "--config"}, value: true}}); {
		case joined:
			overrides = append(overrides, arg[strings.IndexByte(arg, '=')+1:])
		case found && i+1 < len(args):
			overrides = append(overrides, args[i+1])
		}
	}
	for _, override := range overrides {
		if key, v, _ := strings.Cut(override, "="); strings.TrimSpace(key) == "sandbox_mode" {
			sandbox = strings.Trim(strings.TrimSpace(v), `"'`)
			where = "sandbox_mode " + sandbox
		}
	}
	return sandbox, where
}

// UserSettingsOnly reports whether claude loads the user's settings and leaves those
// of the repository aside, with its hooks, skills and MCP servers.
func UserSettingsOnly(o Options) bool {
	return !o.Exact && !has(given(o, "claude"), "--setting-sources")
}

// Cautions say what an agent cannot do in the sandbox or the permission mode of its
// own that the user asked for, for people to read before anything is spent.
func Cautions(o Options) []string {
	const unanswered = "%s: %s holds, so what it does not allow is refused: nobody is there to be asked. %s"
	if o.Exact {
		return nil
	}
	switch o.Name {
	case "claude":
		mode, where := claudeMode(o)
		switch mode {
		case "", "bypassPermissions":
		case "plan":
			return []string{fmt.Sprintf("claude: %s holds, and in it claude changes no file.", clip(where, maxName))}
		default:
			return []string{fmt.Sprintf(unanswered, "claude", clip(where, maxName), "Allow what the task needs with --allowedTools, such as Edit and Bash(npm test).")}
		}
	case "gemini":
		args := given(o, "gemini")
		if mode := value(args, "--approval-mode", "--approvalMode"); mode != "" && mode != "yolo" {
			return []string{fmt.Sprintf(unanswered, "gemini", "--approval-mode "+clip(mode, maxName), "Leave it out to allow everything.")}
		}
	case "codex":
		sandbox, where := codexSandbox(o)
		const nested = " Where codex cannot set it up, as in many containers and inside of ralph's isolation, its commands fail."
		switch sandbox {
		case "read-only":
			return []string{"codex: " + where + " holds: codex cannot change a file." + nested}
		case "workspace-write":
			return []string{"codex: " + where + " holds: codex can neither write to .git nor reach the network, so it cannot commit or install anything." + nested}
		}
	}
	return nil
}

// Unasked reports whether the agent acts without asking for permission and outside
// of a sandbox of its CLI's own: the arguments say so, or it is the CLI's nature.
func Unasked(o Options) bool {
	_, known := formats()
	f, ok := known[o.Name]
	if !ok || o.Name == "text" || o.Name == "custom" {
		return false // what a program of the user's does is not known
	}
	if o.Name == "cline" {
		return true
	}
	mode, _ := claudeMode(o)
	sandbox, _ := codexSandbox(o)
	if !o.Exact && (o.Name == "claude" && mode == "bypassPermissions" || o.Name == "codex" && sandbox == "danger-full-access") {
		return true
	}
	argv := (&CLI{o: o, format: f}).argv(o, ralph.Prompt{Text: "task"})
	return has(argv, claudeBypass, "--dangerously-bypass-approvals-and-sandbox", "--dangerously-allow-all", "--yolo", "-y", "--allow-all", "--auto")
}
