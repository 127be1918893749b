package agent

import (
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

func (d *claudeDecoder) toolStart(b block, echo bool) {
	name := str(b.name, maxName)
	if !d.started(str(b.id, maxName), name, inputSummary(name, b.input), echo) {
		return
	}
	if name == "TodoWrite" && !echo {
		if d.todos.write(fields(b.input, "todos")["todos"]) {
			d.emitTodos()
		}
	}
}

func (d *claudeDecoder) toolEnd(b block, structured []byte, echo bool) {
	failed := isTrue(b.isErr)
	name := d.ended(str(b.id, maxName), d.resultOf(b.content), failed, echo)
	if !echo && !failed && d.todos.apply(name, structured) {
		d.emitTodos()
	}
}

func (d *claudeDecoder) emitTodos() {
	d.emit(ralph.Event{Kind: ralph.EventTodo, At: time.Now(), Todos: d.todos.list()})
}

// resultOf is the text of a tool result: a string, or a list of text and other
// blocks.
func (d *claudeDecoder) resultOf(content []byte) output {
	o := d.output()
	if o.addString(content) {
		return o
	}
	for i, b := range scanBlocks(&scanner{b: content}, nil) {
		if i > 0 {
			o.add([]byte(`\n`))
		}
		if kind := str(b.kind, maxName); kind != "text" {
			o.add([]byte("[" + kind + "]"))
		} else {
			o.addString(b.text)
		}
	}
	return o
}

// summaryKeys are the inputs that say best what a tool call is about, best
// first.
func summaryKeys() []string {
	return []string{"file_path", "notebook_path", "command", "pattern", "url", "query", "subject", "description", "skill", "path", "prompt"}
}

// inputSummary puts the input of a tool call into one line.
func inputSummary(tool string, input []byte) string {
	v := fields(input, append(summaryKeys(), "taskId", "status")...)
	switch tool {
	case "TodoWrite":
		return "" // the list itself follows as an event
	case "TaskUpdate", "TaskGet":
		return oneLine("#" + str(v["taskId"], maxName) + " " + str(v["status"], maxName))
	}
	for _, key := range summaryKeys() {
		if s := oneLine(str(v[key], 4*maxMessage)); s != "" {
			return s
		}
	}
	if space(input, 0) == len(input) || string(input) == "{}" {
		return ""
	}
	return oneLine(valid(input[:min(len(input), 4*maxMessage)]))
}

// todoList is the agent's own task list, kept up to date from TodoWrite (older
// CLIs) or the results of TaskCreate, TaskUpdate and TaskList.
type todoList struct {
	ids   []string
	todos []ralph.Todo
}

func (l *todoList) list() []ralph.Todo { return append([]ralph.Todo(nil), l.todos...) }

// write replaces the list by TodoWrite's input.
func (l *todoList) write(todos []byte) bool { return l.replace(todos, "content") }

// apply follows the structured result of a task tool and says whether the list
// changed.
func (l *todoList) apply(tool string, result []byte) bool {
	switch tool {
	case "TaskCreate":
		task := fields(fields(result, "task")["task"], "id", "subject")
		if !isSet(task["id"]) || len(l.ids) >= maxOpen {
			return false
		}
		l.add(str(task["id"], maxName), task["subject"], nil)
		return true
	case "TaskUpdate":
		v := fields(result, "taskId", "statusChange")
		return l.update(str(v["taskId"], maxName), str(fields(v["statusChange"], "to")["to"], maxName))
	case "TaskList":
		tasks := fields(result, "tasks")["tasks"]
		return isSet(tasks) && l.replace(tasks, "subject")
	}
	return false
}

func (l *todoList) replace(todos []byte, textKey string) bool {
	c := scanner{b: todos}
	if !c.at('[') {
		return false
	}
	l.ids, l.todos = l.ids[:0], l.todos[:0]
	c.array(func() {
		v := fields(c.value(), "id", textKey, "status")
		if len(l.ids) < maxOpen {
			l.add(str(v["id"], maxName), v[textKey], v["status"])
		}
	})
	return true
}

func (l *todoList) add(id string, text, status []byte) {
	l.ids = append(l.ids, id)
	l.todos = append(l.todos, ralph.Todo{Text: oneLine(str(text, 4*maxMessage)), Status: todoStatus(str(status, maxName))})
}

func (l *todoList) update(id, status string) bool {
	for i := range l.ids {
		if l.ids[i] != id || status == "" {
			continue
		}
		if status == "deleted" {
			l.ids = append(l.ids[:i], l.ids[i+1:]...)
			l.todos = append(l.todos[:i], l.todos[i+1:]...)
		} else {
			l.todos[i].Status = todoStatus(status)
		}
		return true
	}
	return false
}

func todoStatus(s string) ralph.TodoStatus {
	switch s {
	case "in_progress":
		return ralph.TodoActive
	case "completed":
		return ralph.TodoDone
	default:
		return ralph.TodoPending
	}
}
