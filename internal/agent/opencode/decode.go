package opencode

import (
	"strconv"
	"time"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

// decoder turns the JSON lines of `opencode run --format json` (seen:
// 1.18.33) into events. They are of the session alone: nothing of subagents
// comes, neither words nor tokens. A step is one request to the model; nothing
// says that the last one was the last.
type decoder struct {
	driver.Stream
	model string // as it was asked for

	// held is the text that ended last. When the CLI compacts a session, the
	// summary comes as if it were the agent's words, and only the line behind it
	// tells; so every text waits for the next line.
	held    []byte // a JSON string
	message string // of held
	isEcho  bool   // of held
	holds   bool

	steps     int    // finished
	running   bool   // a step began and has not ended
	reason    string // why the last one ended
	idle      bool   // nothing came behind it
	sum       ralph.Usage
	free      bool // a step with tokens cost nothing: the model's price is not known
	others    bool // subagents were at work
	overflows int  // requests in a row that were too long
	err       *streamError
	answered  bool // a step ended behind err
	overcame  bool // there was an error, and the session went on
	log       errorLog
}

func newDecoder(o driver.Options, emit func(ralph.Event), finished func()) *decoder {
	d := &decoder{Stream: driver.NewStream("opencode", emit, finished), model: modelOf(o)}
	key := keyVariable(d.model)
	if key == "GEMINI_API_KEY" {
		key = driver.FirstSet(o, []string{key, "GOOGLE_GENERATIVE_AI_API_KEY"})
	}
	hints := driver.HintsOf(o, key)
	if key == "" {
		hints.Key, hints.Unset = "the variable of its provider", false
	}
	d.Attach(o, hints)
	d.ReadLines(d.line, "sessionID", "part", "error", "timestamp")
	d.log.lines = driver.Lines{Limit: 8 * driver.MaxMessage, Line: d.complaint}
	return d
}

func (d *decoder) line(v map[string][]byte, kind string, partial bool) {
	part := v["part"]
	if id := driver.NameOf(v["sessionID"]); id != "" {
		d.Told.Session = id
	}
	d.idle = false
	if kind != "text" && kind != "step_finish" {
		d.release(false)
	}
	switch kind {
	case "step_start":
		d.running = true
	case "text":
		d.onText(part, partial)
	case "tool_use":
		d.tool(part)
	case "reasoning":
		d.Progress(driver.LineOf(jsonscan.Field(part, "text")))
	case "step_finish":
		if !partial {
			d.step(part)
		}
	case "error":
		if !partial {
			d.fail(v["error"], jsonscan.Number(v["timestamp"]))
		}
	default:
		if !partial {
			d.Told.Unknown++
		}
	}
}

// onText holds a text back. A synthetic one is the CLI's own, told to the model
// in the user's name.
func (d *decoder) onText(part []byte, partial bool) {
	v := jsonscan.Fields(part, "text", "messageID", "synthetic", "metadata")
	synthetic := jsonscan.IsTrue(v["synthetic"])
	if synthetic && jsonscan.IsTrue(jsonscan.Field(v["metadata"], "compaction_continue")) {
		d.answered = false // the step before was for the summary
		d.release(true)
	}
	d.release(false)
	if _, ok := jsonscan.Inner(v["text"]); !ok {
		return
	}
	d.message = driver.NameOf(v["messageID"])
	if d.message == "" {
		d.message = "line " + strconv.Itoa(d.Count)
	}
	d.held, d.isEcho, d.holds = append(d.held[:0], v["text"]...), synthetic || partial, true
	if d.isEcho {
		d.release(true)
	}
}

// release emits the text that was held back.
func (d *decoder) release(echo bool) {
	if !d.holds {
		return
	}
	d.holds = false
	d.Text(d.held, d.message, echo || d.isEcho)
	if cap(d.held) > driver.KeepLine {
		d.held = nil
	}
}

// tool reports a call, which comes at its end only.
func (d *decoder) tool(part []byte) {
	v := jsonscan.Fields(part, "tool", "callID", "state")
	state := jsonscan.Fields(v["state"], "status", "input", "output", "error", "metadata")
	name, id := driver.NameOf(v["tool"]), driver.NameOf(v["callID"])
	meta := jsonscan.Fields(state["metadata"], "exit", "sessionId")
	failed := driver.NameOf(state["status"]) == "error" || name == "invalid" || jsonscan.IsSet(meta["exit"]) && jsonscan.Number(meta["exit"]) != 0
	d.others = d.others || jsonscan.IsSet(meta["sessionId"])
	d.ToolStarted(id, name, summaryOf(name, state["input"]), false)
	o := d.Output()
	if !o.AddString(state["output"]) {
		o.AddString(state["error"])
	}
	d.ToolEnded(id, o, failed, false)
	if name == "todowrite" && !failed {
		var list driver.Todos
		if list.Replace(jsonscan.Field(state["input"], "todos"), "content") {
			d.Emit(ralph.Event{Kind: ralph.EventTodo, At: time.Now(), Todos: list.List()})
		}
	}
}

// summaryOf puts the input of a call into one line.
func summaryOf(name string, input []byte) string {
	if name == "todowrite" {
		return "" // the list itself follows as an event
	}
	v := jsonscan.Fields(input, "filePath", "error")
	if s := driver.LineOf(v["filePath"]); s != "" {
		return s
	}
	if s := driver.LineOf(v["error"]); name == "invalid" && s != "" {
		return s
	}
	return driver.InputSummary(name, input)
}

// step counts what a request used. input is what came from no cache; whether
// output holds the reasoning depends on the provider, total does.
func (d *decoder) step(part []byte) {
	v := jsonscan.Fields(part, "reason", "tokens", "cost")
	t := jsonscan.Fields(v["tokens"], "total", "input", "output", "reasoning", "cache")
	cache := jsonscan.Fields(t["cache"], "read", "write")
	tokens := ralph.Tokens{Input: jsonscan.Count(t["input"]), CacheRead: jsonscan.Count(cache["read"]), CacheWrite: jsonscan.Count(cache["write"]), Output: jsonscan.Count(t["output"])}
	if jsonscan.IsSet(t["total"]) {
		tokens.Output = max(tokens.Output, jsonscan.Count(t["total"])-tokens.In())
	} else {
		tokens.Output += jsonscan.Count(t["reasoning"])
	}
	cost := max(0, ralph.FromUSD(jsonscan.Number(v["cost"])))
	d.free = d.free || cost == 0 && tokens.Total() > 0
	d.sum = d.sum.Add(ralph.Usage{Cost: ralph.Cost{Amount: cost}, Tokens: tokens})
	d.steps++
	d.Told.Messages++
	d.running, d.reason = false, driver.NameOf(v["reason"])
	d.idle, d.answered = d.reason != "tool-calls", true
	if !d.idle {
		d.release(false)
	}
	u := d.sum
	u.Cost.Unknown = d.free
	d.Usage(ralph.ModelUsage{Model: d.model, Usage: u})
}

// Close ends the stream.
func (d *decoder) Close() {
	d.Stream.Close()
	d.log.lines.Close()
	d.release(false)
	d.settle()
}

// Turn is the turn as the stream told it. What subagents used, and a request
// that broke off, is not in it.
func (d *decoder) Turn() ralph.Turn {
	t := d.Told
	t.Usage = d.sum
	missing := d.steps == 0 || d.running || d.others
	t.Usage.Tokens.Unknown, t.Usage.Cost.Unknown = missing, missing || d.free
	if !missing && d.model != "" {
		t.Models = []ralph.ModelUsage{{Model: d.model, Usage: t.Usage}}
	}
	return t
}

// Done says that the last thing to come was the end of a step that asks for
// nothing more.
func (d *decoder) Done() bool { return d.idle && (d.err == nil || d.answered) }
