package opencode

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/lib/lazyregexp"
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

// Done reports whether the last thing to come was the end of a step that asks for
// nothing more.
func (d *decoder) Done() bool { return d.idle && (d.err == nil || d.answered) }

// streamError is a line of the type "error". The CLI may go on behind it.
type streamError struct {
	name, message, ref string
	status             int    // of HTTP; 0: none
	code               string // the provider's own word for it
	retryable          bool
	resets             time.Time
}

// longWait is how long a provider's retry-after is when a usage limit is behind
// it, and not too many requests at once.
const longWait = 5 * time.Minute

// fail keeps an error. at is when it came, in Unix milliseconds.
func (d *decoder) fail(b []byte, at float64) {
	v := jsonscan.Fields(b, "name", "data")
	data := jsonscan.Fields(v["data"], "message", "ref", "statusCode", "isRetryable", "responseHeaders", "responseBody")
	e := &streamError{
		name: driver.NameOf(v["name"]), message: driver.LineOf(data["message"]), ref: driver.NameOf(data["ref"]),
		status: int(jsonscan.Count(data["statusCode"])), retryable: jsonscan.IsTrue(data["isRetryable"]),
	}
	body := jsonscan.Field([]byte(jsonscan.String(data["responseBody"], 16*driver.MaxMessage)), "error")
	w := jsonscan.Fields(body, "type", "code", "resets_at", "resets_in_seconds")
	e.code = cmp.Or(driver.NameOf(w["code"]), driver.NameOf(w["type"]))
	now := time.UnixMilli(jsonscan.Bounded(at)).UTC()
	headers := jsonscan.Fields(data["responseHeaders"], "retry-after", "date")
	if date, err := time.Parse(time.RFC1123, driver.NameOf(headers["date"])); err == nil {
		now = date.UTC()
	}
	after := driver.NameOf(headers["retry-after"])
	if seconds, err := strconv.Atoi(after); err == nil && seconds > 0 && seconds < 1e8 {
		e.resets = now.Add(time.Duration(seconds) * time.Second)
	} else if date, err := time.Parse(time.RFC1123, after); err == nil {
		e.resets = date.UTC()
	}
	if n := jsonscan.Number(w["resets_in_seconds"]); n > 0 && n < 1e8 {
		e.resets = now.Add(time.Duration(n) * time.Second)
	}
	if n := jsonscan.Number(w["resets_at"]); n > 0 && n < 1e11 {
		e.resets = time.Unix(int64(n), 0).UTC()
	}
	if e.status == 429 && e.resets.Sub(now) >= longWait {
		e.code = "usage_limit_reached"
	}
	if d.answered {
		d.overflows = 0
	}
	d.err, d.running, d.answered = e, false, false
	d.Progress(cmp.Or(e.message, e.name))
	if e.name != "ContextOverflowError" {
		return
	}
	// The CLI makes the session shorter and asks again, for ever when that is of
	// no use.
	if d.overflows++; d.overflows > 1 {
		d.Lose(d.judge(e))
	}
}

// settle forgets an error the session got over.
func (d *decoder) settle() {
	if d.err != nil && d.answered {
		d.err, d.overcame = nil, true
	}
}

// Failure is what went wrong by opencode's own word; nil when the turn went
// well. It exits with 1 also when it got over an error.
func (d *decoder) Failure(exit int) *ralph.Failure {
	switch {
	case d.Lost != nil:
		return d.Lost
	case d.err != nil:
		return d.judge(d.err)
	case d.steps == 0 || d.running:
		return d.Unfinished(exit, d.LastWords())
	case exit == 1 && d.overcame:
		exit = 0
	}
	return d.FinishedWell(exit, d.LastWords())
}

func (d *decoder) judge(e *streamError) *ralph.Failure {
	message := e.message
	if e.name == "UnknownError" && e.ref != "" && e.ref == d.log.ref {
		message = d.log.fault
	}
	f := &ralph.Failure{Kind: failureKind(e), Message: cmp.Or(message, e.name, "opencode reported an error without a text")}
	switch {
	case e.name == "UnknownError" && strings.HasPrefix(message, "ProviderModelNotFoundError: "):
		f.Kind = ralph.FailureModel
	case f.Kind == ralph.FailureQuota:
		f.RetryAt = e.resets
	}
	return d.WithHint(f)
}

// failureKind sorts an error by its name, its status and the provider's
// code.
func failureKind(e *streamError) ralph.FailureKind {
	quota := []string{"insufficient_quota", "usage_limit_reached", "usage_limit_exceeded", "billing_error", "billing_hard_limit_reached", "FreeUsageLimitError"}
	switch e.name {
	case "ProviderAuthError":
		return ralph.FailureAuth
	case "ContextOverflowError":
		return ralph.FailureRequest
	case "APIError":
	case "MessageOutputLengthError", "StructuredOutputError":
		return ralph.FailureAPI
	default:
		return ralph.FailureCrash
	}
	switch {
	case slices.Contains(quota, e.code) || e.status == 402:
		return ralph.FailureQuota
	case e.code == "model_not_found":
		return ralph.FailureModel
	}
	if kind := driver.StatusKind(e.status); kind != ralph.FailureRequest || !e.retryable {
		return kind
	}
	return ralph.FailureAPI
}

// errorLog is what the CLI logs to stderr about errors, in lines of name=value
// pairs: a request that failed and is repeated, and what stands behind an error
// whose stream tells a reference only.
type errorLog struct {
	lines      driver.Lines
	ref, fault string
	last       string
}

var (
	logValue = lazyregexp.New(` (message|ref|error|error\.error)=("(?:[^"\\]|\\.)*"|[^ ]*)`)
	colours  = lazyregexp.New("\x1b\\[[0-9;]*m")
)

// Stderr keeps what the CLI says for people, and reads its log.
func (d *decoder) Stderr(p []byte) { _, _ = d.log.lines.Write(p) }

func (d *decoder) complaint(b []byte, _ bool) {
	line := jsonscan.Valid(b)
	if !strings.HasPrefix(line, "timestamp=") {
		_, _ = d.Errs.Write([]byte(colours.ReplaceAllString(line, "") + "\n"))
		return
	}
	v := map[string]string{}
	for _, m := range logValue.FindAllStringSubmatch(line, 16) {
		if _, there := v[m[1]]; there {
			continue
		}
		v[m[1]] = m[2]
		if text := ""; json.Unmarshal([]byte(m[2]), &text) == nil {
			v[m[1]] = text
		}
	}
	switch fault := driver.OneLine(cmp.Or(v["error.error"], v["error"])); {
	case fault == "":
	case v["ref"] != "":
		d.log.ref, d.log.fault, d.log.last = driver.Clip(v["ref"], driver.MaxName), fault, fault
	case v["message"] == "stream error":
		d.log.last = fault
		d.Progress("request failed: " + fault)
	}
}

// LastWords is the last line the CLI wrote for people, or its last error.
func (d *decoder) LastWords() string {
	return cmp.Or(driver.LastLine(d.Errs.String()), d.log.last, d.Noise)
}
