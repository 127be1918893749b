package cli

import (
	"fmt"
	"strconv"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/cli/matrix"
	"github.com/org/ralph-action/internal/cli/origin"
	"github.com/org/ralph-action/internal/tasks"
)

// tasksMatrixCmd prints what can be worked on at the same time.
type tasksMatrixCmd struct {
	tasksPlace
	SkipReview bool `help:"No review cycle: a story is done when it passes."`
	Output     bool `help:"Also set the step outputs matrix and jobs (GITHUB_OUTPUT)."`
}

// Help is shown below the flags.
func (tasksMatrixCmd) Help() string {
	return `It is one line of JSON: the stories that are not done and depend on nothing unfinished, with a branch and the mode
of each. Stories that are done on their branch (of origin, as it was fetched) wait for people and are left out, unless the branch conflicts with
what is checked out: then the mode is merge. A matrix without a job is an error in GitHub Actions: make the job depend on jobs != '0'.

Example, as a step with the id ready:
  ralph tasks matrix --output`
}

// Run prints the matrix.
func (c *tasksMatrixCmd) Run(a *app) error {
	folder, err := c.open()
	if err != nil {
		return err
	}
	defer folder.Close()
	rules := tasksRules{SkipReview: c.SkipReview}.rules()
	list, err := c.legal(folder, rules)
	if err != nil {
		if _, without := c.legal(folder, tasksRules{SkipReview: true}.rules()); !c.SkipReview && without == nil {
			err = fmt.Errorf("%w\nWithout the review cycle the list is valid: if it is used with skip-review, pass --skip-review", err)
		}
		return err
	}
	ctx, cancel := a.signals(func(text string) { fmt.Fprintln(a.stderr, text) })
	defer cancel()
	view, err := origin.Look(ctx, c.ProjectDir, folder.Path(tasks.TasksName), a.environ, a.stderr)
	if err != nil {
		return err
	}
	defer view.Close()
	matrix, jobs, err := matrix.Of(list, rules, view.Story)
	if err != nil {
		return err
	}
	if c.Output {
		if err := actions.StepOutputs(a.getenv("GITHUB_OUTPUT"), "matrix", string(matrix), "jobs", strconv.Itoa(jobs)); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(a.stdout, "%s\n", matrix)
	return err
}
