package ralph

import (
	"fmt"
	"strings"
)

// Listed names a few of many.
func Listed(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// ListedFiles is Listed for files, with their number.
func ListedFiles(names []string) string {
	if len(names) == 1 {
		return "1 file (" + names[0] + ")"
	}
	return fmt.Sprintf("%d files (%s)", len(names), Listed(names))
}
