// Command ralph runs a coding agent in a loop until the work is really done.
package main

import (
	"os"

	"github.com/org/ralph-action/internal/cli"
)

// version is set by -ldflags "-X main.version=…".
var version = "dev"

func main() { os.Exit(cli.Start(version)) }
