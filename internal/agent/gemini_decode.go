package agent

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// geminiDecoder turns the JSON lines of `gemini -o stream-json` (seen: 0.61.0)
// into events. Texts come in pieces of a few letters, so they are gathered. What
// subagents say does not come at all, nor does what the model thinks.
type geminiDecoder struct {
	common
	todos   todoList
	message int    // texts begun
	held    []byte // of the text at hand
	partial bool   // of held: a part may be missing, so it is not searched
	pieces  bool   // of the text at hand were there
	more    bool   // a part of it was emitted
	result  *geminiResult
	fault   string // the last error that was no result
	words   lines  // of stderr
	report  geminiReport
}

// geminiResult is the line that ends a run.
type geminiResult struct {
	failed  bool
	at      time.Time
	kind    string // error.type, the name of a class; "unknown" for most
	message string
}

func newGeminiDecoder(emit func(ralph.Event), finished func()) *geminiDecoder {
	d := &geminiDecoder{common: newCommon("gemini", emit, finished)}
	d.out = lines{limit: maxLine, line: d.decode}
	d.words = lines{limit: 4 * maxMessage, line: d.complaint}
	return d
}

// geminiLine is what is needed of one line.
type geminiLine struct {
	kind, at, session, model, role, content, delta   []byte
	tool, id, parameters, status, output, err, stats []byte
	message                                          []byte
}

func (d *geminiDecoder) decode(b []byte, cut bool) {
	b, blank := d.next(b)
	if blank {
		return
	}
	var l geminiLine
	s := scanner{b: b}
	s.object(func(key []byte) {
		value := s.value()
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
	kind := str(l.kind, maxName)
	partial := cut || s.bad || space(b, s.i) != len(b)
	if partial {
		d.malformed(b, kind)
	}
	role := str(l.role, maxName)
	if kind == "message" && role == "assistant" {
		if !isTrue(l.delta) && !partial {
			d.endText()
		}
		d.piece(l.content, partial)
		return
	}
	d.endText()
	switch kind {
	case "init":
		d.turn.Session, d.turn.Model = str(l.session, maxName), str(l.model, maxName)
	case "message": // the prompt, which the CLI repeats and everybody knows
	case "tool_use":
		d.toolStart(l)
	case "tool_result":
		d.toolEnd(l)
	case "error": // the run goes on
		d.fault = oneLine(str(l.message, 4*maxMessage))
		d.progress(d.fault)
	case "result":
		if !partial {
			d.onResult(l)
		}
	default:
		if !partial {
			d.turn.Unknown++
		}
	}
}

// piece adds to the text at hand.
func (d *geminiDecoder) piece(value []byte, partial bool) {
	raw, _ := inner(value)
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
		d.held, raw = unescape(d.held, raw, maxText)
		if len(raw) > 0 || len(d.held) >= maxText {
			d.flush()
		}
	}
}

func (d *geminiDecoder) flush() {
	if len(d.held) > 0 {
		d.common.words(valid(d.held), "text "+strconv.Itoa(d.message), d.partial, d.more)
		d.held, d.more = d.held[:0], true
	}
}

// endText emits what is left of the text at hand.
func (d *geminiDecoder) endText() {
	d.flush()
	d.pieces, d.more, d.partial = false, false, false
}

// Close ends the stream.
func (d *geminiDecoder) Close() {
	d.common.Close()
	d.words.Close()
	d.endText()
}

func (d *geminiDecoder) toolStart(l geminiLine) {
	name := str(l.tool, maxName)
	summary := ""
	if name != "write_todos" { // the list itself follows as an event
		summary = inputSummary(name, l.parameters)
	}
	d.started(str(l.id, maxName), name, summary, false)
	if name == "write_todos" && d.todos.replace(fields(l.parameters, "todos")["todos"], "description") {
		d.emit(ralph.Event{Kind: ralph.EventTodo, At: time.Now(), Todos: d.todos.list()})
	}
}

// toolEnd reports the end of a call. A command that failed is a success to the
// CLI, which does not tell its exit code.
func (d *geminiDecoder) toolEnd(l geminiLine) {
	o := d.output()
	if !o.addString(l.output) {
		o.addString(fields(l.err, "message")["message"])
	}
	d.ended(str(l.id, maxName), o, str(l.status, maxName) == "error", false)
}

func (d *geminiDecoder) onResult(l geminiLine) {
	e := fields(l.err, "type", "message")
	r := &geminiResult{
		failed:  str(l.status, maxName) != "success",
		kind:    str(e["type"], maxName),
		message: strings.TrimSpace(str(e["message"], 16*maxMessage)),
	}
	r.at, _ = time.Parse(time.RFC3339, str(l.at, maxName))
	d.result = r
	d.models(fields(l.stats, "models")["models"])
	d.finished()
}

// models counts the tokens of each model, subagents included. input_tokens holds
// those that came from the cache; output_tokens lacks those of the thoughts,
// which are in total_tokens.
func (d *geminiDecoder) models(b []byte) {
	var all []ralph.ModelUsage
	ok := members(b, func(key, value []byte) {
		v := fields(value, "total_tokens", "input_tokens", "output_tokens", "cached")
		in, out := bounded(number(v["input_tokens"])), bounded(number(v["output_tokens"]))
		t := ralph.Tokens{CacheRead: min(in, bounded(number(v["cached"]))), Output: max(out, bounded(number(v["total_tokens"]))-in)}
		t.Input = in - t.CacheRead
		if len(all) < maxName && t.Total() > 0 {
			all = append(all, ralph.ModelUsage{Model: plain(key, maxName), Usage: ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: t}})
		}
	})
	if !ok {
		return
	}
	slices.SortStableFunc(all, func(a, b ralph.ModelUsage) int { return cmp.Compare(a.Model, b.Model) })
	d.turn.Models, d.turn.Usage.Tokens = all, ralph.Tokens{}
	for _, m := range all {
		d.turn.Usage.Tokens = d.turn.Usage.Tokens.Add(m.Usage.Tokens)
	}
}

// Done says that the run's result is there.
func (d *geminiDecoder) Done() bool { return d.result != nil }

// Stderr keeps what the CLI says for people, and reads its reports.
func (d *geminiDecoder) Stderr(p []byte) {
	_, _ = d.words.Write(p)
}

// complaint reads a line of stderr. What the CLI always says there is no news.
func (d *geminiDecoder) complaint(b []byte, _ bool) {
	b = bytes.TrimRight(b, "\r")
	line := valid(b)
	d.report.read(line)
	for _, noise := range []string{"Warning: ", "YOLO mode is enabled.", "Ripgrep is not available.", "[STARTUP] ", "    at "} {
		if strings.HasPrefix(line, noise) {
			return
		}
	}
	_, _ = d.errs.Write(append(b[:len(b):len(b)], '\n'))
	if retry, rest, ok := strings.Cut(line, " Retrying "); ok && strings.HasPrefix(retry, "Attempt ") && rest != "" {
		d.progress(oneLine(retry))
		d.refused(retry)
	}
}
