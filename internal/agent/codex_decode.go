package agent

import (
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// codexDecoder turns the JSON lines of `codex exec --json` (seen: 0.169.0) into
// events. Only agent_message items are the agent's words: reasoning, what
// commands print and what subagents are told may hold the marker too.
type codexDecoder struct {
	common
	done   bool   // a turn.completed or turn.failed was there
	failed string // message of turn.failed
	last   string // message of the last error, fatal or not
	waits  int    // for the network, in a row
}

func newCodexDecoder(emit func(ralph.Event), finished func()) *codexDecoder {
	d := &codexDecoder{common: newCommon("codex", emit, finished)}
	d.out = lines{limit: maxLine, line: d.decode}
	return d
}

// codexLine is what is needed of one line.
type codexLine struct{ kind, thread, item, usage, err, message []byte }

func (d *codexDecoder) decode(b []byte, cut bool) {
	b, blank := d.next(b)
	if blank {
		return
	}
	var l codexLine
	s := scanner{b: b}
	s.object(func(key []byte) {
		value := s.value()
		switch string(key) {
		case "type":
			l.kind = value
		case "thread_id":
			l.thread = value
		case "item":
			l.item = value
		case "usage":
			l.usage = value
		case "error":
			l.err = value
		case "message":
			l.message = value
		}
	})
	kind := str(l.kind, maxName)
	if cut || s.bad || space(b, s.i) != len(b) {
		d.malformed(b, kind)
		if strings.HasPrefix(kind, "item.") {
			d.item(kind, l.item, true)
		}
		return
	}
	if kind != "error" {
		d.waits = 0
	}
	switch kind {
	case "thread.started":
		d.turn.Session = str(l.thread, maxName)
	case "turn.started":
		d.failed = ""
	case "item.started", "item.updated", "item.completed":
		d.item(kind, l.item, false)
	case "turn.completed":
		d.done, d.failed = true, ""
		d.usage(l.usage)
		d.finished()
	case "turn.failed":
		d.failed = oneLine(str(fields(l.err, "message")["message"], 4*maxMessage))
		if d.failed == "" {
			d.failed = "codex reported a failure without a text"
		}
		d.done = true
		d.finished()
	case "error": // most of them announce another attempt
		d.last = oneLine(str(l.message, 4*maxMessage))
		d.progress(d.last)
		d.retry(d.last)
	default:
		d.turn.Unknown++
	}
}

// usage counts the tokens of the thread so far. input_tokens holds those that
// were read from the cache, output_tokens those of the reasoning.
func (d *codexDecoder) usage(b []byte) {
	if !isSet(b) {
		return
	}
	v := fields(b, "input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens")
	t := ralph.Tokens{
		CacheRead:  bounded(number(v["cached_input_tokens"])),
		CacheWrite: bounded(number(v["cache_write_input_tokens"])),
		Output:     bounded(number(v["output_tokens"])),
	}
	t.Input = max(0, bounded(number(v["input_tokens"]))-t.CacheRead-t.CacheWrite)
	d.turn.Usage.Tokens = t
}

// item follows one item of the thread. Of one that is partial, what it says is
// shown but not searched.
func (d *codexDecoder) item(event string, b []byte, partial bool) {
	v := fields(b, "id", "type", "text", "message", "command", "aggregated_output", "exit_code", "status",
		"changes", "server", "tool", "arguments", "result", "error", "query", "prompt", "items")
	id, kind := str(v["id"], maxName), str(v["type"], maxName)
	failed := str(v["status"], maxName) == "failed"
	completed := event == "item.completed"
	switch kind {
	case "agent_message":
		if completed {
			d.text(v["text"], d.message(id), partial)
		}
	case "reasoning", "error":
		if completed {
			d.progress(oneLine(str(v["text"], 4*maxMessage) + str(v["message"], 4*maxMessage)))
		}
	case "todo_list":
		d.todos(v["items"])
	case "command_execution":
		d.tool(event, id, "shell", v["command"], v, failed || isSet(v["exit_code"]) && number(v["exit_code"]) != 0)
	case "file_change":
		d.tool(event, id, kind, nil, v, failed)
	case "mcp_tool_call":
		d.tool(event, id, str(v["server"], maxName)+"."+str(v["tool"], maxName), v["arguments"], v, failed || isSet(v["error"]))
	case "web_search":
		d.tool(event, id, kind, v["query"], v, failed)
	case "collab_tool_call": // a subagent's; its words never come
		d.tool(event, id, str(v["tool"], maxName), v["prompt"], v, failed)
	default:
		if !partial {
			d.turn.Unknown++
		}
	}
}

// message is the id of a text; codex numbers its items.
func (d *codexDecoder) message(id string) string {
	if id == "" {
		return "line " + strconv.Itoa(d.count)
	}
	return id
}

// tool reports a call that began or ended. One may end without having begun,
// and one that began may never end.
func (d *codexDecoder) tool(event, id, name string, input []byte, v map[string][]byte, failed bool) {
	if event == "item.updated" {
		return
	}
	if _, running := d.open[id]; !running || id == "" {
		d.started(id, clip(name, maxName), codexSummary(input, v["changes"]), false)
	}
	if event != "item.completed" {
		return
	}
	o := d.output()
	switch {
	case o.addString(v["aggregated_output"]):
	case isSet(v["error"]):
		o.addString(fields(v["error"], "message")["message"])
	default:
		for i, b := range scanBlocks(&scanner{b: fields(v["result"], "content")["content"]}, nil) {
			if i > 0 {
				o.add([]byte(`\n`))
			}
			o.addString(b.text)
		}
	}
	d.ended(id, o, failed, false)
}

// codexSummary puts the input of a call into one line: a command, a question,
// arguments, or the files that change.
func codexSummary(input, changes []byte) string {
	var files []string
	if c := (scanner{b: changes}); c.at('[') {
		c.array(func() {
			v := fields(c.value(), "path", "kind")
			if len(files) < maxName {
				files = append(files, str(v["kind"], maxName)+" "+str(v["path"], maxMessage))
			}
		})
		return oneLine(strings.Join(files, ", "))
	}
	if _, ok := inner(input); ok {
		return oneLine(str(input, 4*maxMessage))
	}
	if !isSet(input) || string(input) == "{}" {
		return ""
	}
	return oneLine(valid(input[:min(len(input), 4*maxMessage)]))
}

// todos reports the agent's own task list. It has two states: the first entry
// that is not completed is the one at hand.
func (d *codexDecoder) todos(items []byte) {
	c := scanner{b: items}
	if !c.at('[') {
		return
	}
	var todos []ralph.Todo
	active := false
	c.array(func() {
		v := fields(c.value(), "text", "completed")
		if len(todos) >= maxOpen {
			return
		}
		t := ralph.Todo{Text: oneLine(str(v["text"], 4*maxMessage))}
		switch {
		case isTrue(v["completed"]):
			t.Status = ralph.TodoDone
		case !active:
			t.Status, active = ralph.TodoActive, true
		}
		todos = append(todos, t)
	})
	d.emit(ralph.Event{Kind: ralph.EventTodo, At: time.Now(), Todos: todos})
}

// Done says that the turn was completed or has failed.
func (d *codexDecoder) Done() bool { return d.done }

// LastWords are those on stderr or, of a codex that was ended, its last error.
func (d *codexDecoder) LastWords() string {
	if s := d.common.LastWords(); s != "" {
		return s
	}
	return d.last
}

// Failure is what went wrong by codex's own word; nil when the turn went well.
func (d *codexDecoder) Failure(exit int) *ralph.Failure {
	switch {
	case d.failed != "":
		return d.hinted(&ralph.Failure{Kind: codexFailure(d.failed), Message: codexMessage(d.failed)})
	case !d.done && d.lost != nil:
		return d.lost
	case !d.done:
		return d.unfinished(exit, d.LastWords())
	}
	return d.finishedWell(exit, d.LastWords())
}
