package actions

import (
	"fmt"
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
