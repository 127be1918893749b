package agent

import (
	"path"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
)

// Infer names the agent behind a command by its program: one of [Known]
// with or without a folder, or "text" for anything else.
func Infer(command []string) string {
	if len(command) == 0 {
		return "text"
	}
	name := path.Base(strings.ReplaceAll(command[0], `\`, "/"))
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".cmd")
	if slices.Contains(catalog.CLIs(), name) {
		return name
	}
	return "text"
}

// Modern turns arguments of older CLIs into those of today's, which refuse
// them. There is a line for each that says what is used instead, and why.
func Modern(name string, args []string) (modern, warnings []string) {
	modern = slices.Clone(args)
	if f, ok := formats()[name]; ok {
		return f.modern(modern)
	}
	return modern, nil
}

// index is where an option first stands; -1: nowhere.
func index(args []string, o option) int {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if _, _, found := find(arg, []option{o}); found {
			return i
		}
	}
	return -1
}
