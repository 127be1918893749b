// Package demo holds what `ralph demo` needs to show the whole pipeline without
// a network: a GitHub-compatible forge on loopback, a scripted coding agent and
// a small repository with a failing test. Tests of other packages use the forge
// as their server. It knows nothing of the rest of the program and imports the
// standard library only.
package demo
