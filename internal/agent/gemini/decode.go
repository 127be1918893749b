package gemini

import (
	"bytes"
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
	todos  driver.Todos
	text   driver.Pieces
	result *runResult
	fault  string       // the last error that was no result
	words  driver.Lines // of stderr
	report errorReport
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
	d.ReadLines(d.line, "timestamp", "session_id", "model", "role", "content", "delta", "tool_name", "tool_id", "parameters",
		"status", "output", "error", "stats", "message")
	d.text = driver.NewPieces(&d.Stream)
	d.words = driver.Lines{Limit: 4 * driver.MaxMessage, Line: d.complaint}
	return d
}

func (d *decoder) line(l map[string][]byte, kind string, partial bool) {
	role := driver.NameOf(l["role"])
	if kind == "message" && role == "assistant" {
		if !jsonscan.IsTrue(l["delta"]) && !partial {
			d.text.End()
		}
		d.text.Add(l["content"], partial)
		return
	}
	d.text.End()
	switch kind {
	case "init":
		d.Told.Session, d.Told.Model = driver.NameOf(l["session_id"]), driver.NameOf(l["model"])
	case "message": // the prompt, which the CLI repeats and everybody knows
	case "tool_use":
		d.toolStart(l)
	case "tool_result":
		d.toolEnd(l)
	case "error": // the run goes on
		d.fault = driver.LineOf(l["message"])
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

// Close ends the stream.
func (d *decoder) Close() {
	d.Stream.Close()
	d.words.Close()
	d.text.End()
}

func (d *decoder) toolStart(l map[string][]byte) {
	name := driver.NameOf(l["tool_name"])
	summary := ""
	if name != "write_todos" { // the list itself follows as an event
		summary = driver.InputSummary(name, l["parameters"])
	}
	d.ToolStarted(driver.NameOf(l["tool_id"]), name, summary, false)
	if name == "write_todos" && d.todos.Replace(jsonscan.Field(l["parameters"], "todos"), "description") {
		d.Emit(ralph.Event{Kind: ralph.EventTodo, At: time.Now(), Todos: d.todos.List()})
	}
}

// toolEnd reports the end of a call. A command that failed is a success to the
// CLI, which does not tell its exit code.
func (d *decoder) toolEnd(l map[string][]byte) {
	o := d.Output()
	if !o.AddString(l["output"]) {
		o.AddString(jsonscan.Field(l["error"], "message"))
	}
	d.ToolEnded(driver.NameOf(l["tool_id"]), o, driver.NameOf(l["status"]) == "error", false)
}

func (d *decoder) onResult(l map[string][]byte) {
	e := jsonscan.Fields(l["error"], "type", "message")
	r := &runResult{
		failed:  driver.NameOf(l["status"]) != "success",
		kind:    driver.NameOf(e["type"]),
		message: strings.TrimSpace(jsonscan.String(e["message"], 16*driver.MaxMessage)),
	}
	r.at, _ = time.Parse(time.RFC3339, driver.NameOf(l["timestamp"]))
	d.result = r
	d.models(jsonscan.Field(l["stats"], "models"))
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
		if t.Total() > 0 {
			all = driver.AddModel(all, driver.Unpriced(jsonscan.Plain(key, driver.MaxName), t))
		}
	})
	if ok {
		d.Told.Models, d.Told.Usage.Tokens = all, driver.SumModels(all).Tokens
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
