package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// Check finds out before anything is spent whether the agent can work: its
// program is there, starts, and has credentials. A command of the user's own
// (agent-command) is looked for, not started. An error is for the
// user to read: what, where, and what would be right. No value of a variable
// is ever in it.
func (c *CLI) Check(ctx context.Context) error {
	found := Found(c.o)
	if len(c.o.Command) > 0 {
		return found // it may start to work whatever its arguments are
	}
	if err := errors.Join(found, Ready(c.o)); err != nil {
		return err
	}
	version, err := c.askVersion(ctx)
	if err != nil {
		return fmt.Errorf("agent %q: %w", c.o.Name, err)
	}
	c.version = version
	return nil
}

// Found looks for the agent's program and starts nothing.
func Found(o Options) error {
	if o.LookPath == nil {
		return nil
	}
	program := driver.Command(o, o.Name)[0]
	switch _, err := o.LookPath(program); {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("agent %q: %q is not executable: give it the permission with chmod +x, or name an interpreter in front of it", o.Name, program)
	case err != nil:
		return fmt.Errorf("agent %q: %q not found: %s", o.Name, program, missing(o))
	}
	return nil
}

// Ready looks for the agent's credentials and starts nothing. A command of the
// user's own may bring them along.
func Ready(o Options) error {
	f, ok := drivers()[o.Name]
	if !ok || len(o.Command) > 0 {
		return nil
	}
	if err := f.Ready(o); err != nil {
		return fmt.Errorf("agent %q: %w%s", o.Name, err, emptyKeys(o))
	}
	return nil
}

// emptyKeys names the credentials that are there and empty, which is what a
// workflow makes of a secret that does not exist.
func emptyKeys(o Options) string {
	var empty []string
	for _, key := range catalog.Of(o.Name).Keys() {
		if slices.Contains(o.Env, key+"=") {
			empty = append(empty, key)
		}
	}
	switch {
	case len(empty) == 0:
		return ""
	case o.Flags:
		return ". Set but empty: " + strings.Join(empty, ", ")
	case len(empty) == 1:
		return ". " + empty[0] + " is set but empty: does the secret exist, and may this workflow read it?"
	}
	return ". " + strings.Join(empty, ", ") + " are set but empty: do the secrets exist, and may this workflow read them?"
}

func missing(o Options) string {
	if len(o.Command) > 0 {
		return "is " + commandAt(o) + " right, and installed?"
	}
	p, _ := PackageOf(o.Name)
	own := "agent-command"
	if o.Flags {
		own = "--agent-command"
	}
	return "install it (npm install -g " + p.Name + "), have it installed with " + ralph.Option(o.Flags, "agent-install", "auto") + ", use an image that holds it, or set " + own
}

func commandAt(o Options) string { return cmp.Or(o.CommandAt, "agent-command") }

// versionTimeout is generous: a cold native binary of 200 MB on a slow disk.
const versionTimeout = 30 * time.Second

func (c *CLI) askVersion(ctx context.Context) (string, error) {
	argv := append(driver.Command(c.o, c.o.Name), "--version")
	out := driver.Tail{Limit: 4 << 10}
	errs := driver.Tail{Limit: 4 << 10}
	exit, err := c.o.Process.Run(ctx, proc.Command{
		Argv:   argv,
		Dir:    c.o.Dir,
		Env:    c.driver.Environ(c.o),
		Stdin:  strings.NewReader(""),
		Stdout: &out,
		Stderr: &errs,
		Limits: proc.Limits{Time: versionTimeout, Grace: c.o.Limits.Grace, OutputBytes: 1 << 20},
	})
	name := strings.Join(argv, " ")
	switch {
	case err != nil:
		return "", fmt.Errorf("%q cannot be started: %w", name, err)
	case exit.Why == proc.Cancelled:
		return "", context.Cause(ctx)
	case exit.Why == proc.TimedOut:
		return "", fmt.Errorf("%q did not answer within %v: is the installation whole?", name, versionTimeout)
	case exit.Why != proc.Exited || driver.ExitCode(exit) != 0:
		words := driver.OneLine(errs.String() + " " + out.String())
		return "", fmt.Errorf("%q %s: is the installation whole?", name, driver.WithWords(driver.ExitText(driver.ExitCode(exit)), words))
	}
	return driver.OneLine(out.String()), nil
}
