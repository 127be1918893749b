// Command ralph runs a coding agent in a loop until the work is really done.
package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/sandbox"
)

// version is set by -ldflags "-X main.version=…".
var version = "dev"

func main() { os.Exit(start()) }

// start is the way into every command. Hidden commands come first: they must
// not do what the owner does before it knows its own command line.
func start() int {
	if len(os.Args) > 1 && os.Args[1] == "sandbox-init" {
		return proc.InitMain(os.Stderr)
	}
	// From here on nobody can read the environment out of /proc.
	environ, err := sandbox.Seal(os.Environ())
	if err != nil {
		os.Stderr.WriteString("ralph: " + err.Error() + "\n")
		return 1
	}
	signal.Ignore(syscall.SIGPIPE)                  // a closed terminal or an agent that does not read must not end the run
	defer func() { _ = proc.EndAll(time.Second) }() // as PID 1: nothing survives the run
	a := &app{args: os.Args[1:], environ: environ, self: self(environ), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	return a.main()
}
