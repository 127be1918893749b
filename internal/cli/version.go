package cli

import (
	"fmt"
	"slices"

	"github.com/org/ralph-action/internal/cli/build"
)

// Build is what a binary says of itself.
type Build = build.Info

// version is the build's, or for a build without one, the version of the action
// that a workflow asked for.
func (a *app) version() string {
	if ref := a.getenv("GITHUB_ACTION_REF"); a.build.Version == "dev" && ref != "" {
		return ref
	}
	return a.build.Version
}

// retired returns a warning if the version in use was withdrawn: the binary's, or the
// one that the workflow asked for.
func (a *app) retired() []string {
	return build.Retired(slices.Compact([]string{a.build.Version, a.getenv("GITHUB_ACTION_REF")})...)
}

type versionCmd struct {
	JSON bool `name:"json" help:"Print version, commit, its time, Go and platform as JSON."`
}

func (c versionCmd) Run(a *app) error {
	text := []byte(a.build.Version)
	if c.JSON {
		var err error
		if text, err = a.build.JSON(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.stdout, "%s\n", text)
	return err
}
