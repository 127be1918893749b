package cli

import (
	"errors"

	"github.com/org/ralph-action/internal/config"
)

// superviseCmd is the restart manager of seed 002.
type superviseCmd struct {
	localFlags
	Command []string `arg:"" optional:"" name:"command" help:"The agent's command, after --."`
}

// Help is shown below the flags.
func (superviseCmd) Help() string {
	return `Example:
  ralph supervise --task-dir tasks/42 --max-restarts 20 -- claude -p --dangerously-skip-permissions "Work on task 42"

The command is started again whatever its exit code, until the file DONE lies in the task folder. It finds
the folder in TASK_FOLDER, and a new one for each run in RUN_FOLDER. It is not started again when it exits
with 42, makes a file WAIT_WITHOUT_RESTART there, or posts a message of the type wait_without_restart.`
}

// Run restarts the command.
func (c *superviseCmd) Run(a *app, done *exit) error {
	flags, words := c.values(), map[string]string{}
	if len(c.Command) > 0 {
		if _, twice := flags["agent-command"]; twice {
			return errors.New("the command is given twice, after -- and as the flag --agent-command: give only one of them")
		}
		flags["agent-command"], words["agent-command"] = config.ShellWords(c.Command), "the command after --"
	}
	return a.runLocally(localRun{mode: "supervise", flags: flags, words: c.typed(a, words), verbose: c.Verbose}, done)
}
