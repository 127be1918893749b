package cli

import (
	"github.com/spf13/cobra"

	"github.com/org/ralph-action/internal/config"
)

// tasksIntegrateCommand puts together what lanes have made.
func (a *app) tasksIntegrateCommand() *cobra.Command {
	var project string
	cmd := a.loop(config.ModeIntegrate, "integrate <dir>", "Integrate the work of the lanes of a plan.", `Example:
  ralph tasks integrate lanes

<dir> is the folder with plan.json, and with what the lanes handed over below it.

Puts the stories that lanes have finished onto the branch of the plan, each as one commit, in the plan's order. What conflicts,
or makes a check fail that passed before, goes back to the list with the reason. Run again, it goes on where it was.
Nothing is pushed.

Exit code: 0 the integration did its work, also if stories are left; 2 the plan, the folder or a flag is wrong; 5 a commit failed;
130 ended by a signal.`, func(d localRun, words []string) error {
		d.dir, d.flags["lanes"], d.words["lanes"] = project, words[0], "the folder of the lanes"
		return a.runLocally(d, &a.code)
	})
	cmd.Flags().StringVarP(&project, "project-dir", "d", "", projectHelp)
	return cmd
}
