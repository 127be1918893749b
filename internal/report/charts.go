package report

import (
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
)

// charts draws time and cost of the iterations.
func (m record) charts() doc.Section {
	t, ok := timeSeries(m.Report, m.points)
	if !ok {
		return doc.Section{}
	}
	s := doc.Section{Title: doc.Line("Time and cost"), Blocks: []doc.Block{{Kind: doc.ChartBlock, Chart: t}}}
	if c, ok := costSeries(m.Report, m.points); ok {
		s.Blocks = append(s.Blocks, doc.Block{Kind: doc.ChartBlock, Chart: c})
	} else if m.Usage().Cost.Unknown {
		s.Blocks = append(s.Blocks, doc.Soft("No cost chart: the cost of some iterations is unknown."))
	}
	return s
}

// timeSeries is the time of the newest iterations; ok is false when there is
// nothing to compare.
func timeSeries(r ralph.Report, points int) (s doc.Series, ok bool) {
	its := newest(r.Iterations, points)
	if len(its) < 2 {
		return doc.Series{}, false
	}
	var longest time.Duration
	for _, it := range its {
		longest = max(longest, it.Duration)
	}
	s = doc.Series{Title: "Time per iteration", Class: "time", Unit: "seconds", Colour: "#3d7ecf"}
	unit := time.Second
	switch {
	case longest >= 3*time.Hour:
		s.Unit, unit = "hours", time.Hour
	case longest >= 3*time.Minute:
		s.Unit, unit = "minutes", time.Minute
	}
	for _, it := range its {
		s.Add(it.Number, float64(it.Duration)/float64(unit))
	}
	return s.Scaled(), true
}

// costSeries is the cost of the newest iterations; ok is false when there is
// nothing to compare or when a cost is not known: half a chart would lie.
func costSeries(r ralph.Report, points int) (s doc.Series, ok bool) {
	its := newest(r.Iterations, points)
	if len(its) < 2 {
		return doc.Series{}, false
	}
	var highest ralph.MicroUSD
	for _, it := range its {
		c := it.Usage().Cost
		if c.Unknown {
			return doc.Series{}, false
		}
		highest = max(highest, c.Amount)
	}
	if highest == 0 {
		return doc.Series{}, false
	}
	s = doc.Series{Title: "Cost per iteration", Class: "cost", Unit: "US dollars", Colour: "#c7762b"}
	if r.Usage().Cost.Estimated {
		s.Title += ", estimated"
	}
	unit := ralph.USD
	if highest < ralph.USD {
		s.Unit, unit = "US cents", ralph.USD/100
	}
	for _, it := range its {
		s.Add(it.Number, float64(it.Usage().Cost.Amount)/float64(unit))
	}
	return s.Scaled(), true
}
