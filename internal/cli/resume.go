package cli

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/org/ralph-action/internal/cli/flagset"
	"github.com/org/ralph-action/internal/cli/resume"
	"github.com/org/ralph-action/internal/config"
)

// resumeCmd starts the last run's command again, with what remains of its limits.
type resumeCmd struct {
	MaxIterations string
	TaskSteps     string
	MaxCostUSD    string
	MaxTotal      string
	MaxTokens     string
	MaxDuration   string
	Changed       bool
	Verbose       bool
}

func (a *app) resumeCommand() *cobra.Command {
	var c resumeCmd
	cmd := a.command("resume", "Continue the last run after a limit, an interrupt or a kill.", `Examples:
  ralph resume
  ralph resume --max-iterations 5

The last run in this directory goes on: the same command, on the same branch, with what remains of its iterations, cost,
tokens and time, which the first line says. A limit that is used up has to be given again.
What the run had read from the environment, such as keys, has to be there again.

Exit code: as of the command that is resumed; 2 if there is nothing to go on with.`, func([]string) error { return c.Run(a, &a.code) })
	fs := cmd.Flags()
	fs.StringVarP(&c.MaxIterations, "max-iterations", "m", "", "More iterations, instead of those that remain. After 'ralph tasks run' also -n.")
	fs.StringVarP(&c.TaskSteps, "task-steps", "n", "", "")
	fs.Lookup("task-steps").Hidden = true
	fs.StringVar(&c.MaxCostUSD, "max-cost-usd", "", "More money, instead of what remains.")
	fs.StringVar(&c.MaxTotal, "max-total-cost-usd", "", "Another limit for all runs on the branch together.")
	fs.StringVar(&c.MaxTokens, "max-tokens", "", "More tokens, instead of those that remain.")
	fs.StringVar(&c.MaxDuration, "max-duration", "", "More time, instead of what remains.")
	flagset.Called(fs, "N", "max-iterations", "max-tokens")
	flagset.Called(fs, "USD", "max-cost-usd", "max-total-cost-usd")
	flagset.Called(fs, "TIME", "max-duration")
	fs.BoolVar(&c.Changed, "changed", false, "Go on although the configuration or the task file changed, with what they say now.")
	fs.BoolVarP(&c.Verbose, "verbose", "V", false, verboseHelp)
	return cmd
}

// Run goes on.
func (c *resumeCmd) Run(a *app, done *exit) error {
	last, state, err := a.lastRun()
	if err != nil {
		return err
	}
	if err := resume.Check(last, state); err != nil {
		return err
	}
	if c.TaskSteps != "" {
		if last.Mode != config.ModeTasks || c.MaxIterations != "" {
			return errors.New("-n goes on with 'ralph tasks run'; its other name, and that of every other run, is -m, --max-iterations")
		}
		c.MaxIterations = c.TaskSteps
	}
	if err := os.Chdir(last.Workspace); err != nil { // paths in its flags lead from there
		return err
	}
	d := localRun{mode: last.Mode, dir: last.Workspace, flags: last.Command.Flags, verbose: c.Verbose, before: last.Before.Add(last.Used.Add(last.Turn).Cost)}
	cfg, _ := config.Load(a.sources(last.Workspace, d)) // runLocally says what is wrong
	d.flags, d.opening, err = resume.Plan(last, state, cfg, resume.More{
		Iterations: c.MaxIterations, CostUSD: c.MaxCostUSD, TotalCostUSD: c.MaxTotal, Tokens: c.MaxTokens, Duration: c.MaxDuration, Changed: c.Changed,
	})
	if err != nil {
		return err
	}
	return a.runLocally(d, done)
}
