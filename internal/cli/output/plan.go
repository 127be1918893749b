package output

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/words"
)

// Plan is a plan for people: a line for each lane, and for the first stories that wait.
func Plan(p *fanout.Plan) string {
	const most = 20
	var b strings.Builder
	lanes, stories := 0, 0
	for _, part := range p.Parts {
		lanes += len(part.Lanes)
		for _, l := range part.Lanes {
			stories += len(l.Stories)
		}
	}
	fmt.Fprintf(&b, "wave %d: %s in %s, %d waiting\n", p.Wave, words.Stories(stories), words.Plural(lanes, "lane"), len(p.Later))
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, part := range p.Parts {
		for _, l := range part.Lanes {
			budget := ""
			if l.Budget > 0 {
				budget = l.Budget.String()
			}
			fmt.Fprintf(table, "%s\t%s\t~%d iterations\t%s\t%s\n", l.Name, part.Branch, l.Estimate, budget, ralph.Listed(l.Stories))
		}
	}
	_ = table.Flush()
	for _, w := range p.Later[:min(len(p.Later), most)] {
		fmt.Fprintln(&b, actions.PlainLine(fmt.Sprintf("later %s: %s", w.Story, w.Why)))
	}
	if n := len(p.Later) - most; n > 0 {
		fmt.Fprintf(&b, "and %d more\n", n)
	}
	return b.String()
}
