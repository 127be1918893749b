package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// copilotDecoder turns the JSON lines of `copilot --output-format json` (seen:
// 1.0.102) into events. Their form is that of the package's
// schemas/session-events.schema.json, and a last line of type result. Lines with
// an agentId are a subagent's: shown, not searched.
type copilotDecoder struct {
	common
	used   func() string // what the CLI wrote of its usage; nil: nothing
	goesOn bool          // the session is older than the turn

	done    bool // the result was there
	code    int  // its exitCode
	fault   *copilotFault
	call    copilotCall // the last that failed
	failed  int         // calls that failed since one that did not
	empty   bool        // the last message has no text and asks for no tool
	outputs []ralph.ModelUsage
}

// copilotFault is a session.error.
type copilotFault struct {
	kind, code, message string
	status              int
}

// copilotCall is a model.call_failure.
type copilotCall struct {
	code, message string
	status        int
	bodyless      bool
	resets        time.Time // when the last of the exhausted quotas does; zero: not told
}

// maxFailedCalls is how many calls may fail in a row; by itself copilot 1.0.102
// stops at six.
const maxFailedCalls = 30

func newCopilotDecoder(emit func(ralph.Event), finished func()) *copilotDecoder {
	d := &copilotDecoder{common: newCommon("copilot", emit, finished)}
	d.out = lines{limit: maxLine, line: d.decode}
	return d
}

// copilotLine is what is needed of one line.
type copilotLine struct{ kind, data, agent, session, code []byte }

func (d *copilotDecoder) decode(b []byte, cut bool) {
	b, blank := d.next(b)
	if blank {
		return
	}
	var l copilotLine
	s := scanner{b: b}
	s.object(func(key []byte) {
		value := s.value()
		switch string(key) {
		case "type":
			l.kind = value
		case "data":
			l.data = value
		case "agentId":
			l.agent = value
		case "sessionId":
			l.session = value
		case "exitCode":
			l.code = value
		}
	})
	kind := str(l.kind, maxName)
	partial := cut || s.bad || space(b, s.i) != len(b)
	sub := isSet(l.agent)
	if partial {
		d.malformed(b, kind)
	}
	switch kind {
	case "assistant.message":
		d.message(l.data, sub, partial)
	case "tool.execution_start":
		d.toolStart(l.data, sub)
	case "tool.execution_complete":
		d.toolEnd(l.data, sub)
	default:
		if !partial {
			d.other(kind, l, sub)
		}
	}
}

func (d *copilotDecoder) other(kind string, l copilotLine, sub bool) {
	switch kind {
	case "user.message":
		if !sub {
			return // the prompt, which the CLI repeats and everybody knows
		}
		v := fields(l.data, "content", "messageId")
		d.text(v["content"], str(v["messageId"], maxName), true)
	case "model.call_failure":
		if !sub {
			d.callFailed(l.data)
		}
	case "model.call_final_result":
		if str(fields(l.data, "result")["result"], maxName) != "success" {
			return
		}
		d.turn.Messages++
		if !sub {
			d.failed = 0
		}
	case "session.error":
		v := fields(l.data, "errorType", "errorCode", "message", "statusCode")
		f := &copilotFault{
			kind: str(v["errorType"], maxName), code: str(v["errorCode"], maxName),
			message: oneLine(str(v["message"], 4*maxMessage)), status: int(bounded(number(v["statusCode"]))),
		}
		d.progress(f.message)
		if !sub {
			d.fault = f
		}
	case "session.info", "session.warning":
		d.progress(oneLine(str(fields(l.data, "message")["message"], 4*maxMessage)))
	case "result":
		d.done, d.code = true, int(number(l.code))
		d.turn.Session = str(l.session, maxName)
		d.finished()
	default:
		if !copilotKnows(kind) {
			d.turn.Unknown++
		}
	}
}

// copilotKnows says that lines of this kind are known to tell nothing that is
// needed. Of assistant, tool and user new ones could be words.
func copilotKnows(kind string) bool {
	family, rest, _ := strings.Cut(kind, ".")
	switch family {
	case "assistant":
		return slices.Contains([]string{
			"message_start", "message_delta", "reasoning", "reasoning_delta", "tool_call_delta", "turn_start", "turn_end", "turn_retry", "idle",
			"intent", "streaming_delta", "usage", "server_tool_progress",
		}, rest) || strings.HasPrefix(rest, "fusion_")
	case "tool":
		return slices.Contains([]string{"shell_output", "execution_partial_result", "execution_progress", "user_requested"}, rest)
	}
	return slices.Contains([]string{
		"session", "model", "subagent", "permission", "hook", "skill", "system", "mcp", "sampling", "sandbox", "command", "commands", "capabilities",
		"abort", "instruction_discovered", "pending_messages", "prompt_cache_break", "tool_search", "workflow", "external_tool", "user_input",
		"elicitation", "exit_plan_mode", "auto_mode_switch", "session_limits_exhausted", "human_response", "mcp_app", "ui",
	}, family)
}

