package report

import (
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// wording puts foreign text into a document: as Markdown or as it is.
type wording interface {
	words(s string, limit int) string
	code(s string, limit int) string
}

type markdownWords struct{}

func (markdownWords) words(s string, limit int) string { return inline(s, limit) }
func (markdownWords) code(s string, limit int) string  { return code(s, limit) }

type plainWords struct{}

func (plainWords) words(s string, limit int) string { return oneLine(s, limit) }
func (plainWords) code(s string, limit int) string  { return "'" + oneLine(s, limit) + "'" }

// remaining says why the last iteration was not the end.
func remaining(r ralph.Report, limit bounds, w wording) []string {
	if len(r.Iterations) == 0 {
		return blockers(r, limit, w)
	}
	it := r.Iterations[len(r.Iterations)-1]
	lines := blockers(r, limit, w)
	if f := it.Last().Failure; f != nil {
		text := "The last turn went wrong: " + w.words(f.Kind.String(), limit.line)
		if f.Message != "" && !strings.Contains(r.Reason, f.Message) {
			text += " – " + w.words(f.Message, limit.line)
		}
		lines = append(lines, text)
		if !f.RetryAt.IsZero() {
			lines = append(lines, "The limit resets at "+stamp(f.RetryAt)+".")
		}
	}
	told := 0
	for _, v := range it.Verdicts {
		if v.Passed || saysFindings(r, v) {
			continue
		}
		if told++; told > limit.list {
			lines = append(lines, "…and more guardrails.")
			break
		}
		text, reason := verdictWords(v)
		line := "Guardrail " + w.code(v.Command, limit.line) + " " + text
		if reason != "" {
			line += ": " + w.words(reason, limit.line)
		}
		lines = append(lines, line+".")
	}
	switch it.Rejection {
	case ralph.RejectedSCM:
		text := "The SCM tasks failed"
		if e := it.Delivery.Error; e != "" && !strings.Contains(r.Reason, e) {
			text += ": " + w.words(e, limit.line)
		}
		lines = append(lines, text)
	case ralph.RejectedStopped:
		lines = append(lines, "The run was stopped before every check had its say.")
	case ralph.RejectedTransition:
		lines = append(lines, "The last iteration changed the task list as it may not; it was put back.")
	case ralph.RejectedStuck:
		lines = append(lines, "The last review came to no verdict that counts.")
	case ralph.RejectedNoMarker:
		if r.Mode == modeSupervise {
			lines = append(lines, "The task is not marked as done.")
			break
		}
		if it.Stray != "" {
			lines = append(lines, "The agent printed "+w.code(it.Stray, limit.line)+", which does not count as done: "+w.code(r.Completion.String(), limit.line)+" does.")
			break
		}
		lines = append(lines, "The agent did not say that it was done.")
	case ralph.RejectedChecks:
		lines = append(lines, "The checks of the pushed commit failed.")
	case ralph.RejectedNoWork:
		lines = append(lines, "The agent said that it was done, but there is no sign of work.")
	}
	if hasTasks(r) {
		lines = append(lines, unfinished(r.Tasks, limit, w)...)
	} else {
		lines = append(lines, todos(it.Last().Todos, limit, w)...)
	}
	if e := it.Commit.PushError; e != "" && !r.Publication.Pushed {
		lines = append(lines, "The last commit could not be pushed: "+w.words(e, limit.line))
	}
	return lines
}

// todos tells what is open in the agent's own list.
func todos(list []ralph.Todo, limit bounds, w wording) []string {
	var lines []string
	for _, todo := range list {
		if todo.Status == ralph.TodoDone {
			continue
		}
		if len(lines) == limit.list {
			return append(lines, "…and more of the agent's own list.")
		}
		lines = append(lines, "Open in the agent's own list: "+w.words(todo.Text, limit.line))
	}
	return lines
}
