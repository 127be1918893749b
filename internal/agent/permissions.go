package agent

import (
	"fmt"
	"slices"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/ralph"
)

// A user who asks for a sandbox or a permission mode of the CLI's own gets it:
// nothing that cancels it is added.

// given are the arguments that the user gave a CLI: behind its name in the command,
// and Args.
func given(o Options, name string) []string { return slices.Concat(behind(o, name), o.Args) }

// unanswered says what a permission mode that asks does to a run.
func unanswered(name, mode, instead string) string {
	return fmt.Sprintf("%s: %s holds, so what it does not allow is refused: nobody is there to be asked. %s", name, mode, instead)
}

// Cautions say what an agent cannot do in the sandbox or the permission mode of its
// own that the user asked for, for people to read before anything is spent.
func Cautions(o Options) []string {
	f, ok := formats()[o.Name]
	if !ok || o.Exact {
		return nil
	}
	return f.cautions(o)
}

// Unasked reports whether the agent acts without asking for permission and outside
// of a sandbox of its CLI's own: the arguments say so, or it is the CLI's nature.
func Unasked(o Options) bool {
	row := catalog.Of(o.Name)
	f, ok := formats()[o.Name]
	switch {
	case !ok:
		return false
	case row.Unasked, !o.Exact && f.unasked(o):
		return true
	}
	return has((&CLI{o: o, format: f}).argv(o, ralph.Prompt{Text: "task"}), row.Bypass...)
}
