package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// table is a row per iteration and one of totals.
func (m record) table() section {
	if len(m.Iterations) == 0 {
		return section{}
	}
	shown := newest(m.Iterations, m.rows)
	g := grid{Columns: []column{
		{Title: "#", Right: true}, {Title: "Result"}, {Title: "Time", Right: true}, {Title: "Turns", Right: true}, {Title: "Tools", Right: true},
		{Title: "Tokens in / out", Right: true}, {Title: "Cost", Right: true}, {Title: "Files", Class: "w"}, {Title: "Commit", Class: "w"},
	}}
	steps, cell := anyStep(m.Iterations), tight
	if steps {
		names := make([]string, 0, len(shown))
		for _, it := range shown {
			names = append(names, stepName(it.Step))
		}
		g.Columns = slices.Insert(g.Columns, 1, column{Title: "Step", Class: "t", Room: longest(names)})
		cell = func(s string) part { return part{Words: s} } // makes room for it
	}
	g.Columns[len(g.Columns)-4].Title = string(line(cell("Tokens in / out")).markdown())
	for _, it := range shown {
		r := newRow(it)
		cells := []text{
			line(r.Number), m.resultCell(r), line(r.Time), line(tight(r.Turns)), line(cell(r.Tools)), line(cell(r.Tokens)), line(tight(r.Cost)),
			line(cell(r.Files)), m.commitCell(it, nil),
		}
		if steps {
			cells = slices.Insert(cells, 1, line(foreign(stepWords(it, m.Tasks.SkipReview), 80)))
		}
		g.Rows = append(g.Rows, cells)
	}
	total := totals(m.Report)
	g.Total = []text{nil, line("Total"), line(total.Time), line(tight(total.Turns)), line(cell(total.Tools)), line(cell(total.Tokens)), line(tight(total.Cost)), nil, nil}
	if steps {
		g.Total = slices.Insert(g.Total, 1, nil)
	}
	s := section{Title: line("Iterations"), Blocks: []block{{Kind: gridBlock, Grid: g}}}
	if note := priceNote(m.Report); note != "" {
		s.Blocks = append(s.Blocks, small(foreign(note, m.line)))
	}
	if n := len(m.Iterations) - len(shown); n > 0 {
		s.Blocks = append(s.Blocks, soft("The first "+plural(n, "iteration")+" are left out here; report.json has them all."))
	}
	return s
}

// resultCell tells result and guardrails: how many passed, then the names of
// those that failed.
func (m record) resultCell(r row) text {
	t := line(tight(r.Icon + " " + r.Result))
	if r.Error != "" {
		t = line(t, ": ", foreign(r.Error, m.cell))
	}
	if r.Rounds != "" {
		t = line(t, lineBreak(), tight(r.Rounds))
	}
	if r.Guardrails != nothing {
		checks := tight(r.Guardrails + " guardrails")
		if t = line(t, lineBreak(), checks); r.Rejected {
			t = line(checks)
		}
	}
	for i, name := range r.Failing {
		if i == 3 {
			return line(t, lineBreak(), fmt.Sprintf("and %d more", len(r.Failing)-i))
		}
		t = line(t, lineBreak(), mono(name, m.cell/2))
	}
	return t
}

// commitCell is the commit of an iteration, with what is to know of it.
func (m record) commitCell(it ralph.Iteration, between any) text {
	short := sha(it.Commit.SHA)
	if short == "" {
		return line(nothing)
	}
	if between == nil {
		between = lineBreak()
	}
	t := line(bare(short, 7))
	switch {
	case it.Commit.Pushed || m.Publication.Pushed:
		t = linked(commitURL(m.Report, it.Commit.SHA), t)
	case it.Commit.PushError != "":
		t = line(t, between, tight("not pushed"))
	}
	if it.Commit.Own > 0 {
		t = line(t, between, tight(fmt.Sprintf("+%d by the agent", it.Commit.Own)))
	}
	return t
}

// totals is the row below the table.
func totals(r ralph.Report) row {
	var all []ralph.Turn
	retries := 0
	for _, it := range r.Iterations {
		all = append(all, everyTurn(it)...)
		retries += max(0, len(it.Turns)-1)
	}
	u := r.Usage()
	return row{
		Time: span(r.Duration), Turns: requests(all) + retried(retries), Tools: tools(all),
		Tokens: tokenPair(u.Tokens), Cost: u.Cost.String(),
	}
}

