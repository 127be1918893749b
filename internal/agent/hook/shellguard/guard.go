// Package shellguard judges shell commands of an agent: those that destroy what
// is not the task's or carry secrets away are refused. It is a seat belt for runs
// without isolation, not a sandbox: Evasions lists what it is known not to see.
package shellguard

import (
	"fmt"

	"github.com/org/ralph-action/internal/lib/printable"
)

// Guard is what is known of where the commands run.
type Guard struct {
	// Home is the user's home; empty: /root is taken for it.
	Home string
	// Workspace is the directory the task works in; empty: unknown.
	Workspace string
	// Loop says that a loop keeps the agent at work: the agent may not end it.
	Loop bool
}

func (g Guard) home() string {
	if g.Home == "" {
		return "/root"
	}
	return g.Home
}

// Judge returns the kind of a command line that must not run, and for the
// agent what is wrong with it and what would be allowed; both are empty
// otherwise. cwd is where it would run; empty: unknown.
func (g Guard) Judge(line, cwd string) (kind, reason string) {
	kinds := Kinds()
	w := &walk{guard: g, rules: rules(kinds), start: cwd, cwd: cwd, vars: map[string]string{}, arrays: map[string][]arg{}, remotes: map[string]bool{}}
	if g.Loop {
		w.rules = append(w.rules, rule{"end-loop", endsLoop})
	}
	w.runText(line)
	if w.found == nil {
		return "", ""
	}
	for _, k := range kinds {
		if k.Name == w.found.kind {
			return k.Name, fmt.Sprintf("Refused (%s): %s. Command: %s\nAllowed instead: %s",
				k.Name, w.found.why, printable.Clean(unmark(w.found.source), 200), k.Instead)
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

// rules are those of all kinds, in their order.
func rules(kinds []Kind) []rule {
	byWords := map[string][]rule{}
	for _, r := range wordRules() {
		byWords[r.kind] = append(byWords[r.kind], rule{r.kind, r.check})
	}
	var all []rule
	for _, k := range kinds {
		if k.check != nil {
			all = append(all, rule{k.Name, k.check})
		}
		all = append(all, byWords[k.Name]...)
	}
	return all
}
