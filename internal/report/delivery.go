package report

import (
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/words"
)

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

// taskIcon is the sign of an SCM task.
func taskIcon(t ralph.Task) string {
	if t.ExitCode == 0 {
		return "✅"
	}
	return "❌"
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
			part := doc.Line(doc.Tight(taskIcon(t)+" "), doc.Mono(t.Command, m.command))
			if t.ExitCode != 0 {
				part = doc.Line(part, " "+words.Exit(t.ExitCode))
			}
			parts = append(parts, part)
			if output, _ := doc.Tail(t.Output, m.output); t.ExitCode != 0 && strings.TrimSpace(output) != "" && len(folded) < m.failures {
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
