// Package setup runs the setup commands of a run in its sandbox. What they export holds for the
// commands after them; it is read as whatever else comes from there.
package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/run/network"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

const timeout = 30 * time.Minute // of a command

// Process runs a child in the sandbox.
type Process interface {
	Run(ctx context.Context, c proc.Command) (proc.Exit, error)
}

// Show is where people see what the commands do.
type Show interface {
	Say(line string)
	Foreign(of string) io.WriteCloser
	Section(title string) (end func())
}

// Options are the commands, and what they run in.
type Options struct {
	Commands    []string
	Process     Process
	Dir         string
	Env         []string
	Path        string           // PATH before the first command
	Scratch     string           // the sandbox user's, for what they export; empty: they export nothing
	Identity    confine.Identity // the sandbox user; zero: our own
	Network     *network.Network
	OutputBytes int64                  // that a command may print
	Own         func(name string) bool // whether a variable is the run's own, besides those that always are
	Stop        func() error           // why no further command runs; nil: one does
	Redact      *secret.Redactor
	Show        Show
	Warn        func(string)
}

// FailedError says how a setup command failed, by its own doing.
type FailedError struct{ error }

// Run runs the commands one after the other, until one fails.
func (e *Exports) Run(ctx context.Context, o Options) error {
	if len(o.Commands) == 0 {
		return nil
	}
	defer o.Show.Section("Setup")()
	for _, command := range o.Commands {
		if err := o.Stop(); err != nil {
			return err
		}
		o.Show.Say("› " + command)
		if err := e.run(ctx, &o, command); err != nil {
			return err
		}
	}
	return nil
}

func (e *Exports) run(ctx context.Context, o *Options, command string) error {
	script, env, folder, err := o.collected(command)
	if err != nil {
		return fmt.Errorf("setup %q cannot be started: %w", command, err)
	}
	show := o.Show.Foreign(command)
	w := o.Redact.Writer(show)
	refused := o.Network.Watch()
	exit, err := e.Around(o.Process).Run(ctx, proc.Command{
		Argv: []string{"sh", "-c", script}, Dir: o.Dir, Env: env, Stdout: w, Stderr: w,
		Limits: proc.Limits{Time: timeout, OutputBytes: o.OutputBytes},
	})
	_ = errors.Join(w.Close(), show.Close()) // they show; they decide nothing
	switch {
	case err != nil:
		return fmt.Errorf("setup %q cannot be started: %w", command, err)
	case exit.Why != proc.Exited:
		return &FailedError{fmt.Errorf("setup %q was ended: %s", command, exit.Why)}
	case exit.Code != 0:
		why := ""
		if addresses := refused(); len(addresses) > 0 {
			why = fmt.Sprintf("; meanwhile the sandbox refused %q (docs/network.md)", strings.Join(addresses[:min(len(addresses), 5)], ", "))
		}
		return &FailedError{fmt.Errorf("setup %q failed with exit code %d%s", command, exit.Code, why)}
	}
	if err := e.take(o, folder); err != nil {
		return &FailedError{fmt.Errorf("setup %q: %w", command, err)}
	}
	return nil
}
