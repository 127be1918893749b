package cline

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

// decoder turns the JSON lines of `cline --json` into events: those of
// cline 3 (seen: 3.0.65), whose texts come in pieces and which ends with a
// run_result, and the "say" lines of the CLIs before it, which end without one.
type decoder struct {
	driver.Stream
	prompt string // says of older CLIs begin with it

	text   driver.Pieces
	says   int  // texts of an older CLI
	saying bool // the lines are of an older CLI
	result *runResult
	kind   ralph.FailureKind // of the last error; 0: none
	fault  string            // its text
}

// runResult is the line that ends a run.
type runResult struct{ reason, text string }

func newDecoder(prompt string, emit func(ralph.Event), finished func()) *decoder {
	d := &decoder{Stream: driver.NewStream("cline", emit, finished), prompt: strings.TrimSpace(prompt)}
	d.text = driver.NewPieces(&d.Stream)
	d.ReadLines(d.line, "event", "taskId", "parentAgentId", "say", "text", "partial", "message",
		"finishReason", "iterations", "aggregateUsage", "usage", "model")
	return d
}

func (d *decoder) line(v map[string][]byte, kind string, partial bool) {
	if partial && kind != "agent_event" && kind != "say" {
		return
	}
	switch kind {
	case "agent_event":
		d.event(v["event"], partial, partial || jsonscan.IsSet(v["parentAgentId"]))
	case "hook_event":
		if id := driver.NameOf(v["taskId"]); id != "" && !jsonscan.IsSet(v["parentAgentId"]) {
			d.Told.Session = id
		}
	case "run_result":
		d.onResult(v)
	case "say":
		d.say(v, partial)
	case "error":
		d.fail(ralph.FailureCrash, v["message"])
	case "ask", "run_aborted", "run_start", "session_start":
	default:
		d.Told.Unknown++
	}
}

func (d *decoder) event(b []byte, partial, echo bool) {
	v := jsonscan.Fields(b, "type", "contentType", "text", "toolName", "toolCallId", "input", "output", "error", "errorClass",
		"message", "totalInputTokens", "totalOutputTokens", "totalCacheReadTokens", "totalCacheWriteTokens", "totalCost")
	content := driver.NameOf(v["contentType"])
	kind := driver.NameOf(v["type"])
	switch kind + " " + content {
	case "content_start text", "content_update text":
		d.text.Add(v["text"], echo)
	case "content_end text":
		if !d.text.Begun {
			d.text.Add(v["text"], echo)
		}
		d.text.End()
	case "content_start tool":
		d.text.End()
		name := driver.NameOf(v["toolName"])
		d.ToolStarted(driver.NameOf(v["toolCallId"]), name, summaryOf(name, v["input"]), echo)
	case "content_end tool":
		o, failed := d.resultOf(v["output"])
		d.ToolEnded(driver.NameOf(v["toolCallId"]), o, failed || jsonscan.IsSet(v["error"]), echo)
	case "content_update tool", "iteration_start ", "iteration_end ", "done ":
	case "notice ":
		d.Progress(driver.LineOf(v["message"]))
	case "usage ":
		if !echo { // a subagent's comes with the result
			d.used(v)
		}
	case "error ":
		e := jsonscan.Fields(v["error"], "name", "message")
		d.fail(failureKind(driver.NameOf(v["errorClass"]), driver.NameOf(e["name"]), jsonscan.String(e["message"], driver.MaxMessage)), e["message"])
	default:
		switch {
		case strings.HasPrefix(kind, "content_"): // reasoning, and what else there may be
		case !partial:
			d.Told.Unknown++
		}
	}
}

// Close ends the stream.
func (d *decoder) Close() {
	d.Stream.Close()
	d.text.End()
}

// fail keeps an error. Some are of a tool, and the run goes on; they count when
// the run ends with an error.
func (d *decoder) fail(kind ralph.FailureKind, message []byte) {
	d.text.End()
	d.kind, d.fault = kind, driver.LineOf(message)
	d.Progress(d.fault)
}

