package report

import (
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// remaining says why the last iteration was not the end.
func (m record) remaining() []text {
	if len(m.Iterations) == 0 {
		return m.blockers()
	}
	it := m.Iterations[len(m.Iterations)-1]
	lines := m.blockers()
	if f := it.Last().Failure; f != nil {
		t := line("The last turn went wrong: ", foreign(f.Kind.String(), m.line))
		if f.Message != "" && !strings.Contains(m.Reason, f.Message) {
			t = line(t, " – ", foreign(f.Message, m.line))
		}
		lines = append(lines, t)
		if !f.RetryAt.IsZero() {
			lines = append(lines, line("The limit resets at "+stamp(f.RetryAt)+"."))
		}
	}
	failed := 0
	for _, v := range it.Verdicts {
		if v.Passed {
			continue
		}
		if failed++; failed > m.list {
			lines = append(lines, line("…and more guardrails."))
			break
		}
		words, reason := verdictWords(v)
		t := line("Guardrail ", mono(v.Command, m.line), " "+words)
		if reason != "" {
			t = line(t, ": ", foreign(reason, m.line))
		}
		lines = append(lines, line(t, "."))
	}
	if t := m.rejected(it); len(t) > 0 {
		lines = append(lines, t)
	}
	if hasTasks(m.Report) {
		lines = append(lines, m.unfinished()...)
	} else {
		lines = append(lines, m.todos(it.Last().Todos)...)
	}
	if e := it.Commit.PushError; e != "" && !m.Publication.Pushed {
		lines = append(lines, line("The last commit could not be pushed: ", foreign(e, m.line)))
	}
	return lines
}

// rejected says why the last iteration did not complete the run; empty when other
// lines do.
func (m record) rejected(it ralph.Iteration) text {
	t := line(rejections()[it.Rejection].left)
	switch e := it.Delivery.Error; {
	case it.Rejection == ralph.RejectedSCM && e != "" && !strings.Contains(m.Reason, e):
		return line(t, ": ", foreign(e, m.line))
	case it.Rejection == ralph.RejectedNoMarker && m.Mode == modeSupervise:
		return line("The task is not marked as done.")
	case it.Rejection == ralph.RejectedNoMarker && it.Stray != "":
		return line("The agent printed ", mono(it.Stray, m.line), ", which does not count as done: ", mono(m.Completion.String(), m.line), " does.")
	case t.plain() == "":
		return nil
	}
	return t
}

// todos tells what is open in the agent's own list.
func (m record) todos(list []ralph.Todo) []text {
	var lines []text
	for _, todo := range list {
		if todo.Status == ralph.TodoDone {
			continue
		}
		if len(lines) == m.list {
			return append(lines, line("…and more of the agent's own list."))
		}
		lines = append(lines, line("Open in the agent's own list: ", foreign(todo.Text, m.line)))
	}
	return lines
}
