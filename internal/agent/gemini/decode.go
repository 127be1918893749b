package gemini

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

// decoder turns the JSON lines of `gemini -o stream-json` (seen: 0.61.0)
// into events. Texts come in pieces of a few letters, so they are gathered. What
// subagents say does not come at all, nor does what the model thinks.
type decoder struct {
	driver.Stream
	todos   driver.Todos
	message int    // texts begun
	held    []byte // of the text at hand
	partial bool   // of held: a part may be missing, so it is not searched
	pieces  bool   // of the text at hand were there
	more    bool   // a part of it was emitted
	result  *runResult
	fault   string       // the last error that was no result
	words   driver.Lines // of stderr
	report  errorReport
}

// runResult is the line that ends a run.
type runResult struct {
	failed  bool
	at      time.Time
	kind    string // error.type, the name of a class; "unknown" for most
	message string
}

func newDecoder(emit func(ralph.Event), finished func()) *decoder {
	d := &decoder{Stream: driver.NewStream("gemini", emit, finished)}
	d.Out = driver.Lines{Limit: driver.MaxLine, Line: d.decode}
	d.words = driver.Lines{Limit: 4 * driver.MaxMessage, Line: d.complaint}
	return d
}

// event is what is needed of one line.
type event struct {
	kind, at, session, model, role, content, delta   []byte
	tool, id, parameters, status, output, err, stats []byte
	message                                          []byte
}

func (d *decoder) decode(b []byte, cut bool) {
	b, blank := d.Next(b)
	if blank {
		return
	}
	var l event
	s := jsonscan.New(b)
	s.Object(func(key []byte) {
		value := s.Value()
		switch string(key) {
		case "type":
			l.kind = value
		case "timestamp":
			l.at = value
		case "session_id":
			l.session = value
		case "model":
			l.model = value
		case "role":
			l.role = value
		case "content":
			l.content = value
		case "delta":
			l.delta = value
		case "tool_name":
			l.tool = value
		case "tool_id":
			l.id = value
		case "parameters":
			l.parameters = value
		case "status":
			l.status = value
		case "output":
			l.output = value
		case "error":
			l.err = value
		case "stats":
			l.stats = value
		case "message":
			l.message = value
		}
	})
	kind := jsonscan.String(l.kind, driver.MaxName)
	partial := cut || !s.Whole()
	if partial {
		d.Malformed(b, kind)
	}
	role := jsonscan.String(l.role, driver.MaxName)
	if kind == "message" && role == "assistant" {
		if !jsonscan.IsTrue(l.delta) && !partial {
			d.endText()
		}
		d.piece(l.content, partial)
		return
	}
	d.endText()
	switch kind {
	case "init":
		d.Told.Session, d.Told.Model = jsonscan.String(l.session, driver.MaxName), jsonscan.String(l.model, driver.MaxName)
	case "message": // the prompt, which the CLI repeats and everybody knows
	case "tool_use":
		d.toolStart(l)
	case "tool_result":
		d.toolEnd(l)
	case "error": // the run goes on
		d.fault = driver.OneLine(jsonscan.String(l.message, 4*driver.MaxMessage))
		d.Progress(d.fault)
	case "result":
		if !partial {
			d.onResult(l)
		}
	default:
		if !partial {
			d.Told.Unknown++
		}
	}
}

// piece adds to the text at hand.
func (d *decoder) piece(value []byte, partial bool) {
	raw, _ := jsonscan.Inner(value)
	if len(raw) == 0 {
		return
	}
	if partial && !d.partial {
		d.endText()
	}
	if !d.pieces {
		d.message++
		d.pieces, d.partial = true, partial
	}
	for len(raw) > 0 {
		d.held, raw = jsonscan.Unescape(d.held, raw, driver.MaxText)
		if len(raw) > 0 || len(d.held) >= driver.MaxText {
			d.flush()
		}
	}
}

func (d *decoder) flush() {
	if len(d.held) > 0 {
		d.Stream.Words(jsonscan.Valid(d.held), "text "+strconv.Itoa(d.message), d.partial, d.more)
		d.held, d.more = d.held[:0], true
	}
}

// endText emits what is left of the text at hand.
func (d *decoder) endText() {
	d.flush()
	d.pieces, d.more, d.partial = false, false, false
}

