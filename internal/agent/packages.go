package agent

import "github.com/org/ralph-action/internal/agent/catalog"

// Package is where an agent's CLI comes from.
type Package struct {
	Name    string // at registry.npmjs.org
	Program string // what it puts on PATH
	Version string // the one that was tested, which is installed unless another is asked for
}

// PackageOf is the npm package of an agent; ok is false for agents that are
// whatever the user says (text, custom).
func PackageOf(name string) (p Package, ok bool) {
	a := catalog.Of(name)
	return Package{a.Package, a.Program, a.Version}, a.Package != ""
}
