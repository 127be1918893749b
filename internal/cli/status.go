package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/org/ralph-action/internal/cli/output"
	"github.com/org/ralph-action/internal/cli/resume"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run/lastrun"
	"github.com/org/ralph-action/internal/run/rundir"
)

// statusCmd tells of the last run.
type statusCmd struct {
	JSON bool `name:"json" help:"Print it as JSON."`
}

// Help is shown below the flags.
func (statusCmd) Help() string {
	return `The last run is that of this directory, or of one above it within the repository. Runs of the action are not recorded.

Exit code: 0 it goes on, or completed; 1 it ended otherwise, or was killed; 2 no run is recorded.`
}

// Run tells it.
func (c *statusCmd) Run(a *app, done *exit) error {
	last, state, err := a.lastRun()
	if errors.Is(err, lastrun.ErrNone) {
		*done = exit(ralph.Invalid.ExitCode(false))
		if !c.JSON {
			return err
		}
	} else if err != nil {
		return err
	}
	status := output.Status{Run: last, State: state, Now: time.Now()}
	if state == lastrun.Killed || state == lastrun.Ended && last.End.Outcome != ralph.Completed {
		*done = 1
	}
	if c.JSON {
		enc := json.NewEncoder(a.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(status)
	}
	if status.Here, err = os.Getwd(); err != nil {
		return err
	}
	status.Refused = a.resumable(last, state)
	_, err = a.stdout.WriteString(status.Text())
	return err
}

// resumable is why ralph resume refuses to go on with a run as it is; nil if it does not.
func (a *app) resumable(last lastrun.Run, state lastrun.State) error {
	if err := resume.Check(last, state); err != nil {
		return err
	}
	if err := os.Chdir(last.Workspace); err != nil { // paths in its flags lead from there
		return err
	}
	cfg, _ := config.Load(a.sources(last.Workspace, localRun{mode: last.Mode, flags: last.Command.Flags})) // resume says what is wrong
	_, err := resume.Plan(last, state, cfg, resume.More{})
	return err
}

// lastRun is the last run in this directory or in one above it.
func (a *app) lastRun() (lastrun.Run, lastrun.State, error) {
	dir := lastrun.Dir(a.getenv)
	if dir == "" {
		return lastrun.Run{}, "", errors.New("HOME is not set: without it no run is recorded")
	}
	p := findProject([]string{"."})
	last, state, err := lastrun.Find(dir, p.above)
	if errors.Is(err, lastrun.ErrNone) {
		err = fmt.Errorf("%w in %s", err, p.dir)
		report := filepath.Join(p.dir, rundir.Name, "report.json")
		if _, missing := os.Lstat(report); missing == nil {
			err = fmt.Errorf("%w; %s is of a run elsewhere, such as the action's", err, report)
		}
	}
	return last, state, err
}
