package hook

import (
	"fmt"
)

// Guard refuses commands of the Bash tool that destroy what is not the task's
// or carry secrets away. It is a seat belt for runs without isolation and no
// wall: Evasions lists what it is known not to see.
type Guard struct {
	// Home is the user's home; empty: /root is taken for it.
	Home string
	// Workspace is the folder the task works in; empty: unknown.
	Workspace string
	// Loop says that a loop keeps the agent at work: every command is judged,
	// and the agent may not end the loop.
	Loop bool
}

func (g Guard) home() string {
	if g.Home == "" {
		return "/root"
	}
	return g.Home
}

func (g Guard) answer(in Input) Answer {
	if in.ToolName == "" {
		return warn("the hook input names no tool; nothing was checked")
	}
	if in.ToolName != "Bash" {
		return Answer{}
	}
	if !g.Loop && attended(in.PermissionMode) {
		return Answer{}
	}
	kind, reason := g.Judge(in.Command, in.CWD)
	if kind == "" {
		return Answer{}
	}
	return Answer{Refused: true, Reason: reason}
}

// attended says that the CLI asks a person before a command runs that this
// person has not allowed for good: the modes default, plan and acceptEdits of
// claude 2.1.329. An unknown mode is not attended.
func attended(mode string) bool { return mode == "default" || mode == "plan" || mode == "acceptEdits" }

// Judge returns the kind of a command line that must not run, and for the
// agent what is wrong with it and what would be allowed; both are empty
// otherwise. cwd is where it would run; empty: unknown.
func (g Guard) Judge(line, cwd string) (kind, reason string) {
	w := &walk{guard: g, rules: rules(), start: cwd, cwd: cwd, vars: map[string]string{}, arrays: map[string][]arg{}, remotes: map[string]bool{}}
	if g.Loop {
		w.rules = append(w.rules, rule{"end-loop", endsLoop})
	}
	w.runText(line)
	if w.found == nil {
		return "", ""
	}
	for _, k := range Kinds() {
		if k.Name == w.found.kind {
			return k.Name, fmt.Sprintf("Refused (%s): %s. Command: %s\nAllowed instead: %s",
				k.Name, w.found.why, clean(unmark(w.found.source), 200), k.Instead)
		}
	}
	return w.found.kind, w.found.why
}

// endsLoop finds the way out of a loop that is a person's alone.
func endsLoop(s scene) string {
	if all := s.operands(""); s.name != "ralph" || len(all) == 0 || all[0] != "cancel" {
		return ""
	}
	return "Refused: a loop keeps this session at work, and only the person may end it, with /cancel-ralph. " +
		"Finish the task; if it cannot be done, say why and what would be needed"
}
