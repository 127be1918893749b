package hook

import "github.com/org/ralph-action/internal/agent/hook/shellguard"

// guard answers whether a command of the Bash tool may run.
func guard(g shellguard.Guard, in Input) Answer {
	switch {
	case in.ToolName == "":
		return warn("the hook input names no tool; nothing was checked")
	case in.ToolName != "Bash", !g.Loop && attended(in.PermissionMode):
		return Answer{}
	}
	kind, reason := g.Judge(in.Command, in.CWD)
	return Answer{Refused: kind != "", Reason: reason}
}

// attended reports whether the CLI asks a person before a command runs that this
// person has not allowed for good: in the modes default, plan and acceptEdits of
// claude 2.1.329. An unknown mode is not attended.
func attended(mode string) bool { return mode == "default" || mode == "plan" || mode == "acceptEdits" }
