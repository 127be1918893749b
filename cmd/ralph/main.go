// Command ralph runs a coding agent in a loop until the work is really done.
package main

import (
	"os"

	"github.com/org/ralph-action/internal/cli"
)

// Set by -ldflags "-X main.version=… -X main.commit=… -X main.built=…".
var version, commit, built = "dev", "", ""

func main() { os.Exit(cli.Start(cli.Build{Version: version, Commit: commit, Time: built})) }
