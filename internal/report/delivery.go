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
func (m markdown) scm() string {
	all := deliveries(m.Report)
	if len(all) == 0 {
		return ""
	}
	shown := newest(all, m.list)
	var lines []string
	var folded strings.Builder
	failed := 0
	for _, it := range shown {
		var parts []string
		for _, t := range it.Delivery.Tasks[:min(taskRows, len(it.Delivery.Tasks))] {
			part := taskIcon(t) + "\u00a0" + code(t.Command, 120)
			if t.ExitCode != 0 {
				part += " " + exitWords(t.ExitCode)
			}
			parts = append(parts, part)
			if text, _ := tail(t.Output, m.output); t.ExitCode != 0 && strings.TrimSpace(text) != "" && failed < m.failures {
				failed++
				folded.WriteString(details(fmt.Sprintf("Iteration %d: <code>%s</code> %s", it.Number, htmlText(t.Command, 120), exitWords(t.ExitCode)), fence(text)) + "\n")
			}
		}
		if why := undone(it.Delivery); why != "" {
			parts = append(parts, "❌\u00a0"+inline(why, m.line))
		}
		lines = append(lines, fmt.Sprintf("Iteration %d: %s", it.Number, strings.Join(parts, ", ")))
	}
	text := "### SCM tasks\n\n" + bullets(lines)
	if n := len(all) - len(shown); n > 0 {
		text += fmt.Sprintf("\n_Those of %s before are left out here; report.json has them all._\n", plural(n, "iteration"))
	}
	if folded.Len() > 0 {
		text += "\n" + folded.String()
	}
	return text
}

// textTasks tells the newest SCM tasks on a terminal, one line for each.
func textTasks(f *Formatter, r ralph.Report) []string {
	var lines []string
	for _, it := range deliveries(r) {
		for _, t := range it.Delivery.Tasks {
			mark := f.sign(ok)
			if t.ExitCode != 0 {
				mark = f.sign(bad)
			}
			lines = append(lines, fmt.Sprintf("  %d  %s %s (%s)", it.Number, mark, oneLine(t.Command, 200), exitWords(t.ExitCode)))
		}
		if why := undone(it.Delivery); why != "" {
			lines = append(lines, fmt.Sprintf("  %d  %s %s", it.Number, f.sign(bad), oneLine(why, 300)))
		}
	}
	if n := len(lines) - textRows; n > 0 {
		lines = append([]string{"  " + plural(n, "earlier task") + " not shown"}, lines[n:]...)
	}
	return lines
}

type pageDelivery struct {
	Number int
	Tasks  []pageTask
	Error  string
}

type pageTask struct {
	Icon, Command, Words, Output, In string
}

func pageDeliveries(r ralph.Report, limit bounds) (list []pageDelivery, earlier int) {
	all := deliveries(r)
	shown := newest(all, limit.list)
	failed := 0
	for _, it := range shown {
		d := pageDelivery{Number: it.Number}
		for _, t := range it.Delivery.Tasks[:min(taskRows, len(it.Delivery.Tasks))] {
			pt := pageTask{Icon: taskIcon(t), Command: oneLine(t.Command, 300)}
			if t.ExitCode != 0 {
				pt.Words, pt.In = exitWords(t.ExitCode), fmt.Sprintf("iteration %d", it.Number)
				if failed++; failed <= limit.failures {
					pt.Output, _ = tail(t.Output, limit.output)
				}
			}
			d.Tasks = append(d.Tasks, pt)
		}
		if why := undone(it.Delivery); why != "" {
			d.Error = "❌ " + oneLine(why, limit.line)
			if len(d.Tasks) > 0 {
				d.Error = ", " + d.Error
			}
		}
		list = append(list, d)
	}
	return list, len(all) - len(shown)
}