// message is one of the agent's, whole: its pieces in assistant.message_delta
// are passed over.
func (d *copilotDecoder) message(data []byte, sub, partial bool) {
	v := fields(data, "messageId", "content", "model", "toolRequests", "phase", "outputTokens")
	echo := sub || partial || str(v["phase"], maxName) == "thinking"
	raw, _ := inner(v["content"])
	if len(raw) > 0 {
		id := str(v["messageId"], maxName)
		if id == "" {
			id = fmt.Sprint("line ", d.count)
		}
		d.text(v["content"], id, echo)
	}
	model := str(v["model"], maxName)
	if !sub {
		requests := scanner{b: v["toolRequests"]}
		d.empty = len(raw) == 0 && (!requests.eat('[') || requests.at(']'))
		if model != "" {
			d.turn.Model = model
		}
	}
	if isSet(v["outputTokens"]) {
		d.wrote(model, bounded(number(v["outputTokens"])))
	}
}

// wrote adds what a message cost in output; of a turn that runs nothing more is
// known.
func (d *copilotDecoder) wrote(model string, tokens int64) {
	i := slices.IndexFunc(d.outputs, func(u ralph.ModelUsage) bool { return u.Model == model })
	if i < 0 {
		if len(d.outputs) >= maxModels {
			return
		}
		i = len(d.outputs)
		d.outputs = append(d.outputs, ralph.ModelUsage{Model: model, Usage: ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Unknown: true}}})
	}
	d.outputs[i].Usage.Tokens.Output += tokens
	d.usage(slices.Clone(d.outputs)...)
}

func (d *copilotDecoder) toolStart(data []byte, sub bool) {
	v := fields(data, "toolCallId", "toolName", "arguments")
	name := str(v["toolName"], maxName)
	d.started(str(v["toolCallId"], maxName), name, copilotSummary(v["arguments"]), sub)
}

// toolEnd reports how a call ended. A shell command that fails is a success to
// copilot.
func (d *copilotDecoder) toolEnd(data []byte, sub bool) {
	v := fields(data, "toolCallId", "success", "result", "error", "shellExecution")
	exit := fields(v["shellExecution"], "exitCode")["exitCode"]
	failed := string(v["success"]) == "false" || isSet(exit) && number(exit) != 0
	o := d.output()
	o.addString(fields(v["result"], "content")["content"])
	if isSet(v["error"]) {
		o.addLine()
		o.addString(fields(v["error"], "message")["message"])
	}
	d.ended(str(v["toolCallId"], maxName), o, failed, sub)
}

// copilotSummary puts the arguments of a call into one line: what most of
// copilot's own tools are about, or else all of them.
func copilotSummary(arguments []byte) string {
	names := []string{"command", "path", "query", "pattern", "url", "prompt", "skill", "shellId"}
	v := fields(arguments, names...)
	for _, name := range names {
		if s := oneLine(str(v[name], 4*maxMessage)); s != "" {
			return s
		}
	}
	return codexSummary(arguments, nil)
}

// callFailed keeps why a request to the model failed. What is asked again and
// again with no hope is ended.
func (d *copilotDecoder) callFailed(data []byte) {
	v := fields(data, "errorCode", "errorType", "errorMessage", "statusCode", "badRequestKind", "quotaSnapshots")
	d.failed++
	message := str(v["errorMessage"], 8*maxMessage)
	if inside := str(fields([]byte(message), "message")["message"], 4*maxMessage); inside != "" {
		message = inside
	}
	d.call = copilotCall{
		code: firstOf(str(v["errorCode"], maxName), str(v["errorType"], maxName)), message: oneLine(message),
		status:   int(bounded(number(v["statusCode"]))),
		bodyless: str(v["badRequestKind"], maxName) == "bodyless",
		resets:   copilotReset(v["quotaSnapshots"]),
	}
	if d.failed >= maxFailedCalls || d.call.code == "insufficient_quota" {
		d.lose(d.judge(&copilotFault{message: d.call.message, status: d.call.status}))
	}
}

// copilotReset is when the last of the exhausted quotas resets.
func copilotReset(snapshots []byte) (at time.Time) {
	members(snapshots, func(_, snapshot []byte) {
		v := fields(snapshot, "remainingPercentage", "resetDate", "hasQuota")
		if string(v["hasQuota"]) == "true" || !isSet(v["remainingPercentage"]) || number(v["remainingPercentage"]) > 0 {
			return
		}
		if t, err := time.Parse(time.RFC3339, str(v["resetDate"], maxName)); err == nil && t.After(at) {
			at = t
		}
	})
	return at
}
