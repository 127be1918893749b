package cli

import (
	"fmt"

	"github.com/spf13/cobra"

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

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := a.command("version", "Print the version.", "", func([]string) error {
		text := []byte(a.build.Version)
		if asJSON {
			var err error
			if text, err = a.build.JSON(); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(a.stdout, "%s\n", text)
		return err
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print version, commit, its time, Go and platform as JSON.")
	return cmd
}
