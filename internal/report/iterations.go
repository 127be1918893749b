package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/words"
)

// tableName names the section that the page puts the opened iterations behind.
const tableName = "iterations"

// table is a row per iteration and one of totals.
func (m record) table() doc.Section {
	if len(m.Iterations) == 0 {
		return doc.Section{}
	}
	shown := newest(m.Iterations, m.rows)
	names := make([]string, 0, len(shown))
	for _, it := range shown {
		names = append(names, words.StepName(it.Step))
	}
	g := doc.Grid{Columns: []doc.Column{
		{Title: "#", Right: true}, {Title: "Step", Class: "t", Room: doc.Longest(names)}, {Title: "Result", Class: "t"}, {Title: "Time", Right: true}, {Title: "Turns", Right: true}, {Title: "Tools", Right: true},
		{Title: "Tokens in / out", Right: true}, {Title: "Cost", Right: true}, {Title: "Files", Class: "w"}, {Title: "Commit", Class: "w"},
	}}
	cell := doc.Tight
	if words.AnyStep(m.Iterations) {
		cell = func(s string) doc.Part { return doc.Part{Words: s} } // makes room for it
	}
	g.Columns[len(g.Columns)-4].Title = string(doc.Line(cell("Tokens in / out")).Markdown())
	for _, it := range shown {
		r := words.NewRow(it)
		number := doc.Line(r.Number)
		if m.opens {
			number = doc.Line(doc.Jump(iterationID(it.Number), r.Number))
		}
		g.Rows = append(g.Rows, []doc.Text{
			number, doc.Line(doc.Foreign(words.Step(it, m.Tasks.SkipReview), 80)), m.resultCell(r), doc.Line(r.Time), doc.Line(doc.Tight(r.Turns)), doc.Line(cell(r.Tools)), doc.Line(cell(r.Tokens)), doc.Line(doc.Tight(r.Cost)),
			doc.Line(cell(r.Files)), m.commitCell(it, nil),
		})
	}
	total := totals(m.Report)
	g.Total = []doc.Text{nil, nil, doc.Line("Total"), doc.Line(total.Time), doc.Line(doc.Tight(total.Turns)), doc.Line(cell(total.Tools)), doc.Line(cell(total.Tokens)), doc.Line(doc.Tight(total.Cost)), nil, nil}
	s := doc.Section{Name: tableName, Title: doc.Line("Iterations"), Blocks: []doc.Block{{Kind: doc.GridBlock, Grid: g}}}
	if note := priceNote(m.Report); note != "" {
		s.Blocks = append(s.Blocks, doc.Small(doc.Foreign(note, m.line)))
	}
	if n := len(m.Iterations) - len(shown); n > 0 {
		s.Blocks = append(s.Blocks, doc.Soft("The first "+words.Plural(n, "iteration")+" are left out here; report.json has them all."))
	}
	return s
}

// resultCell tells result and guardrails: how many passed, then the names of
// those that failed.
func (m record) resultCell(r words.Row) doc.Text {
	t := doc.Line(doc.Tight(r.Icon + " " + r.Result))
	if r.Error != "" {
		t = doc.Line(t, ": ", doc.Foreign(r.Error, m.cell))
	}
	if r.Rounds != "" {
		t = doc.Line(t, doc.LineBreak(), doc.Tight(r.Rounds))
	}
	if r.Guardrails != doc.Nothing {
		checks := doc.Tight(r.Guardrails + " guardrails")
		if t = doc.Line(t, doc.LineBreak(), checks); r.Rejected {
			t = doc.Line(checks)
		}
	}
	for i, name := range r.Failing {
		if i == 3 {
			return doc.Line(t, doc.LineBreak(), fmt.Sprintf("and %d more", len(r.Failing)-i))
		}
		t = doc.Line(t, doc.LineBreak(), doc.Mono(name, m.cell/2))
	}
	return t
}

// commitCell is the commit of an iteration, with what is to know of it.
func (m record) commitCell(it ralph.Iteration, between any) doc.Text {
	short := words.Sha(it.Commit.SHA)
	if short == "" {
		return doc.Line(doc.Nothing)
	}
	if between == nil {
		between = doc.LineBreak()
	}
	t := doc.Line(doc.Bare(short, 7))
	switch {
	case it.Commit.Pushed || m.Publication.Pushed:
		t = doc.Linked(commitURL(m.Report, it.Commit.SHA), t)
	case it.Commit.PushError != "":
		t = doc.Line(t, between, doc.Tight("not pushed"))
	}
	if it.Commit.Own > 0 {
		t = doc.Line(t, between, doc.Tight(fmt.Sprintf("+%d by the agent", it.Commit.Own)))
	}
	return t
}

