package copilot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

// decoder turns the JSON lines of `copilot --output-format json` (seen:
// 1.0.102) into events. Their form is that of the package's
// schemas/session-events.schema.json, and a last line of type result. Lines with
// an agentId are a subagent's: shown, not searched.
type decoder struct {
	driver.Stream
	used   func() string // what the CLI wrote of its usage; nil: nothing
	goesOn bool          // the session is older than the turn

	done    bool // the result was there
	code    int  // its exitCode
	fault   *sessionError
	call    failedCall // the last that failed
	failed  int        // calls that failed since one that did not
	empty   bool       // the last message has no text and asks for no tool
	outputs []ralph.ModelUsage
}

// sessionError is a session.error.
type sessionError struct {
	kind, code, message string
	status              int
}

// failedCall is a model.call_failure.
type failedCall struct {
	code, message string
	status        int
	bodyless      bool
	resets        time.Time // when the last of the exhausted quotas does; zero: not told
}

// maxFailedCalls is how many calls may fail in a row; by itself copilot 1.0.102
// stops at six.
const maxFailedCalls = 30

func newDecoder(emit func(ralph.Event), finished func()) *decoder {
	d := &decoder{Stream: driver.NewStream("copilot", emit, finished)}
	d.ReadLines(d.line, "data", "agentId", "sessionId", "exitCode")
	return d
}

func (d *decoder) line(line map[string][]byte, kind string, partial bool) {
	data, sub := line["data"], jsonscan.IsSet(line["agentId"])
	switch kind {
	case "assistant.message":
		d.message(data, sub, partial)
	case "tool.execution_start":
		d.toolStart(data, sub)
	case "tool.execution_complete":
		d.toolEnd(data, sub)
	case "result":
		if !partial {
			d.done, d.code = true, int(jsonscan.Number(line["exitCode"]))
			d.Told.Session = driver.NameOf(line["sessionId"])
			d.Finished()
		}
	default:
		if !partial {
			d.other(kind, data, sub)
		}
	}
}

func (d *decoder) other(kind string, data []byte, sub bool) {
	switch kind {
	case "user.message":
		if !sub {
			return // the prompt, which the CLI repeats and everybody knows
		}
		v := jsonscan.Fields(data, "content", "messageId")
		d.Text(v["content"], driver.NameOf(v["messageId"]), true)
	case "model.call_failure":
		if !sub {
			d.callFailed(data)
		}
	case "model.call_final_result":
		if driver.NameOf(jsonscan.Field(data, "result")) != "success" {
			return
		}
		d.Told.Messages++
		if !sub {
			d.failed = 0
		}
	case "session.error":
		v := jsonscan.Fields(data, "errorType", "errorCode", "message", "statusCode")
		f := &sessionError{
			kind: driver.NameOf(v["errorType"]), code: driver.NameOf(v["errorCode"]),
			message: driver.LineOf(v["message"]), status: int(jsonscan.Count(v["statusCode"])),
		}
		d.Progress(f.message)
		if !sub {
			d.fault = f
		}
	case "session.info", "session.warning":
		d.Progress(driver.LineOf(jsonscan.Field(data, "message")))
	default:
		if !isKnown(kind) {
			d.Told.Unknown++
		}
	}
}

