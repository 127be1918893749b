package streamjson

import (
	"time"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

func (d *Decoder) toolStart(b driver.Block, echo bool) {
	name := driver.NameOf(b.Name)
	if !d.ToolStarted(driver.NameOf(b.ID), name, driver.InputSummary(name, b.Input), echo) {
		return
	}
	if name == "TodoWrite" && !echo {
		if d.todos.Write(jsonscan.Field(b.Input, "todos")) {
			d.emitTodos()
		}
	}
}

func (d *Decoder) toolEnd(b driver.Block, structured []byte, echo bool) {
	failed := jsonscan.IsTrue(b.IsError)
	name := d.ToolEnded(driver.NameOf(b.ID), d.resultOf(b.Content), failed, echo)
	if !echo && !failed && d.todos.Apply(name, structured) {
		d.emitTodos()
	}
}

func (d *Decoder) emitTodos() {
	d.Emit(ralph.Event{Kind: ralph.EventTodo, At: time.Now(), Todos: d.todos.List()})
}

// resultOf is the text of a tool result: a string, or a list of text and other
// blocks.
func (d *Decoder) resultOf(content []byte) driver.Output {
	o := d.Output()
	if o.AddString(content) {
		return o
	}
	for i, b := range driver.ScanBlocks(jsonscan.New(content), nil) {
		if i > 0 {
			o.Add([]byte(`\n`))
		}
		if kind := driver.NameOf(b.Kind); kind != "text" {
			o.Add([]byte("[" + kind + "]"))
		} else {
			o.AddString(b.Text)
		}
	}
	return o
}
