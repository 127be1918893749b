package driver

import (
	"strings"

	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

// Block is one content block of a message.
type Block struct {
	Kind, Text, ID, Name, Input, Content, IsError []byte
}

// ScanBlocks appends the blocks of the content that follows, which may be a
// plain string instead: then there are none.
func ScanBlocks(s *jsonscan.Scanner, blocks []Block) []Block {
	if !s.At('[') {
		s.Value()
		return blocks
	}
	s.Array(func() {
		if !s.At('{') {
			s.Value()
			return
		}
		var b Block
		s.Object(func(key []byte) {
			value := s.Value()
			switch string(key) {
			case "type":
				b.Kind = value
			case "text":
				b.Text = value
			case "id", "tool_use_id":
				b.ID = value
			case "name":
				b.Name = value
			case "input":
				b.Input = value
			case "content":
				b.Content = value
			case "is_error":
				b.IsError = value
			}
		})
		if len(blocks) < maxBlocks {
			blocks = append(blocks, b)
		}
	})
	return blocks
}

// summaryKeys are the inputs that say best what a tool call is about, best
// first.
func summaryKeys() []string {
	return []string{"file_path", "notebook_path", "command", "pattern", "url", "query", "subject", "description", "skill", "path", "prompt"}
}

// InputSummary puts the input of a tool call into one line.
func InputSummary(tool string, input []byte) string {
	v := jsonscan.Fields(input, append(summaryKeys(), "taskId", "status")...)
	switch tool {
	case "TodoWrite":
		return "" // the list itself follows as an event
	case "TaskUpdate", "TaskGet":
		return OneLine("#" + NameOf(v["taskId"]) + " " + NameOf(v["status"]))
	}
	for _, key := range summaryKeys() {
		if s := LineOf(v[key]); s != "" {
			return s
		}
	}
	if jsonscan.Blank(input) || string(input) == "{}" {
		return ""
	}
	return OneLine(jsonscan.Valid(input[:min(len(input), 4*MaxMessage)]))
}

// Todos is the agent's own task list, kept up to date from TodoWrite (older
// CLIs) or the results of TaskCreate, TaskUpdate and TaskList.
type Todos struct {
	ids   []string
	todos []ralph.Todo
}

// List is a copy of the list as it is now.
func (l *Todos) List() []ralph.Todo { return append([]ralph.Todo(nil), l.todos...) }

// Write replaces the list by TodoWrite's input.
func (l *Todos) Write(todos []byte) bool { return l.Replace(todos, "content") }

// Apply follows the structured result of a task tool and says whether the list
// changed.
func (l *Todos) Apply(tool string, result []byte) bool {
	switch tool {
	case "TaskCreate":
		task := jsonscan.Fields(jsonscan.Field(result, "task"), "id", "subject")
		if !jsonscan.IsSet(task["id"]) || len(l.ids) >= MaxOpen {
			return false
		}
		l.add(NameOf(task["id"]), task["subject"], nil)
		return true
	case "TaskUpdate":
		v := jsonscan.Fields(result, "taskId", "statusChange")
		return l.update(NameOf(v["taskId"]), NameOf(jsonscan.Field(v["statusChange"], "to")))
	case "TaskList":
		tasks := jsonscan.Field(result, "tasks")
		return jsonscan.IsSet(tasks) && l.Replace(tasks, "subject")
	}
	return false
}

// Replace takes a JSON list of todos whose text is under textKey, and reports whether it is one.
func (l *Todos) Replace(todos []byte, textKey string) bool {
	c := jsonscan.New(todos)
	if !c.At('[') {
		return false
	}
	l.ids, l.todos = l.ids[:0], l.todos[:0]
	c.Array(func() {
		v := jsonscan.Fields(c.Value(), "id", textKey, "status")
		if len(l.ids) < MaxOpen {
			l.add(NameOf(v["id"]), v[textKey], v["status"])
		}
	})
	return true
}

func (l *Todos) add(id string, text, status []byte) {
	l.ids = append(l.ids, id)
	l.todos = append(l.todos, ralph.Todo{Text: LineOf(text), Status: todoStatus(NameOf(status))})
}

func (l *Todos) update(id, status string) bool {
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

// ArgumentSummary puts the input of a call into one line: a command, a question,
// arguments, or the files that change.
func ArgumentSummary(input, changes []byte) string {
	var files []string
	if c := jsonscan.New(changes); c.At('[') {
		c.Array(func() {
			v := jsonscan.Fields(c.Value(), "path", "kind")
			if len(files) < MaxName {
				files = append(files, NameOf(v["kind"])+" "+jsonscan.String(v["path"], MaxMessage))
			}
		})
		return OneLine(strings.Join(files, ", "))
	}
	if _, ok := jsonscan.Inner(input); ok {
		return LineOf(input)
	}
	if !jsonscan.IsSet(input) || string(input) == "{}" {
		return ""
	}
	return OneLine(jsonscan.Valid(input[:min(len(input), 4*MaxMessage)]))
}
