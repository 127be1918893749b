package agent

import (
	"encoding/json"
)

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

// UserSettingsOnly reports whether claude loads the user's settings and leaves those
// of the repository aside, with its hooks, skills and MCP servers.
func UserSettingsOnly(o Options) bool {
	return !o.Exact && !has(given(o, "claude"), "--setting-sources")
}

// cautions tell of a permission mode of the user's.
func (claude) cautions(o Options) []string {
	mode, where := claudeMode(o)
	switch mode {
	case "", "bypassPermissions":
		return nil
	case "plan":
		return []string{"claude: " + clip(where, maxName) + " holds, and in it claude changes no file."}
	}
	return []string{unanswered("claude", clip(where, maxName), "Allow what the task needs with --allowedTools, such as Edit and Bash(npm test).")}
}

func (claude) unasked(o Options) bool {
	mode, _ := claudeMode(o)
	return mode == "bypassPermissions"
}
