package agent

import (
	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// A user who asks for a sandbox or a permission mode of the CLI's own gets it:
// nothing that cancels it is added.

// Cautions say what an agent cannot do in the sandbox or the permission mode of its
// own that the user asked for, for people to read before anything is spent.
func Cautions(o Options) []string {
	f, ok := drivers()[o.Name]
	if !ok || o.Exact {
		return nil
	}
	return f.Cautions(o)
}

// Unasked reports whether the agent acts without asking for permission and outside
// of a sandbox of its CLI's own: the arguments say so, or it is the CLI's nature.
func Unasked(o Options) bool {
	row := catalog.Of(o.Name)
	d, ok := drivers()[o.Name]
	switch {
	case !ok, row.Own():
		return false // what a program of the user's does is not known
	case row.Unasked, !o.Exact && d.Unasked(o):
		return true
	}
	var bypass []string
	for _, a := range catalog.All() {
		bypass = append(bypass, a.Bypass...)
	}
	return driver.Has(driver.CommandLine(d, o, ralph.Prompt{Text: "task"}), bypass...)
}