// Close ends the stream.
func (d *decoder) Close() {
	d.Stream.Close()
	d.words.Close()
	d.endText()
}

func (d *decoder) toolStart(l event) {
	name := jsonscan.String(l.tool, driver.MaxName)
	summary := ""
	if name != "write_todos" { // the list itself follows as an event
		summary = driver.InputSummary(name, l.parameters)
	}
	d.ToolStarted(jsonscan.String(l.id, driver.MaxName), name, summary, false)
	if name == "write_todos" && d.todos.Replace(jsonscan.Fields(l.parameters, "todos")["todos"], "description") {
		d.Emit(ralph.Event{Kind: ralph.EventTodo, At: time.Now(), Todos: d.todos.List()})
	}
}

// toolEnd reports the end of a call. A command that failed is a success to the
// CLI, which does not tell its exit code.
func (d *decoder) toolEnd(l event) {
	o := d.Output()
	if !o.AddString(l.output) {
		o.AddString(jsonscan.Fields(l.err, "message")["message"])
	}
	d.ToolEnded(jsonscan.String(l.id, driver.MaxName), o, jsonscan.String(l.status, driver.MaxName) == "error", false)
}

func (d *decoder) onResult(l event) {
	e := jsonscan.Fields(l.err, "type", "message")
	r := &runResult{
		failed:  jsonscan.String(l.status, driver.MaxName) != "success",
		kind:    jsonscan.String(e["type"], driver.MaxName),
		message: strings.TrimSpace(jsonscan.String(e["message"], 16*driver.MaxMessage)),
	}
	r.at, _ = time.Parse(time.RFC3339, jsonscan.String(l.at, driver.MaxName))
	d.result = r
	d.models(jsonscan.Fields(l.stats, "models")["models"])
	d.Finished()
}

// models counts the tokens of each model, subagents included. input_tokens holds
// those that came from the cache; output_tokens lacks those of the thoughts,
// which are in total_tokens.
func (d *decoder) models(b []byte) {
	var all []ralph.ModelUsage
	ok := jsonscan.Members(b, func(key, value []byte) {
		v := jsonscan.Fields(value, "total_tokens", "input_tokens", "output_tokens", "cached")
		in, out := jsonscan.Count(v["input_tokens"]), jsonscan.Count(v["output_tokens"])
		t := ralph.Tokens{CacheRead: min(in, jsonscan.Count(v["cached"])), Output: max(out, jsonscan.Count(v["total_tokens"])-in)}
		t.Input = in - t.CacheRead
		if len(all) < driver.MaxName && t.Total() > 0 {
			all = append(all, ralph.ModelUsage{Model: jsonscan.Plain(key, driver.MaxName), Usage: ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: t}})
		}
	})
	if !ok {
		return
	}
	slices.SortStableFunc(all, func(a, b ralph.ModelUsage) int { return cmp.Compare(a.Model, b.Model) })
	d.Told.Models, d.Told.Usage.Tokens = all, ralph.Tokens{}
	for _, m := range all {
		d.Told.Usage.Tokens = d.Told.Usage.Tokens.Add(m.Usage.Tokens)
	}
}

// Done says that the run's result is there.
func (d *decoder) Done() bool { return d.result != nil }

// Stderr keeps what the CLI says for people, and reads its reports.
func (d *decoder) Stderr(p []byte) {
	_, _ = d.words.Write(p)
}

// complaint reads a line of stderr. What the CLI always says there is no news.
func (d *decoder) complaint(b []byte, _ bool) {
	b = bytes.TrimRight(b, "\r")
	line := jsonscan.Valid(b)
	d.report.read(line)
	for _, noise := range []string{"Warning: ", "YOLO mode is enabled.", "Ripgrep is not available.", "[STARTUP] ", "    at "} {
		if strings.HasPrefix(line, noise) {
			return
		}
	}
	_, _ = d.Errs.Write(append(b[:len(b):len(b)], '\n'))
	if retry, rest, ok := strings.Cut(line, " Retrying "); ok && strings.HasPrefix(retry, "Attempt ") && rest != "" {
		d.Progress(driver.OneLine(retry))
		d.Refused(retry)
	}
}
