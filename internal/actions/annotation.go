package actions

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Annotation is a command of the runner that puts foreign text beside a line of a file;
// line 0: beside the file.
func Annotation(severity, file string, line, column int, text string) string {
	place := "file=" + escapeProperty(file)
	if line > 0 {
		place += fmt.Sprintf(",line=%d,col=%d", line, column)
	}
	return fmt.Sprintf("::%s %s::%s", severity, place, escapeMessage(text))
}

// escapeMessage and escapeProperty write foreign text into a command of the
// runner (actions/toolkit, packages/core/src/command.ts).
func escapeMessage(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

// InWorkspace is a path as the runner's annotations want it: from the root of
// the workspace, empty without one. Elsewhere, and outside of it, it stays as it is.
func InWorkspace(workspace, path string) string {
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

// PlainLine is our own words with foreign ones in them, as a line that neither a
// terminal nor a runner obeys.
func PlainLine(s string) string {
	s = strings.ReplaceAll(string(Sanitize([]byte(s))), "##[", "## [")
	if strings.HasPrefix(strings.TrimSpace(s), "::") {
		s = "./" + s
	}
	return s
}
