package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/cli/origin"
	"github.com/org/ralph-action/internal/cli/output"
	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

// tasksPlanCmd plans a wave of lanes.
type tasksPlanCmd struct {
	tasksPlace
	tasksRules
	Lanes      int     `default:"8" placeholder:"N" help:"At most how many jobs, up to 256. Default: 8."`
	Wave       int     `default:"1" placeholder:"N" help:"Number of the wave. Default: 1."`
	MaxWaves   int     `default:"0" placeholder:"N" help:"How many waves there may be; 0: no limit. Default: 0."`
	MaxCostUSD float64 `name:"max-cost-usd" default:"0" placeholder:"USD" help:"What all waves together may cost; 0: no limit. Default: 0."`
	File       string  `default:"plan.json" file:"" placeholder:"FILE" help:"Where the plan goes. Default: plan.json."`
	Output     bool    `help:"Also set the step outputs matrix, lanes, plan, parts and wave (GITHUB_OUTPUT)."`
}

// Help is shown below the flags.
func (tasksPlanCmd) Help() string {
	return `A lane is a job that works on stories one after another. Stories that depend on each other, or whose touches overlap, share a lane;
what would make it too long waits for the next wave. The list counts as origin has it on its branch (as it was fetched), else as it is committed
here. What its commits cost by their trailers is taken off the budget; the lanes get four fifths of the rest.

It prints the matrix of jobs, one line of JSON. When nothing is left to do, it is empty: make the job depend on lanes != '0'.

Example, as a step with the id plan:
  ralph tasks plan --output`
}

// Run makes the plan.
func (c *tasksPlanCmd) Run(a *app) error {
	folder, err := c.open()
	if err != nil {
		return err
	}
	defer folder.Close()
	ctx, cancel := a.signals(func(text string) { fmt.Fprintln(a.stderr, text) })
	defer cancel()
	view, err := origin.Look(ctx, c.ProjectDir, folder.Path(tasks.TasksName), a.environ, a.stderr)
	if err != nil {
		return err
	}
	defer view.Close()
	in, spent, notes, err := view.Plan(fanout.Options{Wave: c.Wave, Waves: c.MaxWaves, Lanes: c.Lanes, Rules: c.rules()})
	if most := ralph.FromUSD(c.MaxCostUSD); c.MaxCostUSD != 0 && most < ralph.USD/100 || most > 1_000_000*ralph.USD {
		err = errors.Join(errors.New("--max-cost-usd: give dollars such as 5 or 2.50, at most 1000000, or 0 for no limit"), err)
	} else if c.MaxCostUSD != 0 {
		left := max(0, most-spent.Cost.Amount)
		in.Budget = &left
	}
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintln(a.stderr, actions.PlainLine("ralph: "+note))
	}
	if in.Budget != nil && (spent.Cut || spent.Cost.Unknown) {
		fmt.Fprintln(a.stderr, "ralph: what was spent so far is not known in full: it counts as "+spent.Cost.Amount.String())
	}
	plan, err := fanout.Make(in)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.File, plan.Encode(), 0o644); err != nil {
		return fmt.Errorf("--file: %w", err)
	}
	matrix, lanes := plan.Matrix()
	if c.Output {
		if err := actions.StepOutputs(a.getenv("GITHUB_OUTPUT"), "matrix", string(matrix), "lanes", strconv.Itoa(lanes),
			"plan", plan.ID(), "parts", string(plan.Branches()), "wave", strconv.Itoa(c.Wave)); err != nil {
			return err
		}
	}
	fmt.Fprint(a.stderr, output.Plan(plan))
	_, err = fmt.Fprintf(a.stdout, "%s\n", matrix)
	return err
}
