package agent

import (
	"strconv"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// opencodeDecoder turns the JSON lines of `opencode run --format json` (seen:
// 1.18.33) into events. They are of the session alone: nothing of subagents
// comes, neither words nor tokens. A step is one request to the model; nothing
// says that the last one was the last.
type opencodeDecoder struct {
	common
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
	err       *opencodeError
	answered  bool // a step ended behind err
	overcame  bool // there was an error, and the session went on
	log       opencodeLog
}

func newOpencodeDecoder(o Options, emit func(ralph.Event), finished func()) *opencodeDecoder {
	d := &opencodeDecoder{common: newCommon("opencode", emit, finished), model: opencodeModel(o)}
	key := opencodeKey(d.model)
	if key == "GEMINI_API_KEY" {
		key = firstSet(o, []string{key, "GOOGLE_GENERATIVE_AI_API_KEY"})
	}
	d.giveUp, d.hints = o.giveUp, hintsOf(o, key)
	if key == "" {
		d.hints = hints{key: "the variable of its provider", model: o.Model}
	}
	d.out = lines{limit: maxLine, line: d.decode}
	d.log.lines = lines{limit: 8 * maxMessage, line: d.complaint}
	return d
}

func (d *opencodeDecoder) decode(b []byte, cut bool) {
	b, blank := d.next(b)
	if blank {
		return
	}
	var kindOf, session, part, fault, at []byte
	s := scanner{b: b}
	s.object(func(key []byte) {
		value := s.value()
		switch string(key) {
		case "type":
			kindOf = value
		case "sessionID":
			session = value
		case "part":
			part = value
		case "error":
			fault = value
		case "timestamp":
			at = value
		}
	})
	kind := str(kindOf, maxName)
	partial := cut || s.bad || space(b, s.i) != len(b)
	if partial {
		d.malformed(b, kind)
	}
	if id := str(session, maxName); id != "" {
		d.turn.Session = id
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
		d.progress(oneLine(str(fields(part, "text")["text"], 4*maxMessage)))
	case "step_finish":
		if !partial {
			d.step(part)
		}
	case "error":
		if !partial {
			d.fail(fault, number(at))
		}
	default:
		if !partial {
			d.turn.Unknown++
		}
	}
}

// onText holds a text back. A synthetic one is the CLI's own, told to the model
// in the user's name.
func (d *opencodeDecoder) onText(part []byte, partial bool) {
	v := fields(part, "text", "messageID", "synthetic", "metadata")
	synthetic := isTrue(v["synthetic"])
	if synthetic && isTrue(fields(v["metadata"], "compaction_continue")["compaction_continue"]) {
		d.answered = false // the step before was for the summary
		d.release(true)
	}
	d.release(false)
	if _, ok := inner(v["text"]); !ok {
		return
	}
	d.message = str(v["messageID"], maxName)
	if d.message == "" {
		d.message = "line " + strconv.Itoa(d.count)
	}
	d.held, d.isEcho, d.holds = append(d.held[:0], v["text"]...), synthetic || partial, true
	if d.isEcho {
		d.release(true)
	}
}

// release emits the text that was held back.
func (d *opencodeDecoder) release(echo bool) {
	if !d.holds {
		return
	}
	d.holds = false
	d.text(d.held, d.message, echo || d.isEcho)
	if cap(d.held) > keepLine {
		d.held = nil
	}
}

// tool reports a call, which comes at its end only.
func (d *opencodeDecoder) tool(part []byte) {
	v := fields(part, "tool", "callID", "state")
	state := fields(v["state"], "status", "input", "output", "error", "metadata")
	name, id := str(v["tool"], maxName), str(v["callID"], maxName)
	meta := fields(state["metadata"], "exit", "sessionId")
	failed := str(state["status"], maxName) == "error" || name == "invalid" || isSet(meta["exit"]) && number(meta["exit"]) != 0
	d.others = d.others || isSet(meta["sessionId"])
	d.started(id, name, opencodeSummary(name, state["input"]), false)
	o := d.output()
	if !o.addString(state["output"]) {
		o.addString(state["error"])
	}
	d.ended(id, o, failed, false)
	if name == "todowrite" && !failed {
		var list todoList
		if list.replace(fields(state["input"], "todos")["todos"], "content") {
			d.emit(ralph.Event{Kind: ralph.EventTodo, At: time.Now(), Todos: list.list()})
		}
	}
}

// opencodeSummary puts the input of a call into one line.
func opencodeSummary(name string, input []byte) string {
	if name == "todowrite" {
		return "" // the list itself follows as an event
	}
	v := fields(input, "filePath", "error")
	if s := oneLine(str(v["filePath"], 4*maxMessage)); s != "" {
		return s
	}
	if s := oneLine(str(v["error"], 4*maxMessage)); name == "invalid" && s != "" {
		return s
	}
	return inputSummary(name, input)
}

// step counts what a request used. input is what came from no cache; whether
// output holds the reasoning depends on the provider, total does.
func (d *opencodeDecoder) step(part []byte) {
	v := fields(part, "reason", "tokens", "cost")
	t := fields(v["tokens"], "total", "input", "output", "reasoning", "cache")
	cache := fields(t["cache"], "read", "write")
	count := func(b []byte) int64 { return bounded(number(b)) }
	tokens := ralph.Tokens{Input: count(t["input"]), CacheRead: count(cache["read"]), CacheWrite: count(cache["write"]), Output: count(t["output"])}
	if isSet(t["total"]) {
		tokens.Output = max(tokens.Output, count(t["total"])-tokens.In())
	} else {
		tokens.Output += count(t["reasoning"])
	}
	cost := max(0, ralph.FromUSD(number(v["cost"])))
	d.free = d.free || cost == 0 && tokens.Total() > 0
	d.sum = d.sum.Add(ralph.Usage{Cost: ralph.Cost{Amount: cost}, Tokens: tokens})
	d.steps++
	d.turn.Messages++
	d.running, d.reason = false, str(v["reason"], maxName)
	d.idle, d.answered = d.reason != "tool-calls", true
	if !d.idle {
		d.release(false)
	}
	u := d.sum
	u.Cost.Unknown = d.free
	d.usage(ralph.ModelUsage{Model: d.model, Usage: u})
}

// Close ends the stream.
func (d *opencodeDecoder) Close() {
	d.common.Close()
	d.log.lines.Close()
	d.release(false)
	d.settle()
}

// Turn is the turn as the stream told it. What subagents used, and a request
// that broke off, is not in it.
func (d *opencodeDecoder) Turn() ralph.Turn {
	t := d.turn
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
func (d *opencodeDecoder) Done() bool { return d.idle && (d.err == nil || d.answered) }
