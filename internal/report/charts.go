package report

import (
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// charts draws time and cost of the iterations.
func (m record) charts() section {
	t, ok := timeSeries(m.Report, m.points)
	if !ok {
		return section{}
	}
	s := section{Title: line("Time and cost"), Blocks: []block{{Kind: chartBlock, Chart: t}}}
	if c, ok := costSeries(m.Report, m.points); ok {
		s.Blocks = append(s.Blocks, block{Kind: chartBlock, Chart: c})
	} else if m.Usage().Cost.Unknown {
		s.Blocks = append(s.Blocks, soft("Cost is not drawn: it is not known of every iteration."))
	}
	return s
}

// timeSeries is the time of the newest iterations; ok is false when there is
// nothing to compare.
func timeSeries(r ralph.Report, points int) (s series, ok bool) {
	its := newest(r.Iterations, points)
	if len(its) < 2 {
		return series{}, false
	}
	var longest time.Duration
	for _, it := range its {
		longest = max(longest, it.Duration)
	}
	s = series{Title: "Time per iteration", Class: "time", Unit: "seconds", Colour: "#3d7ecf"}
	unit := time.Second
	switch {
	case longest >= 3*time.Hour:
		s.Unit, unit = "hours", time.Hour
	case longest >= 3*time.Minute:
		s.Unit, unit = "minutes", time.Minute
	}
	for _, it := range its {
		s.add(it.Number, float64(it.Duration)/float64(unit))
	}
	return s.scaled(), true
}

// costSeries is the cost of the newest iterations; ok is false when there is
// nothing to compare or when a cost is not known: half a chart would lie.
func costSeries(r ralph.Report, points int) (s series, ok bool) {
	its := newest(r.Iterations, points)
	if len(its) < 2 {
		return series{}, false
	}
	var highest ralph.MicroUSD
	for _, it := range its {
		c := it.Usage().Cost
		if c.Unknown {
			return series{}, false
		}
		highest = max(highest, c.Amount)
	}
	if highest == 0 {
		return series{}, false
	}
	s = series{Title: "Cost per iteration", Class: "cost", Unit: "US dollars", Colour: "#c7762b"}
	if r.Usage().Cost.Estimated {
		s.Title += ", estimated"
	}
	unit := ralph.USD
	if highest < ralph.USD {
		s.Unit, unit = "US cents", ralph.USD/100
	}
	for _, it := range its {
		s.add(it.Number, float64(it.Usage().Cost.Amount)/float64(unit))
	}
	return s.scaled(), true
}
