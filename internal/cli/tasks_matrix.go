package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/cli/matrix"
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
	look, end, err := c.branches(a, folder)
	if err != nil {
		return err
	}
	defer end()
	matrix, jobs, err := matrix.Of(list, rules, look)
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

// branches looks at the branches of stories as origin had them when it was fetched: no
// token is needed. Outside of a repository there are none.
func (c *tasksMatrixCmd) branches(a *app, folder *tasks.Folder) (look func(string) (*matrix.Branch, error), end func(), err error) {
	var env []string
	if a.getenv("GITHUB_ACTIONS") == "true" { // in a container the checkout is another user's
		env = []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}
	}
	git, end, err := a.git(c.ProjectDir, env...)
	if errors.Is(err, errNoRepository) {
		return func(string) (*matrix.Branch, error) { return nil, nil }, func() {}, nil //nolint:nilnil // there is none
	} else if err != nil {
		return nil, nil, err
	}
	if shallow, err := git("rev-parse", "--is-shallow-repository"); err == nil && strings.TrimSpace(shallow) == "true" {
		fmt.Fprintln(a.stderr, "ralph: the clone is shallow, so branches of stories are not seen: check out with fetch-depth: 0")
	}
	yes := func(args ...string) (bool, error) {
		_, err := git(args...)
		var failed *gitError
		if errors.As(err, &failed) && failed.code == 1 {
			return false, nil
		}
		return err == nil, err
	}
	return func(name string) (*matrix.Branch, error) {
		ref := "refs/remotes/origin/" + name
		if there, err := yes("rev-parse", "--verify", "--quiet", ref); !there || err != nil {
			return nil, err
		}
		if merged, err := yes("merge-base", "--is-ancestor", ref, "HEAD"); merged || err != nil {
			return nil, err
		}
		var b matrix.Branch
		if text, err := git("cat-file", "blob", ref+":./"+folder.Path(tasks.TasksName)); err == nil {
			b.List, _ = tasks.Read([]byte(text)) // one that cannot be read needs work
		}
		clean, err := yes("merge-tree", "--write-tree", "HEAD", ref)
		b.Conflicts = !clean
		return &b, err
	}, end, nil
}
