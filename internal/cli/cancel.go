package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/ralph-action/internal/agent/hook"
	"github.com/org/ralph-action/internal/run/rundir"
)

// cancelCmd ends the session loops of a project.
type cancelCmd struct {
	ProjectDir string `name:"project-dir" file:"" placeholder:"PATH" help:"The project; where you are when it is not given."`
	Session    string `placeholder:"ID" help:"End the loop of this agent session only."`
}

// Help is shown below the flags.
func (cancelCmd) Help() string {
	return `Example:
  ralph cancel

The loop of an agent's session ends: the agent may stop the next time it wants to. A
run in this project is asked to end; what it has done stays.`
}

// Run ends them.
func (c *cancelCmd) Run(a *app) error {
	if c.Session != "" {
		if err := hook.CheckSessionID(c.Session); err != nil {
			return err
		}
	}
	starts := a.startFolders("")
	if c.ProjectDir != "" {
		starts = []string{c.ProjectDir}
	}
	p := findProject(starts)
	if p.dir == "" {
		return fmt.Errorf("the project %s is not a directory", c.ProjectDir)
	}
	cancelled := 0
	var problems []error
	for _, dir := range p.above {
		n, err := a.cancelSessions(dir, c.Session)
		cancelled += n
		problems = append(problems, err)
		if c.Session == "" {
			asked, err := rundir.AskToEnd(dir)
			problems = append(problems, err)
			if asked {
				fmt.Fprintln(a.stdout, "Asked the ralph that works in "+dir+" to end.")
				cancelled++
			}
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	if cancelled == 0 {
		what := "No loop runs in " + p.dir
		if c.Session != "" {
			what = "Session " + c.Session + " has no loop in " + p.dir
		}
		fmt.Fprintln(a.stdout, what+": there is nothing to cancel.")
	}
	return nil
}

// cancelSessions removes the states of a project's loops, or of one session's,
// and says so.
func (a *app) cancelSessions(project, session string) (int, error) {
	dir, ok := statesIn(project)
	if !ok {
		return 0, nil
	}
	cancelled := 0
	var problems []error
	for _, name := range stateNames(dir) {
		if session != "" && name != session {
			continue
		}
		path := filepath.Join(dir, name+stateSuffix)
		s, err := openState(context.Background(), path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil: // what cannot be read is no loop that could go on
			err = os.Remove(path)
		default:
			err = s.remove()
			s.close()
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		cancelled++
		what := fmt.Sprintf("session %.60q", name)
		if strings.HasPrefix(name, unclaimed) {
			what = "a session that has not stopped yet"
		}
		if s == nil {
			fmt.Fprintf(a.stdout, "Cancelled the loop of %s, whose state was damaged.\n", what)
			continue
		}
		fmt.Fprintf(a.stdout, "Cancelled the loop of %s after %d iterations. Its task was: %.200q\n", what, s.session.Iteration, s.session.TaskPrompt)
	}
	return cancelled, errors.Join(problems...)
}
