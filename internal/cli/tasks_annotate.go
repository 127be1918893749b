package cli

import (
	"path/filepath"
	"strings"

	"github.com/org/ralph-action/internal/actions"
)

// inWorkspace is a path as the runner's annotations want it: from the root of
// the workspace. Elsewhere, and outside of it, it stays as it is.
func (a *app) inWorkspace(path string) string {
	workspace := a.getenv("GITHUB_WORKSPACE")
	if workspace == "" {
		return path
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(workspace, full); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// plainLine is our own words with foreign ones in them, as a line that neither a
// terminal nor a runner obeys.
func plainLine(s string) string {
	s = strings.ReplaceAll(string(actions.Sanitize([]byte(s))), "##[", "## [")
	if strings.HasPrefix(strings.TrimSpace(s), "::") {
		s = "./" + s
	}
	return s
}