// totals is the row below the table.
func totals(r ralph.Report) words.Row {
	var all []ralph.Turn
	retries := 0
	for _, it := range r.Iterations {
		all = append(all, words.EveryTurn(it)...)
		retries += max(0, len(it.Turns)-1)
	}
	u := r.Usage()
	return words.Row{
		Time: words.Span(r.Duration), Turns: words.Requests(all) + words.Retried(retries), Tools: words.Tools(all),
		Tokens: words.TokenPair(u.Tokens), Cost: u.Cost.String(),
	}
}

func newest(list []ralph.Iteration, limit int) []ralph.Iteration {
	return list[max(0, len(list)-limit):]
}

// guardrailFailures folds what failed guardrails printed, newest first.
func (m record) guardrailFailures() doc.Section {
	list := failures(m.Report)
	if len(list) == 0 {
		return doc.Section{}
	}
	s := doc.Section{Title: doc.Line("Guardrail failures")}
	for i, f := range list {
		if i == m.failures {
			s.Blocks = append(s.Blocks, doc.Soft(fmt.Sprintf("%d more are left out here; report.json has them all.", len(list)-i)))
			break
		}
		how, reason := words.Failed(f.Verdict)
		t := doc.Line(fmt.Sprintf("Iteration %d: ", f.Iteration), doc.Mono(f.Command, m.command), " "+how)
		if reason != "" {
			t = doc.Line(t, ": ", doc.Foreign(reason, 200))
		}
		if f.Also > 0 {
			t = doc.Line(t, fmt.Sprintf(" (the same as in %s)", words.Plural(f.Also, "earlier iteration")))
		}
		s.Blocks = append(s.Blocks, doc.Fold(t, m.outputOf(f.Verdict)...))
	}
	return s
}

func (m record) outputOf(v ralph.Verdict) []doc.Block {
	text, cut := doc.Tail(v.Output, m.output)
	if cut {
		text = "…\n" + text
	}
	output := doc.Soft("No output.")
	if strings.TrimSpace(text) != "" {
		output = doc.Pre(text)
	}
	facts := doc.Line(words.Span(v.Duration))
	if v.LogFile != "" {
		facts = doc.Line(facts, " · log: ", doc.Mono(v.LogFile, 200))
	}
	return []doc.Block{output, doc.Para(facts)}
}

// iterationLines is the table of the newest iterations for a terminal. Where there
// are steps, they and what they came to take the room of less important columns.
func (m record) iterationLines(o doc.Style) doc.Section {
	if len(m.Iterations) == 0 {
		return doc.Section{}
	}
	g := doc.Grid{Columns: []doc.Column{
		{Title: "#", Right: true}, {Title: "time", Right: true}, {Title: "turns", Right: true}, {Title: "tools", Right: true},
		{Title: "tokens in / out", Right: true}, {Title: "cost", Right: true}, {Title: "files"}, {Title: "guardrails"}, {Title: "commit"}, {Title: "result"},
	}}
	steps := words.AnyStep(m.Iterations)
	if steps {
		g.Columns = slices.Concat(g.Columns[:2], g.Columns[5:6], g.Columns[7:9], []doc.Column{{Title: "step"}}, g.Columns[9:])
	}
	for _, it := range newest(m.Iterations, m.rows) {
		r := words.NewRow(it)
		checks, short := r.Guardrails, r.SHA
		if !o.Emoji {
			checks = strings.NewReplacer("✅ ", "ok ", "❌ ", "failed ").Replace(checks)
		}
		if short == "" {
			short = doc.Nothing
		}
		cells := []string{r.Number, r.Time, r.Turns, r.Tools, r.Tokens, r.Cost, r.Files, checks, short, r.Result}
		if steps {
			cells = []string{r.Number, r.Time, r.Cost, checks, short, words.Step(it, m.Tasks.SkipReview), r.Result}
		}
		var row []doc.Text
		for _, c := range cells {
			row = append(row, doc.Line(c))
		}
		g.Rows = append(g.Rows, row)
	}
	s := doc.Section{Name: "iterations", Blocks: []doc.Block{{Kind: doc.GridBlock, Grid: g}}}
	if note := priceNote(m.Report); note != "" {
		s.Blocks = append(s.Blocks, doc.Small(doc.Foreign(note, m.line)))
	}
	if n := len(m.Iterations) - m.rows; n > 0 {
		s.Blocks = append(s.Blocks, doc.Soft(words.Plural(n, "earlier iteration")+" not shown"))
	}
	return s
}

