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
	kind, reason := g.Judge(in.Command, in.CWD)
	if kind == "" {
		return Answer{}
	}
	return Answer{Refused: true, Reason: reason}
}

// Judge returns the kind of a command line that must not run, and for the
// agent what is wrong with it and what would be allowed; both are empty
// otherwise. cwd is where it would run; empty: unknown.
func (g Guard) Judge(line, cwd string) (kind, reason string) {
	w := &walk{guard: g, rules: rules(), start: cwd, cwd: cwd, vars: map[string]string{}, remotes: map[string]bool{}}
	w.run(parse(line, 0))
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
