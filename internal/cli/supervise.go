package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/org/ralph-action/internal/config"
)

// superviseCommand is the restart manager of seed 002.
func (a *app) superviseCommand() *cobra.Command {
	return a.loop(config.ModeSupervise, "supervise [<command>...]", "Restart a command until its task directory has a file DONE.", `Example:
  ralph supervise --task-dir tasks/42 --max-restarts 20 -- \
    claude -p --dangerously-skip-permissions "Work on task 42"

The agent's command comes after --. It is started again whatever its exit code, until the file DONE lies in the task
folder. It finds the folder in TASK_FOLDER, and a new one for each run in RUN_FOLDER. It is not started again when it
exits with 42, makes a file WAIT_WITHOUT_RESTART there, or posts a message of the type wait_without_restart.`, func(d localRun, words []string) error {
		if len(words) > 0 {
			if _, twice := d.flags["agent-command"]; twice {
				return errors.New("the command is given twice, after -- and as the flag --agent-command: give only one of them")
			}
			d.flags["agent-command"], d.words["agent-command"] = config.ShellWords(words), "the command after --"
		}
		return a.runLocally(d, &a.code)
	})
}
