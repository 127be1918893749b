// Package cli is the command line: commands, flags, what is printed.
package cli

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/org/ralph-action/internal/run"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// Main runs a command line, without the program's name, and returns the exit code.
// info is the binary's.
func Main(info Build, args, environ []string, stdin, stdout, stderr *os.File) int {
	a := &app{build: info, args: args, environ: environ, self: self(environ), stdin: stdin, stdout: stdout, stderr: stderr}
	return a.main()
}

// Start is the way into every command.
func Start(info Build) int {
	// From here on nobody can read the environment out of /proc.
	environ, err := confine.Seal(os.Environ())
	if err != nil {
		os.Stderr.WriteString("ralph: " + err.Error() + "\n")
		return 1
	}
	signal.Ignore(syscall.SIGPIPE)                  // a closed terminal or an agent that does not read must not end the run
	defer func() { _ = proc.EndAll(time.Second) }() // as PID 1: nothing survives the run
	cobra.EnableCommandSorting = false              // their order in the help is ours
	return Main(info, os.Args[1:], environ, os.Stdin, os.Stdout, os.Stderr)
}

// app is what the process was given: nothing below it reads environment,
// arguments or standard streams on its own.
type app struct {
	build          Build
	args           []string
	environ        []string
	self           string // this binary, to start its hidden commands
	stdin          *os.File
	stdout, stderr *os.File
	code           exit // of the command
}

// getenv looks a variable up in the environment that was taken out of reach.
func (a *app) getenv(name string) string {
	return proc.Getenv(a.environ, name)
}

func (a *app) environment() map[string]string {
	m := make(map[string]string, len(a.environ))
	for _, kv := range a.environ {
		k, v, _ := strings.Cut(kv, "=")
		m[k] = v
	}
	return m
}

// exit is the code a command ends with.
type exit int

// signals ends the context at the first SIGINT or SIGTERM and says so. Later
// signals are swallowed: what follows the first is bounded and saves the work.
func (a *app) signals(say func(string)) (context.Context, context.CancelFunc) {
	ctx, _, cancel := a.patientSignals(say, false)
	return ctx, cancel
}

// patientSignals is signals for somebody who sits there and waits: with patient,
// the first signal closes stop, so that the running operation can finish, and
// only the second ends the context.
func (a *app) patientSignals(say func(string), patient bool) (ctx context.Context, stop <-chan struct{}, done context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	c := make(chan os.Signal, 4)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(c, syscall.SIGHUP)
	}
	stopped := make(chan struct{})
	go func() {
		var first os.Signal
		select {
		case first = <-c:
		case <-ctx.Done():
			return
		}
		say(run.SignalText)
		close(stopped)
		if patient && first != syscall.SIGHUP { // nobody is left to send a second one
			say("The current operation may finish; a second signal ends it.")
			select {
			case <-c:
				say(run.SignalText)
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}()
	return ctx, stopped, func() { cancel(); signal.Stop(c) }
}

// self finds this binary by the name it was started with: the hidden commands
// are dispatched by arguments, and a test binary also by name.
func self(environ []string) string {
	running, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	named, err := proc.LookPath(os.Args[0], environ)
	if err != nil {
		return running
	}
	a, errA := os.Stat(named)
	b, errB := os.Stat(running)
	if abs, err := filepath.Abs(named); err == nil && errA == nil && errB == nil && os.SameFile(a, b) {
		return abs
	}
	return running
}
