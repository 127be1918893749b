package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/org/ralph-action/internal/config"
)

// tasksRunCommand is the loop of seed 003.
func (a *app) tasksRunCommand() *cobra.Command {
	var project string
	var sandbox, none bool
	cmd := a.loop(config.ModeTasks, "run", "Work through a list: implement, review, fix, review again.", `Examples:
  ralph tasks run -n 20 --review-model opus
  ralph tasks run --parallel 3 --max-cost-usd 20

Each iteration is one step for one story of ralph/tasks.json: implement, review, or fix. A story is done when a review
approved it. A run that is started again goes on where the list stands. The agent commits; with --commit each-iteration
ralph does, on branchName of the list. With --parallel each agent has a repository of its own, and each story becomes a
commit on the branch that is checked out.

Exit code: 0 every story is done; 1 a limit, or no valid review; 2 the list, a flag or the agent is wrong; 4 the agent failed;
5 a commit failed; 130 ended by a signal or 'ralph cancel'.`, func(d localRun, _ []string) error {
		_, other := d.flags["isolation"]
		switch {
		case sandbox && none, other && (sandbox || none):
			return errors.New("--sandbox, --no-sandbox and --isolation decide the same: give only one of them")
		case sandbox:
			d.flags["isolation"] = string(config.IsolationDocker)
		case none:
			d.flags["isolation"] = string(config.IsolationOff)
		}
		d.dir = project
		return a.runLocally(d, &a.code)
	})
	fs := cmd.Flags()
	fs.StringVarP(&project, "project-dir", "d", "", projectHelp)
	fs.BoolVar(&sandbox, "sandbox", false, "Require a Docker Sandbox. Default: use one if available.")
	fs.BoolVar(&none, "no-sandbox", false, "Run the agent directly, with a hook that refuses dangerous commands.")
	return cmd
}
