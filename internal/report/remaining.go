package report

import (
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/words"
)

// remaining says why the last iteration was not the end.
func (m record) remaining() []doc.Text {
	if len(m.Iterations) == 0 {
		return m.blockers()
	}
	it := m.Iterations[len(m.Iterations)-1]
	lines := m.blockers()
	if f := it.Last().Failure; f != nil && f.Kind == ralph.FailureCancelled {
		lines = append(lines, doc.Line(fmt.Sprintf("Cancelled during %s %d.", unit(m.Report), it.Number)))
	} else if f != nil {
		t := doc.Line("The last turn failed: ", doc.Foreign(f.Kind.String(), m.line))
		if f.Message != "" && !strings.Contains(m.Reason, f.Message) {
			t = doc.Line(t, " – ", doc.Foreign(f.Message, m.line))
		}
		lines = append(lines, t)
		if !f.RetryAt.IsZero() {
			lines = append(lines, doc.Line("The limit resets at "+words.Stamp(f.RetryAt)+"."))
		}
	}
	failed := 0
	for _, v := range it.Verdicts {
		if v.Passed || saysFindings(m.Report, v) {
			continue
		}
		if failed++; failed > m.list {
			lines = append(lines, doc.Line("…and more guardrails."))
			break
		}
		words, reason := words.Failed(v)
		t := doc.Line("Guardrail ", doc.Mono(v.Command, m.line), " "+words)
		if reason != "" {
			t = doc.Line(t, ": ", doc.Foreign(reason, m.line))
		}
		lines = append(lines, doc.Line(t, "."))
	}
	if t := m.rejected(it); len(t) > 0 {
		lines = append(lines, t)
	}
	if words.HasTasks(m.Report) {
		lines = append(lines, m.unfinished()...)
	} else {
		lines = append(lines, m.todos(it.Last().Todos)...)
	}
	if e := it.Commit.PushError; e != "" && !m.Publication.Pushed {
		lines = append(lines, doc.Line("The last commit could not be pushed: ", doc.Foreign(e, m.line)))
	}
	return lines
}

// rejected says why the last iteration did not complete the run; empty when other
// lines do.
func (m record) rejected(it ralph.Iteration) doc.Text {
	t := doc.Line(words.Rejections()[it.Rejection].Left)
	switch e := it.Delivery.Error; {
	case it.Rejection == ralph.RejectedSCM && e != "" && !strings.Contains(m.Reason, e):
		return doc.Line(t, ": ", doc.Foreign(e, m.line))
	case it.Rejection == ralph.RejectedNoMarker && m.Mode == modeSupervise:
		return doc.Line("The task is not marked as done.")
	case it.Rejection == ralph.RejectedNoMarker && it.Stray != "":
		return doc.Line("The agent printed ", doc.Mono(it.Stray, m.line), ", which does not count as done: ", doc.Mono(m.Completion.String(), m.line), " does.")
	case t.Plain() == "":
		return nil
	}
	return t
}

// todos tells what is open in the agent's own list.
func (m record) todos(list []ralph.Todo) []doc.Text {
	var lines []doc.Text
	for _, todo := range list {
		if todo.Status == ralph.TodoDone {
			continue
		}
		if len(lines) == m.list {
			return append(lines, doc.Line("…and more of the agent's own list."))
		}
		lines = append(lines, doc.Line("Open in the agent's own list: ", doc.Foreign(todo.Text, m.line)))
	}
	return lines
}
