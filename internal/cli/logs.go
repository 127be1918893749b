package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/cli/output"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/report/logs"
	"github.com/org/ralph-action/internal/run/lastrun"
)

// logsCmd prints what the last run wrote down.
type logsCmd struct {
	Iteration  int  `arg:"" optional:"" name:"iteration" help:"The iteration. Default: all."`
	Follow     bool `short:"f" help:"Go on with what the run writes, until it ends."`
	Guardrails bool `help:"What the guardrails printed, instead of what the agent did."`
}

// Help is shown below the flags.
func (logsCmd) Help() string {
	return `Examples:
  ralph logs -f
  ralph logs 3 --guardrails

The log has the agent's raw output, for claude and others lines of JSON; .ralph/report.html shows it in readable form.
The last run is that of this directory, or of one above it within the repository. Terminal control sequences are removed.`
}

// Run prints it.
func (c *logsCmd) Run(a *app, done *exit) error {
	if c.Iteration < 0 || c.Follow && (c.Iteration != 0 || c.Guardrails) {
		return errors.New("--follow takes the whole log, and an iteration is a number from 1")
	}
	last, state, err := a.lastRun()
	if err != nil {
		return err
	}
	if state == lastrun.Starting && last.Log == "" {
		return errors.New("the run has just begun: it has no log yet")
	}
	out := actions.Terminal(a.stdout, secret.NewRedactor())
	defer func() { _ = out.Close() }()
	if c.Guardrails {
		return output.Guardrails(out, last, c.Iteration)
	}
	f, err := openPlain(last.Log)
	if err != nil {
		return fmt.Errorf("the log of the last run: %w", err)
	}
	defer f.Close()
	switch {
	case c.Follow:
		err = output.Follow(out, f, func() bool {
			now, is, err := a.lastRun()
			state = is
			return err != nil || state != lastrun.Running || !now.Started.Equal(last.Started)
		})
		if err == nil && state == lastrun.Killed {
			_ = out.Close() // what it holds back
			fmt.Fprintln(a.stderr, "ralph: the run was killed; ralph status says what is left")
			*done = 1
		}
	case c.Iteration == 0:
		_, err = io.Copy(out, f)
		return err
	default:
		var found bool
		found, err = logs.CopyIteration(out, f, c.Iteration)
		if err == nil && !found {
			err = fmt.Errorf("the log of the last run has no iteration %d", c.Iteration)
		}
	}
	return err
}
