package cli

import (
	"fmt"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
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
	return `Example:
  ralph tasks run -n 20 --review-model opus

Each iteration is one step for one story of ralph/tasks.json, with a fresh context: implement, review, or fix what
the review found. A story is done when a review approved it. verifyCommands of the list are guardrails. 'ralph
tasks init' makes the folder, 'ralph tasks check' checks the list.

The agent commits, on the branch that is checked out; with --commit each-iteration ralph does, on branchName of
the list. A run that is started again goes on where the list stands.

Exit code: 0 every story is done; 1 a limit was reached, or no review came to a verdict that counts; 2 the list, a flag or the
agent is wrong, or another loop runs; 4 the agent failed; 5 a commit failed; 130 ended by a signal or 'ralph cancel'.`
}

// Run works through the task list.
func (c *tasksRunCmd) Run(a *app, done *exit) error {
	flags := c.values()
	_, other := flags["isolation"]
	switch {
	case c.Sandbox && c.NoSandbox, other && (c.Sandbox || c.NoSandbox):
		fmt.Fprintln(a.stderr, "ralph: --sandbox, --no-sandbox and --isolation decide the same: give only one of them")
		*done = exit(ralph.Invalid.ExitCode(false))
		return nil
	case c.Sandbox:
		flags["isolation"] = string(config.IsolationDocker)
	case c.NoSandbox:
		flags["isolation"] = string(config.IsolationOff)
	}
	return a.runLocally(localRun{mode: config.ModeTasks, dir: c.ProjectDir, flags: flags, words: c.typed(a, nil), verbose: c.Verbose}, done)
}
