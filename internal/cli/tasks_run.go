package cli

import (
	"errors"

	"github.com/org/ralph-action/internal/config"
)

// tasksRunCmd is the loop of seed 003.
type tasksRunCmd struct {
	localFlags
	ProjectDir string `short:"d" file:"" placeholder:"PATH" help:"The project. Default: the current directory."`
	Sandbox    bool   `help:"Require a Docker Sandbox. Default: use one if available."`
	NoSandbox  bool   `help:"Run the agent directly, with a hook that refuses dangerous commands."`
}

// Help is shown below the flags.
func (tasksRunCmd) Help() string {
	return `Examples:
  ralph tasks run -n 20 --review-model opus
  ralph tasks run --parallel 3 --max-cost-usd 20

Each iteration is one step for one story of ralph/tasks.json: implement, review, or fix. A story is done when a review
approved it. A run that is started again goes on where the list stands. The agent commits; with --commit each-iteration
ralph does, on branchName of the list. With --parallel
each agent has a repository of its own, and each story becomes a commit on the branch that is checked out.

Exit code: 0 every story is done; 1 a limit, or no valid review; 2 the list, a flag or the agent is wrong; 4 the agent failed;
5 a commit failed; 130 ended by a signal or 'ralph cancel'.`
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
