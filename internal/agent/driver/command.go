package driver

import (
	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/ralph"
)

// CommandLine is how an agent is started: with the driver's arguments, or with the
// user's exact ones and what the prompt and the session take besides.
func CommandLine(d Driver, o Options, p ralph.Prompt) []string {
	w := d.Ways(o)
	if !catalog.Of(o.Name).Sessions || !resumable(p.Resume) {
		p.Resume = ""
	}
	if !o.Exact {
		return d.Argv(o, p)
	}
	argv := Command(o, o.Name)
	n := len(argv)
	argv = d.Resume(append(argv, o.ExactArgs...), n, p.Resume)
	if w.Argument && w.Flag != "" {
		argv = append(argv, w.Flag)
	}
	switch {
	case w.File:
		argv = append(argv, p.Text)
	case w.Argument:
		argv = append(argv, Operand(p.Text))
	}
	return argv
}

// resumable says that a session's id, which is foreign text, may stand in a
// command line. Those of today's CLIs are UUIDs, amp's with a "T-" in front.
func resumable(id string) bool {
	if id == "" || len(id) > MaxName || id[0] == '-' {
		return false
	}
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
