package cli

import (
	"fmt"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/tasks"
)

// tasksInitCmd makes the folder of a task list.
type tasksInitCmd struct {
	tasksPlace
	Name string `placeholder:"FEATURE" help:"Name of the feature. The branch is ralph/FEATURE."`
}

// Help is shown below the flags.
func (tasksInitCmd) Help() string {
	return `Example:
  ralph tasks init --name checkout

What exists stays as it is.`
}

// Run makes what is missing.
func (c *tasksInitCmd) Run(a *app) error {
	folder, err := c.open()
	if err != nil {
		return err
	}
	defer folder.Close()
	done, err := folder.Init(tasks.InitOptions{Name: c.Name, At: time.Now()})
	for _, path := range done.Created {
		fmt.Fprintf(a.stdout, "created %s\n", c.shown(path))
	}
	for _, path := range done.Kept {
		fmt.Fprintf(a.stdout, "kept    %s\n", c.shown(path))
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, `
Next:
  1. Describe what is to be built in %s. An agent can ask you the questions: /ralph-plan of the plugin.
  2. Fill in the stories of %s, each small enough for one sitting, and verifyCommands.
  3. ralph tasks check%s
  4. ralph tasks run%s
`, c.shown(folder.Path(tasks.PRDName)), c.shown(folder.Path(tasks.TasksName)), c.flags(), c.flags())
	return err
}

// flags repeats where the list lies, for a command to copy.
func (p tasksPlace) flags() string {
	text := ""
	if p.ProjectDir != "." {
		text += " --project-dir " + config.ShellWords([]string{p.ProjectDir})
	}
	if p.RalphDir != tasks.DefaultDir {
		text += " --ralph-dir " + config.ShellWords([]string{p.RalphDir})
	}
	return text
}