func (d *decoder) onResult(v map[string][]byte) {
	d.text.End()
	d.result = &runResult{reason: driver.NameOf(v["finishReason"]), text: driver.LineOf(v["text"])}
	usage := v["aggregateUsage"] // subagents included
	if !jsonscan.IsSet(usage) {
		usage = v["usage"]
	}
	if u := jsonscan.Fields(usage, "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "totalCost"); jsonscan.IsSet(usage) {
		d.Told.Usage.Tokens = driver.TokensWithCache(u["inputTokens"], u["cacheReadTokens"], u["cacheWriteTokens"], u["outputTokens"])
		// A model cline knows no price of costs 0.
		if cost := max(0, ralph.FromUSD(jsonscan.Number(u["totalCost"]))); cost > 0 {
			d.Told.Usage.Cost = ralph.Cost{Amount: cost}
		}
	}
	d.Told.Messages = int(jsonscan.Count(v["iterations"]))
	d.Told.Model = driver.NameOf(jsonscan.Field(v["model"], "id"))
	if d.result.reason == "completed" && !d.Said {
		d.Text(v["text"], "result", false)
	}
	d.Finished()
}

// used takes what the run has used so far, which is known when it ends before its
// result.
func (d *decoder) used(v map[string][]byte) {
	u := ralph.Usage{Cost: ralph.Cost{Unknown: true}}
	u.Tokens = driver.TokensWithCache(v["totalInputTokens"], v["totalCacheReadTokens"], v["totalCacheWriteTokens"], v["totalOutputTokens"])
	if cost := max(0, ralph.FromUSD(jsonscan.Number(v["totalCost"]))); cost > 0 {
		u.Cost = ralph.Cost{Amount: cost}
	}
	d.Usage(ralph.ModelUsage{Model: d.Hints.Model, Usage: u})
	d.Told.Usage.Tokens = u.Tokens
	d.Told.Usage.Tokens.Unknown = true
}

// say reads a line of an older CLI. The agent's words are its texts and its
// result; a text that is still growing comes again as a whole.
func (d *decoder) say(v map[string][]byte, partial bool) {
	d.saying = true
	if jsonscan.IsTrue(v["partial"]) {
		return
	}
	switch what := driver.NameOf(v["say"]); what {
	case "", "text", "completion_result":
		d.says++
		echo := partial || d.prompt != "" && strings.TrimSpace(jsonscan.String(v["text"], len(d.prompt)+driver.MaxMessage)) == d.prompt
		d.Text(v["text"], "say "+strconv.Itoa(d.says), echo)
	case "tool", "command", "use_mcp_server", "browser_action_launch":
		id := "line " + strconv.Itoa(d.Count) // there is no end to it
		d.ToolStarted(id, what, driver.LineOf(v["text"]), false)
		delete(d.Open, id)
	case "error", "info":
		d.Progress(driver.LineOf(v["text"]))
	}
}

// Done says that the run's result is there.
func (d *decoder) Done() bool { return d.result != nil }

// LastWords is the last line on stderr, which in JSON mode may be JSON.
func (d *decoder) LastWords() string {
	s := strings.TrimSpace(d.Errs.String())
	line := s[strings.LastIndexByte(s, '\n')+1:]
	if message := driver.LineOf(jsonscan.Field([]byte(line), "message")); message != "" {
		return message
	}
	if line = driver.OneLine(line); line != "" {
		return line
	}
	return d.Noise
}

// Failure is what went wrong by cline's own word; nil when the turn went well.
func (d *decoder) Failure(exit int) *ralph.Failure {
	r := d.result
	switch {
	case r == nil && d.saying:
		return d.FinishedWell(exit, d.LastWords())
	case r == nil:
		return d.Unfinished(exit, d.LastWords())
	case r.reason == "error":
		kind := d.kind
		if kind == 0 {
			kind = ralph.FailureAPI
		}
		return d.WithHint(&ralph.Failure{Kind: kind, Message: cmp.Or(r.text, d.fault, "cline reported an error without a text")})
	case r.reason == "aborted":
		return d.NewFailure(ralph.FailureCrash, "aborted the run", cmp.Or(d.fault, r.text))
	}
	return d.FinishedWell(exit, d.LastWords())
}

// failureKind sorts an error by its class and its name. For a model that does
// not exist there is neither.
func failureKind(class, name, message string) ralph.FailureKind {
	switch {
	case class == "auth":
		return ralph.FailureAuth
	case class == "unknown" && driver.NoSuchModel(message):
		return ralph.FailureModel
	case name == "ContextWindowOverflowError":
		return ralph.FailureRequest
	}
	return ralph.FailureAPI
}
