package cli

import (
	"errors"
	"os"

	"github.com/org/ralph-action/internal/cli/resume"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/run"
)

// resumeCmd starts the last run's command again, with what remains of its limits.
type resumeCmd struct {
	MaxIterations string `short:"m" aliases:"max-restarts" placeholder:"N" help:"More iterations, instead of those that remain. Also -n after 'ralph tasks run', --max-restarts after 'ralph supervise'."`
	TaskSteps     string `short:"n" hidden:""`
	MaxCostUSD    string `name:"max-cost-usd" placeholder:"USD" help:"More money, instead of what remains."`
	MaxTotal      string `name:"max-total-cost-usd" placeholder:"USD" help:"Another limit for all runs on the branch together."`
	MaxTokens     string `placeholder:"N" help:"More tokens, instead of those that remain."`
	MaxDuration   string `placeholder:"TIME" help:"More time, instead of what remains."`
	Changed       bool   `help:"Go on although the configuration or the task file changed, with what they say now."`
	Verbose       bool   `short:"V" help:"Print the effective settings, their sources, and each step on stderr."`
}

// Help is shown below the flags.
func (resumeCmd) Help() string {
	return `Examples:
  ralph resume
  ralph resume --max-iterations 5

The last run in this directory goes on: the same command, on the same branch, with what remains of its iterations, cost,
tokens and time, which the first line says. A limit that is used up has to be given again.
What the run had read from the environment, such as keys, has to be there again.

Exit code: as of the command that is resumed; 2 if there is nothing to go on with.`
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
	d := localRun{mode: last.Mode, dir: last.Workspace, flags: last.Command.Flags, verbose: c.Verbose}
	cfg, _ := config.Load(a.sources(last.Workspace, d)) // runLocally says what is wrong
	way, err := resume.Plan(last, state, cfg, resume.More{
		Iterations: c.MaxIterations, CostUSD: c.MaxCostUSD, TotalCostUSD: c.MaxTotal, Tokens: c.MaxTokens, Duration: c.MaxDuration, Changed: c.Changed,
	})
	if err != nil {
		return err
	}
	d.flags, d.opening = way.Flags, way.Opening
	d.before = run.Before{Resumed: true, Cost: last.Before.Add(last.Used.Add(last.Turn).Cost), Iterations: last.Earlier + last.Done, Limits: way.Limits}
	return a.runLocally(d, done)
}
