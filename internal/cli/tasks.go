package cli

import (
	"errors"
	"path/filepath"

	"github.com/org/ralph-action/internal/tasks"
)

// tasksCmd are the commands about a task list.
type tasksCmd struct {
	Init      tasksInitCmd      `cmd:"" help:"Create the directory of a task list."`
	Run       tasksRunCmd       `cmd:"" help:"Work through a list: implement, review, fix, review again."`
	Check     tasksCheckCmd     `cmd:"" help:"List every problem of a list, for CI and editors."`
	Archive   tasksArchiveCmd   `cmd:"" help:"Archive a finished list with a summary, and start over."`
	Integrate tasksIntegrateCmd `cmd:"" help:"Integrate the work of the lanes of a plan."`
	Matrix    tasksMatrixCmd    `cmd:"" help:"Print the stories that are ready as a matrix of jobs."`
	Plan      tasksPlanCmd      `cmd:"" help:"Plan a wave of parallel jobs for a list."`
}

// tasksPlace is where a task list lies.
type tasksPlace struct {
	ProjectDir string `short:"d" default:"." file:"" placeholder:"PATH" help:"The project. Default: the current directory."`
	RalphDir   string `default:"ralph" file:"" placeholder:"PATH" help:"The folder of the list, in the project. Default: ralph."`
}

func (p tasksPlace) open() (*tasks.Folder, error) { return tasks.OpenFolder(p.ProjectDir, p.RalphDir) }

// shown is the path of a file in the project, seen from the current directory.
func (p tasksPlace) shown(path string) string { return filepath.Join(p.ProjectDir, path) }

// tasksRules is what the list is held to.
type tasksRules struct {
	SkipReview bool `help:"No review cycle: a story is done when it passes."`
	ReviewCap  int  `default:"5" placeholder:"N" help:"Reviews of a story before it is approved anyway; 0: no limit. Default: 5."`
}

// Validate is called by kong.
func (r tasksRules) Validate() error {
	if r.ReviewCap < 0 {
		return errors.New("--review-cap: give 0 or more")
	}
	return nil
}

func (r tasksRules) rules() tasks.Rules {
	return tasks.Rules{SkipReview: r.SkipReview, ReviewCap: r.ReviewCap}
}
