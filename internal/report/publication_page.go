package report

import (
	"fmt"

	"github.com/org/ralph-action/internal/ralph"
)

// pageHistory is what the page shows of the branch.
type pageHistory struct {
	Rows             []past
	Run              string // address of this run
	Now, All         past
	Numbers, Limited string
	Cut              bool
}

// newPageHistory is nil when the branch begins with this run.
func newPageHistory(r ralph.Report, limit bounds) *pageHistory {
	if !continued(r) {
		return nil
	}
	p := &pageHistory{Rows: branchRows(r, limit.runs), Run: webAddress(r.RunURL), Numbers: countsOn(r), Cut: r.History.Cut}
	p.Now, p.All = thisRun(r)
	if r.Budget.Total > 0 {
		p.Limited = branchCostWords(r)
	}
	return p
}

// pageChecks is what the page shows of the forge's checks.
type pageChecks struct {
	Icon, Text, SHA, URL string
	Names                []string
}

// newPageChecks is nil when nobody waited for them.
func newPageChecks(r ralph.Report, limit bounds) *pageChecks {
	c := r.Publication.Checks
	icon, text := checksWords(c)
	if text == "" {
		return nil
	}
	return &pageChecks{Icon: icon, Text: text, SHA: sha(c.SHA), URL: commitURL(r, c.SHA), Names: checkNames(c, limit, plainWords{})}
}

type pageStep struct{ Icon, Name, Detail string }

func pageSteps(r ralph.Report, limit bounds) []pageStep {
	var list []pageStep
	for i, s := range r.Publication.Steps {
		if i == publishSteps {
			return append(list, pageStep{Name: fmt.Sprintf("…and %d more; report.json has them all.", len(r.Publication.Steps)-i)})
		}
		list = append(list, pageStep{stepIcon(s), oneLine(s.Name, 80), oneLine(s.Detail, limit.line)})
	}
	return list
}
