package agent

import (
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// clineDecoder turns the JSON lines of `cline --json` into events: those of
// cline 3 (seen: 3.0.65), whose texts come in pieces and which ends with a
// run_result, and the "say" lines of the CLIs before it, which end without one.
type clineDecoder struct {
	common
	prompt string // says of older CLIs begin with it

	message int    // texts begun
	held    []byte // of the text at hand
	isEcho  bool   // of held
	pieces  bool   // of the text at hand were there
	more    bool   // a part of it was emitted
	saying  bool   // the lines are of an older CLI
	result  *clineResult
	kind    ralph.FailureKind // of the last error; 0: none
	fault   string            // its text
}

// clineResult is the line that ends a run.
type clineResult struct{ reason, text string }

func newClineDecoder(prompt string, emit func(ralph.Event), finished func()) *clineDecoder {
	d := &clineDecoder{common: newCommon("cline", emit, finished), prompt: strings.TrimSpace(prompt)}
	d.out = lines{limit: maxLine, line: d.decode}
	return d
}

func (d *clineDecoder) decode(b []byte, cut bool) {
	b, blank := d.next(b)
	if blank {
		return
	}
	v := make(map[string][]byte, 8)
	s := scanner{b: b}
	s.object(func(key []byte) { // what is named twice counts as the last
		value := s.value()
		switch string(key) {
		case "type", "event", "taskId", "parentAgentId", "say", "text", "partial", "message",
			"finishReason", "iterations", "aggregateUsage", "usage", "model":
			v[string(key)] = value
		}
	})
	kind := str(v["type"], maxName)
	partial := cut || s.bad || space(b, s.i) != len(b)
	if partial {
		d.malformed(b, kind)
		if kind != "agent_event" && kind != "say" {
			return
		}
	}
	switch kind {
	case "agent_event":
		d.event(v["event"], partial, partial || isSet(v["parentAgentId"]))
	case "hook_event":
		if id := str(v["taskId"], maxName); id != "" && !isSet(v["parentAgentId"]) {
			d.turn.Session = id
		}
	case "run_result":
		d.onResult(v)
	case "say":
		d.say(v, partial)
	case "error":
		d.fail(ralph.FailureCrash, v["message"])
	case "ask", "run_aborted", "run_start", "session_start":
	default:
		d.turn.Unknown++
	}
}

func (d *clineDecoder) event(b []byte, partial, echo bool) {
	v := fields(b, "type", "contentType", "text", "toolName", "toolCallId", "input", "output", "error", "errorClass",
		"message", "totalInputTokens", "totalOutputTokens", "totalCacheReadTokens", "totalCacheWriteTokens", "totalCost")
	content := str(v["contentType"], maxName)
	kind := str(v["type"], maxName)
	switch kind + " " + content {
	case "content_start text", "content_update text":
		d.piece(v["text"], echo)
	case "content_end text":
		if !d.pieces {
			d.piece(v["text"], echo)
		}
		d.endText()
	case "content_start tool":
		d.endText()
		name := str(v["toolName"], maxName)
		d.started(str(v["toolCallId"], maxName), name, clineSummary(name, v["input"]), echo)
	case "content_end tool":
		o, failed := d.resultOf(v["output"])
		d.ended(str(v["toolCallId"], maxName), o, failed || isSet(v["error"]), echo)
	case "content_update tool", "iteration_start ", "iteration_end ", "done ":
	case "notice ":
		d.progress(oneLine(str(v["message"], 4*maxMessage)))
	case "usage ":
		if !echo { // a subagent's comes with the result
			d.used(v)
		}
	case "error ":
		e := fields(v["error"], "name", "message")
		d.fail(clineFailure(str(v["errorClass"], maxName), str(e["name"], maxName), str(e["message"], maxMessage)), e["message"])
	default:
		switch {
		case strings.HasPrefix(kind, "content_"): // reasoning, and what else there may be
		case !partial:
			d.turn.Unknown++
		}
	}
}

// piece adds to the text at hand. The pieces are of a few letters, so they are
// gathered.
func (d *clineDecoder) piece(value []byte, echo bool) {
	if !d.pieces {
		d.message++
		d.pieces, d.isEcho = true, echo
	}
	d.isEcho = d.isEcho || echo
	for raw, _ := inner(value); len(raw) > 0; {
		d.held, raw = unescape(d.held, raw, maxText)
		if len(raw) > 0 {
			d.flush()
		}
	}
}

func (d *clineDecoder) flush() {
	if len(d.held) > 0 {
		d.words(valid(d.held), "text "+strconv.Itoa(d.message), d.isEcho, d.more)
		d.held, d.more = d.held[:0], true
	}
}

// endText emits what is left of the text at hand, one that breaks off too.
func (d *clineDecoder) endText() {
	d.flush()
	d.pieces, d.more = false, false
}

// Close ends the stream.
func (d *clineDecoder) Close() {
	d.common.Close()
	d.endText()
}

// fail keeps an error. Some are of a tool, and the run goes on; they count when
// the run ends with an error.
func (d *clineDecoder) fail(kind ralph.FailureKind, message []byte) {
	d.endText()
	d.kind, d.fault = kind, oneLine(str(message, 4*maxMessage))
	d.progress(d.fault)
}

func (d *clineDecoder) onResult(v map[string][]byte) {
	d.endText()
	d.result = &clineResult{reason: str(v["finishReason"], maxName), text: oneLine(str(v["text"], 4*maxMessage))}
	usage := v["aggregateUsage"] // subagents included
	if !isSet(usage) {
		usage = v["usage"]
	}
	if u := fields(usage, "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "totalCost"); isSet(usage) {
		d.turn.Usage.Tokens = clineTokens(u["inputTokens"], u["outputTokens"], u["cacheReadTokens"], u["cacheWriteTokens"])
		// A model cline knows no price of costs 0.
		if cost := max(0, ralph.FromUSD(number(u["totalCost"]))); cost > 0 {
			d.turn.Usage.Cost = ralph.Cost{Amount: cost}
		}
	}
	d.turn.Messages = int(bounded(number(v["iterations"])))
	d.turn.Model = str(fields(v["model"], "id")["id"], maxName)
	if d.result.reason == "completed" && !d.said {
		d.text(v["text"], "result", false)
	}
	d.finished()
}

// used takes what the run has used so far, which is known when it ends before its
// result.
func (d *clineDecoder) used(v map[string][]byte) {
	u := ralph.Usage{Cost: ralph.Cost{Unknown: true}}
	u.Tokens = clineTokens(v["totalInputTokens"], v["totalOutputTokens"], v["totalCacheReadTokens"], v["totalCacheWriteTokens"])
	if cost := max(0, ralph.FromUSD(number(v["totalCost"]))); cost > 0 {
		u.Cost = ralph.Cost{Amount: cost}
	}
	d.usage(ralph.ModelUsage{Model: d.hints.model, Usage: u})
	d.turn.Usage.Tokens = u.Tokens
	d.turn.Usage.Tokens.Unknown = true
}

// clineTokens counts tokens; cline's input holds those of the cache.
func clineTokens(input, output, read, written []byte) ralph.Tokens {
	t := ralph.Tokens{Output: bounded(number(output)), CacheRead: bounded(number(read)), CacheWrite: bounded(number(written))}
	t.Input = max(0, bounded(number(input))-t.CacheRead-t.CacheWrite)
	return t
}

// say reads a line of an older CLI. The agent's words are its texts and its
// result; a text that is still growing comes again as a whole.
func (d *clineDecoder) say(v map[string][]byte, partial bool) {
	d.saying = true
	if isTrue(v["partial"]) {
		return
	}
	switch what := str(v["say"], maxName); what {
	case "", "text", "completion_result":
		d.message++
		echo := partial || d.prompt != "" && strings.TrimSpace(str(v["text"], len(d.prompt)+maxMessage)) == d.prompt
		d.text(v["text"], "say "+strconv.Itoa(d.message), echo)
	case "tool", "command", "use_mcp_server", "browser_action_launch":
		id := "line " + strconv.Itoa(d.count) // there is no end to it
		d.started(id, what, oneLine(str(v["text"], 4*maxMessage)), false)
		delete(d.open, id)
	case "error", "info":
		d.progress(oneLine(str(v["text"], 4*maxMessage)))
	}
}

// Done says that the run's result is there.
func (d *clineDecoder) Done() bool { return d.result != nil }

// LastWords is the last line on stderr, which in JSON mode may be JSON.
func (d *clineDecoder) LastWords() string {
	s := strings.TrimSpace(d.errs.String())
	line := s[strings.LastIndexByte(s, '\n')+1:]
	if message := oneLine(str(fields([]byte(line), "message")["message"], 4*maxMessage)); message != "" {
		return message
	}
	if line = oneLine(line); line != "" {
		return line
	}
	return d.noise
}

// Failure is what went wrong by cline's own word; nil when the turn went well.
func (d *clineDecoder) Failure(exit int) *ralph.Failure {
	r := d.result
	switch {
	case r == nil && d.saying:
		return d.finishedWell(exit, d.LastWords())
	case r == nil:
		return d.unfinished(exit, d.LastWords())
	case r.reason == "error":
		kind := d.kind
		if kind == 0 {
			kind = ralph.FailureAPI
		}
		return d.hinted(&ralph.Failure{Kind: kind, Message: firstOf(r.text, d.fault, "cline reported an error without a text")})
	case r.reason == "aborted":
		return d.failure(ralph.FailureCrash, "aborted the run", firstOf(d.fault, r.text))
	}
	return d.finishedWell(exit, d.LastWords())
}

// clineFailure sorts an error by its class and its name. For a model that does
// not exist there is neither.
func clineFailure(class, name, message string) ralph.FailureKind {
	switch {
	case class == "auth":
		return ralph.FailureAuth
	case class == "unknown" && noSuchModel(message):
		return ralph.FailureModel
	case name == "ContextWindowOverflowError":
		return ralph.FailureRequest
	}
	return ralph.FailureAPI
}

// firstOf is the first text that is not empty.
func firstOf(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}
