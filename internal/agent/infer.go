package agent

import (
	"slices"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
)

// Infer names the agent behind a command by its program: one of [Known]
// with or without a folder, or "text" for anything else.
func Infer(command []string) string {
	if len(command) == 0 {
		return "text"
	}
	name := driver.ProgramName(command[0])
	if slices.Contains(catalog.CLIs(), name) {
		return name
	}
	return "text"
}

// Modern turns arguments of older CLIs into those of today's, which refuse
// them. There is a line for each that says what is used instead, and why.
func Modern(name string, args []string) (modern, warnings []string) {
	modern = slices.Clone(args)
	if f, ok := drivers()[name]; ok {
		return f.Modern(modern)
	}
	return modern, nil
}
