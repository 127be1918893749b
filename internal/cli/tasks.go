package cli

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/org/ralph-action/internal/cli/flagset"
	"github.com/org/ralph-action/internal/tasks"
)

// tasksCommand are the commands about a task list.
func (a *app) tasksCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "tasks <command>", Short: "Task lists in which every story is reviewed."}
	cmd.AddCommand(a.tasksInitCommand(), a.tasksRunCommand(), a.tasksCheckCommand(), a.tasksArchiveCommand(), a.tasksIntegrateCommand(),
		a.tasksMatrixCommand(), a.tasksPlanCommand())
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		if len(words) > 0 {
			return unexpected(cmd, words[0])
		}
		return wrong("expected one of %s", strings.Join(listed(cmd), ", "))
	}
	return cmd
}

// tasksPlace is where a task list lies.
type tasksPlace struct {
	ProjectDir string
	RalphDir   string
}

func (p *tasksPlace) declare(fs *pflag.FlagSet) {
	fs.StringVarP(&p.ProjectDir, "project-dir", "d", ".", "The project. Default: the current directory.")
	fs.StringVar(&p.RalphDir, "ralph-dir", tasks.DefaultDir, "The folder of the list, in the project. Default: ralph.")
	flagset.Called(fs, "PATH", "project-dir", "ralph-dir")
}

func (p tasksPlace) open() (*tasks.Folder, error) { return tasks.OpenFolder(p.ProjectDir, p.RalphDir) }

// shown is the path of a file in the project, seen from the current directory.
func (p tasksPlace) shown(path string) string { return filepath.Join(p.ProjectDir, path) }

// tasksRules is what the list is held to.
type tasksRules struct {
	SkipReview bool
	ReviewCap  int
}

const skipReviewHelp = "No review cycle: a story is done when it passes."

func (r *tasksRules) declare(fs *pflag.FlagSet) {
	fs.BoolVar(&r.SkipReview, "skip-review", false, skipReviewHelp)
	fs.IntVar(&r.ReviewCap, "review-cap", 5, "Reviews of a story before it is approved anyway; 0: no limit. Default: 5.")
	flagset.Called(fs, "N", "review-cap")
}

// check says what is wrong with the flags.
func (r tasksRules) check() error {
	if r.ReviewCap < 0 {
		return wrong("--review-cap: give 0 or more")
	}
	return nil
}

func (r tasksRules) rules() tasks.Rules {
	return tasks.Rules{SkipReview: r.SkipReview, ReviewCap: r.ReviewCap}
}
