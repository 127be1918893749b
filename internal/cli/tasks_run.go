package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/org/ralph-action/internal/cli/flagset"
	"github.com/org/ralph-action/internal/config"
)

// tasksRunCmd is the loop of seed 003.
type tasksRunCmd struct {
	localFlags
	ProjectDir string
	Sandbox    bool
	NoSandbox  bool
}

func (a *app) tasksRunCommand() *cobra.Command {
	var c tasksRunCmd
	cmd := a.loop(config.ModeTasks, "run",
		"Work through a list: implement, review, fix, review again.",
		`Examples:
  ralph tasks run -n 20 --review-model opus
  ralph tasks run --parallel 3 --max-cost-usd 20

Each iteration is one step for one story of ralph/tasks.json: implement, review, or fix. A story is done when a review
approved it. A run that is started again goes on where the list stands. The agent commits; with --commit each-iteration
ralph does, on branchName of the list. With --parallel
each agent has a repository of its own, and each story becomes a commit on the branch that is checked out.

Exit code: 0 every story is done; 1 a limit, or no valid review; 2 the list, a flag or the agent is wrong; 4 the agent failed;
5 a commit failed; 130 ended by a signal or 'ralph cancel'.`, &c.localFlags, func([]string) error { return c.Run(a, &a.code) })
	fs := cmd.Flags()
	fs.StringVarP(&c.ProjectDir, "project-dir", "d", "", "The project. Default: the current directory.")
	flagset.Called(fs, "PATH", "project-dir")
	fs.BoolVar(&c.Sandbox, "sandbox", false, "Require a Docker Sandbox. Default: use one if available.")
	fs.BoolVar(&c.NoSandbox, "no-sandbox", false, "Run the agent directly, with a hook that refuses dangerous commands.")
	return cmd
}

// Run works through the task list.
func (c *tasksRunCmd) Run(a *app, done *exit) error {
	flags := c.values()
	_, other := flags["isolation"]
	switch {
	case c.Sandbox && c.NoSandbox, other && (c.Sandbox || c.NoSandbox):
		return errors.New("--sandbox, --no-sandbox and --isolation decide the same: give only one of them")
	case c.Sandbox:
		flags["isolation"] = string(config.IsolationDocker)
	case c.NoSandbox:
		flags["isolation"] = string(config.IsolationOff)
	}
	return a.runLocally(localRun{mode: config.ModeTasks, dir: c.ProjectDir, flags: flags, words: c.typed(a, nil), verbose: c.Verbose}, done)
}