// isKnown says that lines of this kind are known to tell nothing that is
// needed. Of assistant, tool and user new ones could be words.
func isKnown(kind string) bool {
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
func (d *decoder) message(data []byte, sub, partial bool) {
	v := jsonscan.Fields(data, "messageId", "content", "model", "toolRequests", "phase", "outputTokens")
	echo := sub || partial || driver.NameOf(v["phase"]) == "thinking"
	raw, _ := jsonscan.Inner(v["content"])
	if len(raw) > 0 {
		id := driver.NameOf(v["messageId"])
		if id == "" {
			id = fmt.Sprint("line ", d.Count)
		}
		d.Text(v["content"], id, echo)
	}
	model := driver.NameOf(v["model"])
	if !sub {
		requests := jsonscan.New(v["toolRequests"])
		d.empty = len(raw) == 0 && (!requests.Eat('[') || requests.At(']'))
		if model != "" {
			d.Told.Model = model
		}
	}
	if jsonscan.IsSet(v["outputTokens"]) {
		d.wrote(model, jsonscan.Count(v["outputTokens"]))
	}
}

// wrote adds what a message cost in output; of a turn that runs nothing more is
// known.
func (d *decoder) wrote(model string, tokens int64) {
	d.outputs = driver.AddModel(d.outputs, driver.Unpriced(model, ralph.Tokens{Output: tokens, Unknown: true}))
	d.Usage(slices.Clone(d.outputs)...)
}

func (d *decoder) toolStart(data []byte, sub bool) {
	v := jsonscan.Fields(data, "toolCallId", "toolName", "arguments")
	name := driver.NameOf(v["toolName"])
	d.ToolStarted(driver.NameOf(v["toolCallId"]), name, summaryOf(v["arguments"]), sub)
}

// toolEnd reports how a call ended. A shell command that fails is a success to
// copilot.
func (d *decoder) toolEnd(data []byte, sub bool) {
	v := jsonscan.Fields(data, "toolCallId", "success", "result", "error", "shellExecution")
	exit := jsonscan.Field(v["shellExecution"], "exitCode")
	failed := string(v["success"]) == "false" || jsonscan.IsSet(exit) && jsonscan.Number(exit) != 0
	o := d.Output()
	o.AddString(jsonscan.Field(v["result"], "content"))
	if jsonscan.IsSet(v["error"]) {
		o.AddLine()
		o.AddString(jsonscan.Field(v["error"], "message"))
	}
	d.ToolEnded(driver.NameOf(v["toolCallId"]), o, failed, sub)
}

// summaryOf puts the arguments of a call into one line: what most of
// copilot's own tools are about, or else all of them.
func summaryOf(arguments []byte) string {
	names := []string{"command", "path", "query", "pattern", "url", "prompt", "skill", "shellId"}
	v := jsonscan.Fields(arguments, names...)
	for _, name := range names {
		if s := driver.LineOf(v[name]); s != "" {
			return s
		}
	}
	return driver.ArgumentSummary(arguments, nil)
}

// callFailed keeps why a request to the model failed. What is asked again and
// again with no hope is ended.
func (d *decoder) callFailed(data []byte) {
	v := jsonscan.Fields(data, "errorCode", "errorType", "errorMessage", "statusCode", "badRequestKind", "quotaSnapshots")
	d.failed++
	message := jsonscan.String(v["errorMessage"], 8*driver.MaxMessage)
	if inside := jsonscan.String(jsonscan.Field([]byte(message), "message"), 4*driver.MaxMessage); inside != "" {
		message = inside
	}
	d.call = failedCall{
		code: cmp.Or(driver.NameOf(v["errorCode"]), driver.NameOf(v["errorType"])), message: driver.OneLine(message),
		status:   int(jsonscan.Count(v["statusCode"])),
		bodyless: driver.NameOf(v["badRequestKind"]) == "bodyless",
		resets:   resetOf(v["quotaSnapshots"]),
	}
	if d.failed >= maxFailedCalls || d.call.code == "insufficient_quota" {
		d.Lose(d.judge(&sessionError{message: d.call.message, status: d.call.status}))
	}
}

// resetOf is when the last of the exhausted quotas resets.
func resetOf(snapshots []byte) (at time.Time) {
	jsonscan.Members(snapshots, func(_, snapshot []byte) {
		v := jsonscan.Fields(snapshot, "remainingPercentage", "resetDate", "hasQuota")
		if string(v["hasQuota"]) == "true" || !jsonscan.IsSet(v["remainingPercentage"]) || jsonscan.Number(v["remainingPercentage"]) > 0 {
			return
		}
		if t, err := time.Parse(time.RFC3339, driver.NameOf(v["resetDate"])); err == nil && t.After(at) {
			at = t
		}
	})
	return at
}
