package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/config/problem"
	"github.com/org/ralph-action/internal/run/session"
)

// sessionCmd is one agent session kept going until its promise. 004
type sessionCmd struct {
	localFlags
	Task string `arg:"" optional:"" name:"task" help:"The task."`
	Here bool   `help:"Start no agent: keep the calling agent session going. For plugins and an agent's own commands."`
}

// Help is shown below the flags.
func (sessionCmd) Help() string {
	return `Example:
  ralph session "Make the tests pass" --completion-promise DONE --max-iterations 20

The agent works in one session. Whenever it wants to stop without <promise>DONE</promise>, or before it did any
work, it is told to go on: claude by its stop hook, others by resuming the session; cline, custom and text
cannot. Nothing is written into the agent's own configuration. 'ralph cancel' ends it.

Exit code: 0 the promise was accepted; 1 a limit was reached; 2 a flag or the agent is wrong; 4 the agent failed;
130 ended by a signal or 'ralph cancel'.`
}

// Run keeps a session going.
func (c *sessionCmd) Run(a *app, done *exit) error {
	flags, words := c.values(), map[string]string{}
	if c.Task != "" {
		for _, name := range []string{"prompt", "prompt-file"} {
			if _, twice := flags[name]; twice {
				return fmt.Errorf("the task is given twice, as an argument and as the flag --%s: give only one of them", name)
			}
		}
		flags["prompt"], words["prompt"] = c.Task, "the task"
	}
	d := localRun{mode: config.ModeSession, flags: flags, words: c.typed(a, words), verbose: c.Verbose}
	if c.Here {
		return a.sessionHere(d)
	}
	return a.runLocally(d, done)
}

// sessionHere keeps the agent session going in which it is called. What an agent
// of ours would need has no place here.
func (a *app) sessionHere(d localRun) error {
	workspace, err := os.Getwd()
	if err != nil {
		return err
	}
	cfg, err := config.Load(config.LoadOptions{
		Dir: workspace, Flags: d.flags, Mode: d.mode, Local: true, Environment: a.environment(), Infer: agent.Infer, Words: d.words,
	})
	problems := problem.Lines(err)
	ours := []string{
		"prompt", "prompt-file", "max-iterations", "maximum-iterations", "completion-token", "completion-response", "completion-promise",
		"min-tool-calls", "on-promise-no-work", "ultrawork", "ultrawork-prompt",
	}
	for _, name := range slices.Sorted(maps.Keys(d.flags)) {
		if !slices.Contains(ours, name) {
			problems = append(problems, "flag --"+name+": it has no effect with --here, which starts no agent")
		}
	}
	if len(problems) > 0 {
		return refused(problems)
	}
	text, err := a.beginLoop(session.New(cfg.Loop, cfg.Prompt.Text, cfg.Loop.MaxIterations), "")
	if err == nil {
		fmt.Fprintln(a.stdout, text)
	}
	return err
}
