package cli

import (
	"fmt"

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
