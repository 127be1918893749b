package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/hook"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/config/problem"
	"github.com/org/ralph-action/internal/run/session"
)

// The plugin's commands that begin a loop.
const (
	loopCommand = "ralph-loop"
	ulwCommand  = "ulw-loop"

	slashUsage = `Usage: /%s "<task>" --max-iterations <N> --completion-promise "<PROMISE>" [--min-tool-calls <M>] [--on-promise-no-work reject|accept]`
	// maxSlashTask bounds the task of such a loop, in bytes: every continuation
	// repeats it.
	maxSlashTask = 128 << 10
)

// slashFlags are the flags of those commands, and the settings they are.
func slashFlags() map[string]string {
	return map[string]string{
		"max-iterations": "max-iterations", "completion-promise": "completion-token",
		"min-tool-calls": "min-tool-calls", "on-promise-no-work": "on-promise-no-work",
	}
}

// hookSlash answers a command that a person typed into an agent session: those
// of the plugin begin a loop there. What was typed is read here, and by no shell.
// A command that cannot be carried out is refused before the model is asked.
func (a *app) hookSlash(in hook.Input, readErr error) hook.Answer {
	answer := hook.Hook{}.Reply(hook.UserPromptExpansion, in, readErr)
	if in.Event != string(hook.UserPromptExpansion) {
		return answer
	}
	name := in.CommandName[strings.LastIndex(in.CommandName, ":")+1:]
	if name != loopCommand && name != ulwCommand {
		return answer
	}
	err := readErr
	if err == nil {
		answer.Context, err = a.beginTyped(in, name == ulwCommand)
	}
	if err != nil {
		answer.Refused = true
		answer.Reason = "No loop was started: " + strings.Join(problem.Lines(err), "; ") + "\n" + fmt.Sprintf(slashUsage, name)
	}
	return answer
}

// beginTyped begins the loop that a command line asks for.
func (a *app) beginTyped(in hook.Input, ultrawork bool) (string, error) {
	flags := slashFlags()
	args, err := hook.ParseArguments(in.CommandArgs, slices.Collect(maps.Keys(flags))...)
	switch {
	case err != nil:
		return "", err
	case args.Text == "":
		return "", errors.New("the task is missing")
	case len(args.Text) > maxSlashTask:
		return "", fmt.Errorf("the task has %d bytes; at most %d are read: write it to a file, and name that in the task", len(args.Text), maxSlashTask)
	}
	values, words := map[string]string{"prompt": args.Text}, map[string]string{}
	for flag, setting := range flags {
		if value, given := args.Flags[flag]; given {
			values[setting], words[setting] = value, "--"+flag
		}
	}
	if ultrawork {
		values["ultrawork"] = "true"
	}
	dir := findProject(a.startFolders(in.CWD)).dir
	if dir == "" {
		if dir, err = os.Getwd(); err != nil {
			return "", err
		}
	}
	cfg, err := config.Load(config.LoadOptions{
		Dir: dir, Mode: config.ModeSession, Local: true, Defaults: a.localDefaults(config.ModeSession), Flags: values, Words: words,
	})
	if err != nil {
		return "", err
	}
	return a.beginLoop(session.New(cfg.Loop, cfg.Prompt.Text, cfg.Loop.MaxIterations), in.SessionID)
}
