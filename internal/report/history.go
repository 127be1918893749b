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

// past is an earlier run on the branch in words. Run is foreign text.
type past struct {
	Run, URL   string
	Iterations string // "4–6"
	Cost       string
	Outcome    string
	Commits    string
}

// branchRows are the earlier runs, oldest first, at most limit of them: when
// there are more, the oldest are summed up in the first row.
func branchRows(r ralph.Report, limit int) []past {
	runs := r.History.Runs
	var rows []past
	count := 0
	add := func(name string, p ralph.Past, cut bool) {
		row := past{
			Run: name, URL: runURL(r, p.Run), Iterations: numbers(count, p.Iterations), Cost: p.Cost.String(),
			Outcome: pastOutcome(p.Outcome), Commits: fmt.Sprint(p.Commits),
		}
		if cut {
			row.URL, row.Outcome, row.Commits = "", doc.Nothing, doc.Nothing
		}
		count += p.Iterations
		rows = append(rows, row)
	}
	if more := len(runs) - limit; more > 0 {
		var sum ralph.Past
		for _, p := range runs[:more+1] {
			sum.Iterations += p.Iterations
			sum.Commits += p.Commits
			sum.Cost = sum.Cost.Add(p.Cost)
		}
		add(words.Plural(more+1, "run")+" before", sum, false)
		rows[0].URL, rows[0].Outcome = "", doc.Nothing
		runs = runs[more+1:]
	}
	for _, p := range runs {
		add(cmp.Or(doc.OneLine(p.Run, 40), "not read"), p, p.Run == "")
	}
	return rows
}

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
func branchCost(r ralph.Report) ralph.Cost { return r.History.Cost().Add(r.Usage().Cost) }

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

// continued says that earlier runs worked on the branch.
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

// history is a table of the runs on the branch, this one last.
func (m record) history() doc.Section {
	cost := branchCostWords(m.Report)
	if !continued(m.Report) {
		if cost == "" {
			return doc.Section{}
		}
		return doc.Section{Name: "history of the branch", Blocks: []doc.Block{doc.Para("Cost of the branch: ", doc.Strong(cost), ".")}}
	}
	g := doc.Grid{Columns: []doc.Column{{Title: "Run"}, {Title: "Iterations"}, {Title: "Cost", Right: true}, {Title: "Outcome"}, {Title: "Commits", Right: true}}}
	add := func(p past, name any) {
		g.Rows = append(g.Rows, []doc.Text{doc.Linked(p.URL, name), doc.Line(p.Iterations), doc.Line(doc.Tight(p.Cost)), doc.Line(doc.Tight(p.Outcome)), doc.Line(p.Commits)})
	}
	for _, p := range branchRows(m.Report, m.runs) {
		add(p, doc.Foreign(p.Run, 40))
	}
	now, all := thisRun(m.Report)
	now.URL = m.RunURL
	add(now, "this run")
	g.Total = []doc.Text{doc.Line("Total"), doc.Line(all.Iterations), doc.Line(doc.Tight(all.Cost)), nil, doc.Line(all.Commits)}
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

// thisRun is the row of this run, and that of all of them.
func thisRun(r ralph.Report) (now, all past) {
	before, n := r.History.Iterations(), lastNumber(r)
	mine := checkpoints(r)
	now = past{
		Iterations: numbers(before, n), Cost: r.Usage().Cost.String(), Commits: fmt.Sprint(mine),
		Outcome: pastOutcome(r.Outcome),
	}
	for _, p := range r.History.Runs {
		mine += p.Commits
	}
	all = past{Iterations: fmt.Sprint(before + n), Cost: branchCost(r).String(), Commits: fmt.Sprint(mine)}
	if r.History.Cut {
		all.Commits = "≥\u00a0" + all.Commits
	}
	return now, all
}

// checkpoints counts the commits of ours in this run.
func checkpoints(r ralph.Report) int {
	n := 0
	for _, it := range r.Iterations {
		if it.Commit.SHA != "" {
			n++
		}
	}
	return n
}
