package cli

import "github.com/org/ralph-action/internal/config"

// tasksIntegrateCmd puts together what lanes have made.
type tasksIntegrateCmd struct {
	localFlags
	Lanes      string `arg:"" name:"dir" file:"" help:"The folder with plan.json, and with what the lanes handed over below it."`
	ProjectDir string `short:"d" file:"" placeholder:"PATH" help:"The project. Default: the current directory."`
}

// Help is shown below the flags.
func (tasksIntegrateCmd) Help() string {
	return `Example:
  ralph tasks integrate lanes

Puts the stories that lanes have finished onto the branch of the plan, each as one commit, in the plan's order. What conflicts,
or makes a check fail that passed before, goes back to the list with the reason. Run again, it goes on where it was.
Nothing is pushed.

Exit code: 0 the integration did its work, also if stories are left; 2 the plan, the folder or a flag is wrong; 5 a commit failed;
130 ended by a signal.`
}

// Run integrates a wave.
func (c *tasksIntegrateCmd) Run(a *app, done *exit) error {
	flags := c.values()
	flags["lanes"] = c.Lanes
	return a.runLocally(localRun{mode: config.ModeIntegrate, dir: c.ProjectDir, flags: flags, words: c.typed(a, map[string]string{"lanes": "the folder of the lanes"}), verbose: c.Verbose}, done)
}
