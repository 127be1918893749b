package report

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/words"
)

// numbers are those of n iterations after before others.
func numbers(before, n int) string {
	switch n {
	case 0:
		return doc.Nothing
	case 1:
		return fmt.Sprint(before + 1)
	}
	return fmt.Sprintf("%d–%d", before+1, before+n)
}

// pastOutcome is what the last checkpoint of a run tells: nothing but success
// is known when it is made.
func pastOutcome(o ralph.Outcome) string {
	if !o.Known() {
		return "not complete"
	}
	return o.Row().Sign + " " + strings.ReplaceAll(string(o), "-", " ")
}

// runURL is the address of another workflow run, made after that of this one.
func runURL(r ralph.Report, id string) string {
	address, _, _ := strings.Cut(r.RunURL, "/attempts/")
	dir, own := path.Split(address)
	if len(id) > 20 || !digits(id) || !digits(own) || doc.WebAddress(r.RunURL) == "" {
		return ""
	}
	return doc.WebAddress(dir + id)
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// branchCost is what all runs on the branch cost, this one included.
func branchCost(r ralph.Report) ralph.Cost { return r.History.Cost().Add(r.Spent()) }

// branchCostWords is the cost of the branch and what it may cost; empty when
// the branch begins with this run and has no budget.
func branchCostWords(r ralph.Report) string {
	text := branchCost(r).String()
	if total := r.Budget.Total; total > 0 {
		return fmt.Sprintf("%s of %s (max-total-cost-usd)", text, total)
	}
	if !continued(r) {
		return ""
	}
	return text
}

// continued reports whether earlier runs worked on the branch.
func continued(r ralph.Report) bool { return len(r.History.Runs) > 0 || r.History.Cut }

// countsOn says which iterations of the branch those of this run are, as its
// commits count them; empty when they are the first.
func countsOn(r ralph.Report) string {
	before, n := r.History.Iterations(), lastNumber(r)
	if before == 0 || n == 0 {
		return ""
	}
	if n == 1 {
		return fmt.Sprintf("Iteration 1 of this run is iteration %d of the branch, as its commit message says.", before+1)
	}
	return fmt.Sprintf("Iterations %s of this run are iterations %s of the branch, as its commit messages say.", numbers(0, n), numbers(before, n))
}

// lastNumber is that of the run's last iteration.
func lastNumber(r ralph.Report) int {
	if len(r.Iterations) == 0 {
		return 0
	}
	it := r.Iterations[len(r.Iterations)-1]
	return it.Number + it.Kept
}

// history is a table of the runs on the branch, oldest first and this one last. When
// there are more than runs, the oldest are summed up in the first row.
func (m record) history() doc.Section {
	cost := branchCostWords(m.Report)
	if !continued(m.Report) {
		if cost == "" {
			return doc.Section{}
		}
		return doc.Section{Name: "history of the branch", Blocks: []doc.Block{doc.Para("Cost of the branch: ", doc.Strong(cost), ".")}}
	}
	g := doc.Grid{Columns: []doc.Column{{Title: "Run"}, {Title: "Iterations"}, {Title: "Cost", Right: true}, {Title: "Outcome"}, {Title: "Commits", Right: true}}}
	iterations, commits := 0, 0
	add := func(name doc.Text, p ralph.Past, outcome, made string) {
		g.Rows = append(g.Rows, []doc.Text{name, doc.Line(numbers(iterations, p.Iterations)), doc.Line(doc.Tight(p.Cost.String())), doc.Line(doc.Tight(outcome)), doc.Line(made)})
		iterations, commits = iterations+p.Iterations, commits+p.Commits
	}
	runs := m.History.Runs
	if more := len(runs) - m.runs; more > 0 {
		var sum ralph.Past
		for _, p := range runs[:more+1] {
			sum.Iterations, sum.Commits, sum.Cost = sum.Iterations+p.Iterations, sum.Commits+p.Commits, sum.Cost.Add(p.Cost)
		}
		add(doc.Line(words.Plural(more+1, "run")+" before"), sum, doc.Nothing, fmt.Sprint(sum.Commits))
		runs = runs[more+1:]
	}
	for _, p := range runs {
		if p.Run == "" {
			add(doc.Line("not read"), p, doc.Nothing, doc.Nothing)
			continue
		}
		add(doc.Linked(runURL(m.Report, p.Run), doc.Foreign(cmp.Or(doc.OneLine(p.Run, 40), "not read"), 40)), p, pastOutcome(p.Outcome), fmt.Sprint(p.Commits))
	}
	mine := m.Checkpoints()
	outcome := pastOutcome(m.Outcome)
	if m.Outcome == "" {
		outcome = "goes on"
	}
	add(doc.Linked(m.RunURL, "this run"), ralph.Past{Iterations: lastNumber(m.Report), Commits: mine, Cost: m.Spent()}, outcome, fmt.Sprint(mine))
	all := fmt.Sprint(commits)
	if m.History.Cut {
		all = "≥\u00a0" + all
	}
	total := doc.Nothing // where only lanes' stories were put onto the branch
	if iterations > 0 {
		total = fmt.Sprint(iterations)
	}
	g.Total = []doc.Text{doc.Line("Total"), doc.Line(total), doc.Line(doc.Tight(branchCost(m.Report).String())), nil, doc.Line(all)}
	s := doc.Section{Title: doc.Line("History of the branch"), Blocks: []doc.Block{{Kind: doc.GridBlock, Grid: g}}}
	if m.Budget.Total > 0 {
		s.Blocks = append(s.Blocks, doc.Para("Cost of the branch: ", doc.Strong(cost), "."))
	}
	if words := countsOn(m.Report); words != "" {
		s.Blocks = append(s.Blocks, doc.Small(words))
	}
	if m.History.Cut {
		s.Blocks = append(s.Blocks, doc.Soft("The branch has older commits that were not read: the totals are lower bounds."))
	}
	return s
}