func newest(list []ralph.Iteration, limit int) []ralph.Iteration {
	return list[max(0, len(list)-limit):]
}

// guardrailFailures folds what failed guardrails printed, newest first.
func (m record) guardrailFailures() section {
	list := failures(m.Report)
	if len(list) == 0 {
		return section{}
	}
	s := section{Title: line("Guardrail failures")}
	for i, f := range list {
		if i == m.failures {
			s.Blocks = append(s.Blocks, soft(fmt.Sprintf("%d more are left out here; report.json has them all.", len(list)-i)))
			break
		}
		words, reason := verdictWords(f.Verdict)
		t := line(fmt.Sprintf("Iteration %d: ", f.Iteration), mono(f.Command, m.command), " "+words)
		if reason != "" {
			t = line(t, ": ", foreign(reason, 200))
		}
		if f.Also > 0 {
			t = line(t, fmt.Sprintf(" (the same as in %s)", plural(f.Also, "earlier iteration")))
		}
		s.Blocks = append(s.Blocks, fold(t, m.outputOf(f.Verdict)...))
	}
	return s
}

func (m record) outputOf(v ralph.Verdict) []block {
	text, cut := tail(v.Output, m.output)
	if cut {
		text = "…\n" + text
	}
	output := soft("No output.")
	if strings.TrimSpace(text) != "" {
		output = pre(text)
	}
	facts := line(span(v.Duration))
	if v.LogFile != "" {
		facts = line(facts, " · log: ", mono(v.LogFile, 200))
	}
	return []block{output, para(facts)}
}

// baseline says what was red before the agent touched anything.
func (m record) baseline() section {
	var lines []text
	for _, v := range m.Baseline {
		if v.Passed {
			continue
		}
		if len(lines) == m.list {
			lines = append(lines, line("…and more; report.json has them all."))
			break
		}
		words, _ := verdictWords(v)
		if after := now(m.Report, v.Command); after != "" {
			words += "; it " + after
		}
		lines = append(lines, line(mono(v.Command, m.command), " "+words+"."))
	}
	return listed("Already failing before the run", lines)
}

// iterationLines is the table of the newest iterations for a terminal. Where there
// are steps, they and what they came to take the room of less important columns.
func (m record) iterationLines(o Style) section {
	if len(m.Iterations) == 0 {
		return section{}
	}
	g := grid{Columns: []column{
		{Title: "#", Right: true, Class: "kept"}, {Title: "time", Right: true, Class: "kept"}, {Title: "turns", Right: true}, {Title: "tools", Right: true},
		{Title: "tokens in / out", Right: true}, {Title: "cost", Right: true}, {Title: "files"}, {Title: "guardrails"}, {Title: "commit"}, {Title: "result"},
	}}
	steps := anyStep(m.Iterations)
	if steps {
		g.Columns = slices.Concat(g.Columns[:2], g.Columns[5:6], g.Columns[7:9], []column{{Title: "step"}}, g.Columns[9:])
	}
	for _, it := range newest(m.Iterations, m.rows) {
		r := newRow(it)
		checks, short := r.Guardrails, r.SHA
		if !o.Emoji {
			checks = strings.NewReplacer("✅ ", "ok ", "❌ ", "failed ").Replace(checks)
		}
		if short == "" {
			short = nothing
		}
		cells := []string{r.Number, r.Time, r.Turns, r.Tools, r.Tokens, r.Cost, r.Files, checks, short, r.Result}
		if steps {
			cells = []string{r.Number, r.Time, r.Cost, checks, short, stepWords(it, m.Tasks.SkipReview), r.Result}
		}
		var row []text
		for _, c := range cells {
			row = append(row, line(c))
		}
		g.Rows = append(g.Rows, row)
	}
	s := section{Name: "iterations", Blocks: []block{{Kind: gridBlock, Grid: g}}}
	if note := priceNote(m.Report); note != "" {
		s.Blocks = append(s.Blocks, small(foreign(note, m.line)))
	}
	if n := len(m.Iterations) - m.rows; n > 0 {
		s.Blocks = append(s.Blocks, soft(plural(n, "earlier iteration")+" not shown"))
	}
	return s
}
