package agent

import (
	"path"
	"slices"
	"strings"
)

// Infer names the agent behind a command by its program: one of [Known]
// with or without a folder, or "text" for anything else.
func Infer(command []string) string {
	if len(command) == 0 {
		return "text"
	}
	name := path.Base(strings.ReplaceAll(command[0], `\`, "/"))
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".cmd")
	if names, _ := formats(); name != "text" && name != "custom" && slices.Contains(names, name) {
		return name
	}
	return "text"
}

// Modern turns arguments of older CLIs into those of today's, which refuse
// them: codex's --full-auto (gone in 0.169), claude's --no-auto-compact (gone
// in 2.1), and claude's stream-json without --verbose. There is a line for each
// that says what is used instead, and why.
func Modern(name string, args []string) (modern, warnings []string) {
	modern = slices.Clone(args)
	switch name {
	case "codex":
		if len(modern) > 0 && modern[0] == "e" {
			modern[0] = "exec"
		}
		fullAuto := option{names: []string{"--full-auto"}}
		if i := index(modern, fullAuto); i >= 0 {
			if has(modern, "--dangerously-bypass-approvals-and-sandbox", "--yolo", "-s", "--sandbox", "--approve-for-me") {
				modern = strip(modern, fullAuto)
				return modern, []string{"codex: --full-auto is left out: today's CLI does not know it, and the other arguments say what the agent may do"}
			}
			modern = slices.Concat(modern[:i:i], []string{"--sandbox", "workspace-write"}, strip(modern[i:], fullAuto))
			warnings = append(warnings, "codex: --sandbox workspace-write is used for --full-auto, which today's CLI does not know and which meant the same")
		}
	case "claude":
		compact := option{names: []string{"--no-auto-compact"}}
		if index(modern, compact) >= 0 {
			modern = strip(modern, compact)
			warnings = append(warnings, "claude: --no-auto-compact is left out: today's CLI does not know it")
		}
		if value(modern, "--output-format") == "stream-json" && !has(modern, "--verbose") {
			i := len(modern)
			if end := slices.Index(modern, "--"); end >= 0 {
				i = end
			}
			modern = slices.Insert(modern, i, "--verbose")
			warnings = append(warnings, "claude: --verbose is added: --output-format stream-json is refused without it")
		}
	}
	return modern, warnings
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
