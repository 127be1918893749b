package cli

import (
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/cli/usergit"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

// tasksArchiveCmd puts a list away.
type tasksArchiveCmd struct {
	tasksPlace
	Label    string `placeholder:"LABEL" help:"Name of the archive, after the date. Default: the branch of the list."`
	NoCommit bool   `help:"Do not commit the archived files."`
}

// Help is shown below the flags.
func (tasksArchiveCmd) Help() string {
	return `It moves prd.md, tasks.json, progress.txt and notes of stories to ralph-archive/DATE-LABEL, writes summary.md beside them, puts fresh
templates in their place, and commits exactly that. prompt.md stays as it is.

Exit code: 0 it is archived; 2 nothing was done; 5 it is archived, and the commit failed.`
}

// Run archives the list.
func (c *tasksArchiveCmd) Run(a *app, done *exit) error {
	folder, err := c.open()
	if err != nil {
		return err
	}
	defer folder.Close()
	// While it is held no loop starts.
	lock, err := folder.Lock(tasks.Marker{At: time.Now(), PID: os.Getpid(), Mode: "archive", Folder: folder.Dir()})
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }()
	archived, err := folder.Archive(tasks.ArchiveOptions{Label: c.Label, At: time.Now()})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "archived to %s\n", c.shown(archived.Path))
	if archived.Figures.Done < archived.Figures.Stories {
		fmt.Fprintln(a.stderr, "ralph: the list was not finished; to go on with it, move it back")
	}
	for _, line := range archived.Figures.Lines() {
		fmt.Fprintln(a.stdout, line)
	}
	if ids := archived.Figures.CappedIDs(); ids != "" {
		fmt.Fprintln(a.stdout, actions.PlainLine("Approved at the review cap, have a look: "+ids))
	}
	if c.NoCommit {
		return nil
	}
	said, err := c.commit(a, "chore: archive "+path.Base(archived.Path), archived.Changed)
	switch {
	case errors.Is(err, usergit.ErrNoRepository):
		said = "Not committed: the project is in no git repository."
	case err != nil:
		fmt.Fprintf(a.stderr, "ralph: %s stays, but it is not committed: %s\n", c.shown(archived.Path), err)
		*done = exit(ralph.GitFailed.ExitCode(false))
		return nil
	}
	_, err = fmt.Fprintln(a.stdout, said)
	return err
}

func (c *tasksArchiveCmd) commit(a *app, message string, paths []string) (string, error) {
	ctx, cancel := a.signals(func(text string) { fmt.Fprintln(a.stderr, text) })
	defer cancel()
	git, err := usergit.Start(ctx, c.ProjectDir, a.environ)
	if err != nil {
		return "", err
	}
	defer git.Close()
	return git.Commit(message, paths)
}
