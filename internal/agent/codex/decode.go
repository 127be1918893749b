package codex

import (
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

// decoder turns the JSON lines of `codex exec --json` (seen: 0.169.0) into
// events. Only agent_message items are the agent's words: reasoning, what
// commands print and what subagents are told may hold the marker too.
type decoder struct {
	driver.Stream
	done   bool   // a turn.completed or turn.failed was there
	failed string // message of turn.failed
	last   string // message of the last error, fatal or not
	waits  int    // for the network, in a row
}

func newDecoder(emit func(ralph.Event), finished func()) *decoder {
	d := &decoder{Stream: driver.NewStream("codex", emit, finished)}
	d.ReadLines(d.line, "thread_id", "item", "usage", "error", "message")
	return d
}

func (d *decoder) line(v map[string][]byte, kind string, partial bool) {
	if partial && !strings.HasPrefix(kind, "item.") {
		return
	}
	if kind != "error" && !partial {
		d.waits = 0
	}
	switch kind {
	case "thread.started":
		d.Told.Session = driver.NameOf(v["thread_id"])
	case "turn.started":
		d.failed = ""
	case "item.started", "item.updated", "item.completed":
		d.item(kind, v["item"], partial)
	case "turn.completed":
		d.done, d.failed = true, ""
		d.usage(v["usage"])
		d.Finished()
	case "turn.failed":
		d.failed = driver.LineOf(jsonscan.Field(v["error"], "message"))
		if d.failed == "" {
			d.failed = "codex reported a failure without a text"
		}
		d.done = true
		d.Finished()
	case "error": // most of them announce another attempt
		d.last = driver.LineOf(v["message"])
		d.Progress(d.last)
		d.retry(d.last)
	default:
		if !partial {
			d.Told.Unknown++
		}
	}
}

// usage counts the tokens of the thread so far. input_tokens holds those that
// were read from the cache, output_tokens those of the reasoning.
func (d *decoder) usage(b []byte) {
	if !jsonscan.IsSet(b) {
		return
	}
	v := jsonscan.Fields(b, "input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens")
	d.Told.Usage.Tokens = driver.TokensWithCache(v["input_tokens"], v["cached_input_tokens"], v["cache_write_input_tokens"], v["output_tokens"])
}

// item follows one item of the thread. Of one that is partial, what it says is
// shown but not searched.
func (d *decoder) item(event string, b []byte, partial bool) {
	v := jsonscan.Fields(b, "id", "type", "text", "message", "command", "aggregated_output", "exit_code", "status",
		"changes", "server", "tool", "arguments", "result", "error", "query", "prompt", "items")
	id, kind := driver.NameOf(v["id"]), driver.NameOf(v["type"])
	failed := driver.NameOf(v["status"]) == "failed"
	completed := event == "item.completed"
	switch kind {
	case "agent_message":
		if completed {
			d.Text(v["text"], d.message(id), partial)
		}
	case "reasoning", "error":
		if completed {
			d.Progress(driver.OneLine(jsonscan.String(v["text"], 4*driver.MaxMessage) + jsonscan.String(v["message"], 4*driver.MaxMessage)))
		}
	case "todo_list":
		d.todos(v["items"])
	case "command_execution":
		d.tool(event, id, "shell", v["command"], v, failed || jsonscan.IsSet(v["exit_code"]) && jsonscan.Number(v["exit_code"]) != 0)
	case "file_change":
		d.tool(event, id, kind, nil, v, failed)
	case "mcp_tool_call":
		d.tool(event, id, driver.NameOf(v["server"])+"."+driver.NameOf(v["tool"]), v["arguments"], v, failed || jsonscan.IsSet(v["error"]))
	case "web_search":
		d.tool(event, id, kind, v["query"], v, failed)
	case "collab_tool_call": // a subagent's; its words never come
		d.tool(event, id, driver.NameOf(v["tool"]), v["prompt"], v, failed)
	default:
		if !partial {
			d.Told.Unknown++
		}
	}
}

// message is the id of a text; codex numbers its items.
func (d *decoder) message(id string) string {
	if id == "" {
		return "line " + strconv.Itoa(d.Count)
	}
	return id
}

// tool reports a call that began or ended. One may end without having begun,
// and one that began may never end.
func (d *decoder) tool(event, id, name string, input []byte, v map[string][]byte, failed bool) {
	if event == "item.updated" {
		return
	}
	if _, running := d.Open[id]; !running || id == "" {
		d.ToolStarted(id, driver.Clip(name, driver.MaxName), driver.ArgumentSummary(input, v["changes"]), false)
	}
	if event != "item.completed" {
		return
	}
	o := d.Output()
	switch {
	case o.AddString(v["aggregated_output"]):
	case jsonscan.IsSet(v["error"]):
		o.AddString(jsonscan.Field(v["error"], "message"))
	default:
		for i, b := range driver.ScanBlocks(jsonscan.New(jsonscan.Field(v["result"], "content")), nil) {
			if i > 0 {
				o.Add([]byte(`\n`))
			}
			o.AddString(b.Text)
		}
	}
	d.ToolEnded(id, o, failed, false)
}

// todos reports the agent's own task list. It has two states: the first entry
// that is not completed is the one at hand.
func (d *decoder) todos(items []byte) {
	c := jsonscan.New(items)
	if !c.At('[') {
		return
	}
	var todos []ralph.Todo
	active := false
	c.Array(func() {
		v := jsonscan.Fields(c.Value(), "text", "completed")
		if len(todos) >= driver.MaxOpen {
			return
		}
		t := ralph.Todo{Text: driver.LineOf(v["text"])}
		switch {
		case jsonscan.IsTrue(v["completed"]):
			t.Status = ralph.TodoDone
		case !active:
			t.Status, active = ralph.TodoActive, true
		}
		todos = append(todos, t)
	})
	d.Emit(ralph.Event{Kind: ralph.EventTodo, At: time.Now(), Todos: todos})
}

// Done says that the turn was completed or has failed.
func (d *decoder) Done() bool { return d.done }

// LastWords are those on stderr or, of a codex that was ended, its last error.
func (d *decoder) LastWords() string {
	if s := d.Stream.LastWords(); s != "" {
		return s
	}
	return d.last
}

// Failure is what went wrong by codex's own word; nil when the turn went well.
func (d *decoder) Failure(exit int) *ralph.Failure {
	switch {
	case d.failed != "":
		return d.WithHint(&ralph.Failure{Kind: failureKind(d.failed), Message: messageOf(d.failed)})
	case !d.done && d.Lost != nil:
		return d.Lost
	case !d.done:
		return d.Unfinished(exit, d.LastWords())
	}
	return d.FinishedWell(exit, d.LastWords())
}
