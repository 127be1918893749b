package claude

import (
	"encoding/json"

	"github.com/org/ralph-action/internal/agent/driver"
)

const bypass = "--dangerously-skip-permissions"

// permissionMode is how the user wants claude to be asked for permissions, and where
// that stands; both are empty when the user leaves it to us.
func permissionMode(o driver.Options) (mode, where string) {
	args := driver.Given(o, "claude")
	switch {
	case driver.Has(args, bypass):
		return "", ""
	case driver.Has(args, "--permission-mode"):
		mode = driver.Value(args, "--permission-mode")
		return mode, "--permission-mode " + mode
	case driver.Has(args, "--permission-prompt-tool"):
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
func UserSettingsOnly(o driver.Options) bool {
	return !o.Exact && !driver.Has(driver.Given(o, "claude"), "--setting-sources")
}

// Cautions tell of a permission mode of the user's.
func (Driver) Cautions(o driver.Options) []string {
	mode, where := permissionMode(o)
	switch mode {
	case "", "bypassPermissions":
		return nil
	case "plan":
		return []string{"claude: " + driver.Clip(where, driver.MaxName) + " holds, and in it claude changes no file."}
	}
	return []string{driver.Unanswered("claude", driver.Clip(where, driver.MaxName), "Allow what the task needs with --allowedTools, such as Edit and Bash(npm test).")}
}

// Unasked reports whether the options let the CLI act without asking.
func (Driver) Unasked(o driver.Options) bool {
	mode, _ := permissionMode(o)
	return mode == "bypassPermissions"
}