// charts draws time and cost of the newest iterations, if there is something to compare.
// Costs of which one is not known are not drawn: half a chart would lie.
func (m record) charts() doc.Section {
	its := newest(m.Iterations, m.points)
	if len(its) < 2 {
		return doc.Section{}
	}
	var longest time.Duration
	var highest ralph.MicroUSD
	unknown := false
	for _, it := range its {
		c := it.Usage().Cost
		longest, highest, unknown = max(longest, it.Duration), max(highest, c.Amount), unknown || c.Unknown
	}
	times, unit := doc.Series{Title: "Time per iteration", Class: "time", Unit: "seconds", Colour: "#3d7ecf"}, time.Second
	switch {
	case longest >= 3*time.Hour:
		times.Unit, unit = "hours", time.Hour
	case longest >= 3*time.Minute:
		times.Unit, unit = "minutes", time.Minute
	}
	costs, money := doc.Series{Title: "Cost per iteration", Class: "cost", Unit: "US dollars", Colour: "#c7762b"}, ralph.USD
	if highest < ralph.USD {
		costs.Unit, money = "US cents", ralph.USD/100
	}
	if m.Usage().Cost.Estimated {
		costs.Title += ", estimated"
	}
	for _, it := range its {
		times.Add(it.Number, float64(it.Duration)/float64(unit))
		costs.Add(it.Number, float64(it.Usage().Cost.Amount)/float64(money))
	}
	s := doc.Section{Title: doc.Line("Time and cost"), Blocks: []doc.Block{{Kind: doc.ChartBlock, Chart: times.Scaled()}}}
	switch {
	case !unknown && highest > 0:
		s.Blocks = append(s.Blocks, doc.Block{Kind: doc.ChartBlock, Chart: costs.Scaled()})
	case m.Usage().Cost.Unknown:
		s.Blocks = append(s.Blocks, doc.Soft("No cost chart: the cost of some iterations is unknown."))
	}
	return s
}

// deliveries are the iterations in which SCM tasks ran or should have.
func deliveries(r ralph.Report) []ralph.Iteration {
	var list []ralph.Iteration
	for _, it := range r.Iterations {
		if len(it.Delivery.Tasks) > 0 || it.Delivery.Error != "" {
			list = append(list, it)
		}
	}
	return list
}

// undone says why a delivery failed when no task of it tells: there was no
// commit message. Foreign text.
func undone(d ralph.Delivery) string {
	if n := len(d.Tasks); n > 0 && d.Tasks[n-1].ExitCode != 0 {
		return ""
	}
	return d.Error
}

const taskRows = 20 // of one iteration

// scm tells the SCM tasks by iteration, newest last, and folds what those that
// failed printed.
func (m record) scm() doc.Section {
	all := deliveries(m.Report)
	if len(all) == 0 {
		return doc.Section{}
	}
	shown := newest(all, m.list)
	var lines []doc.Text
	var folded []doc.Block
	for _, it := range shown {
		var parts []doc.Text
		for _, t := range it.Delivery.Tasks[:min(taskRows, len(it.Delivery.Tasks))] {
			part := doc.Line(doc.Tight(check(t.ExitCode == 0)+" "), doc.Mono(t.Command, m.command))
			if t.ExitCode != 0 {
				part = doc.Line(part, " "+words.Exit(t.ExitCode))
			}
			parts = append(parts, part)
			if t.ExitCode == 0 || len(folded) >= m.failures {
				continue
			}
			if output, _ := doc.Tail(t.Output, m.output); strings.TrimSpace(output) != "" {
				folded = append(folded, doc.Fold(doc.Line(fmt.Sprintf("Iteration %d: ", it.Number), doc.Mono(t.Command, m.command), " "+words.Exit(t.ExitCode)), doc.Pre(output)))
			}
		}
		if why := undone(it.Delivery); why != "" {
			parts = append(parts, doc.Line(doc.Tight("❌ "), doc.Foreign(why, m.line)))
		}
		lines = append(lines, doc.Line(fmt.Sprintf("Iteration %d: ", it.Number), doc.Joined(parts, ", ")))
	}
	s := listed("SCM tasks", lines)
	if n := len(all) - len(shown); n > 0 {
		s.Blocks = append(s.Blocks, doc.Soft("Those of "+words.Plural(n, "iteration")+" before are left out here; report.json has them all."))
	}
	s.Blocks = append(s.Blocks, folded...)
	return s
}

// taskLines tells the newest SCM tasks on a terminal, one line for each.
func (m record) taskLines(o doc.Style) doc.Section {
	var lines []doc.Text
	add := func(it ralph.Iteration, mark doc.Sign, parts ...any) {
		lines = append(lines, doc.Line(fmt.Sprintf("%d  %s ", it.Number, o.Sign(mark)), doc.Line(parts...)))
	}
	for _, it := range deliveries(m.Report) {
		for _, t := range it.Delivery.Tasks {
			mark := doc.Ok
			if t.ExitCode != 0 {
				mark = doc.Bad
			}
			add(it, mark, doc.Bare(t.Command, m.command), " ("+words.Exit(t.ExitCode)+")")
		}
		if why := undone(it.Delivery); why != "" {
			add(it, doc.Bad, doc.Foreign(why, 300))
		}
	}
	if len(lines) == 0 {
		return doc.Section{}
	}
	if n := len(lines) - m.rows; n > 0 {
		lines = append([]doc.Text{doc.Line(words.Plural(n, "earlier task") + " not shown")}, lines[n:]...)
	}
	return doc.Section{Title: doc.Line("SCM tasks"), Blocks: []doc.Block{{Kind: doc.LinesBlock, Lines: lines}}}
}
