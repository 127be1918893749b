package report

import (
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
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
func (m record) scm() section {
	all := deliveries(m.Report)
	if len(all) == 0 {
		return section{}
	}
	shown := newest(all, m.list)
	var lines []text
	var folded []block
	for _, it := range shown {
		var parts []text
		for _, t := range it.Delivery.Tasks[:min(taskRows, len(it.Delivery.Tasks))] {
			part := line(tight(taskIcon(t)+" "), mono(t.Command, m.command))
			if t.ExitCode != 0 {
				part = line(part, " "+exitWords(t.ExitCode))
			}
			parts = append(parts, part)
			if output, _ := tail(t.Output, m.output); t.ExitCode != 0 && strings.TrimSpace(output) != "" && len(folded) < m.failures {
				folded = append(folded, fold(line(fmt.Sprintf("Iteration %d: ", it.Number), mono(t.Command, m.command), " "+exitWords(t.ExitCode)), pre(output)))
			}
		}
		if why := undone(it.Delivery); why != "" {
			parts = append(parts, line(tight("❌ "), foreign(why, m.line)))
		}
		lines = append(lines, line(fmt.Sprintf("Iteration %d: ", it.Number), joined(parts, ", ")))
	}
	s := listed("SCM tasks", lines)
	if n := len(all) - len(shown); n > 0 {
		s.Blocks = append(s.Blocks, soft("Those of "+plural(n, "iteration")+" before are left out here; report.json has them all."))
	}
	s.Blocks = append(s.Blocks, folded...)
	return s
}

// taskLines tells the newest SCM tasks on a terminal, one line for each.
func (m record) taskLines(o Style) section {
	var lines []text
	add := func(it ralph.Iteration, mark sign, parts ...any) {
		lines = append(lines, line(fmt.Sprintf("%d  %s ", it.Number, o.sign(mark)), line(parts...)))
	}
	for _, it := range deliveries(m.Report) {
		for _, t := range it.Delivery.Tasks {
			mark := ok
			if t.ExitCode != 0 {
				mark = bad
			}
			add(it, mark, bare(t.Command, m.command), " ("+exitWords(t.ExitCode)+")")
		}
		if why := undone(it.Delivery); why != "" {
			add(it, bad, foreign(why, 300))
		}
	}
	if len(lines) == 0 {
		return section{}
	}
	if n := len(lines) - m.rows; n > 0 {
		lines = append([]text{line(plural(n, "earlier task") + " not shown")}, lines[n:]...)
	}
	return section{Title: line("SCM tasks"), Blocks: []block{{Kind: linesBlock, Lines: lines}}}
}
