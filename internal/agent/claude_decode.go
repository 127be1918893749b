package agent

import (
	"fmt"
	"hash/maphash"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// claudeDecoder turns the stream-json of claude 2.1 (seen: 2.1.197) into
// events. It looks at the parts it needs and skips the rest; nothing it keeps
// grows with the stream.
//
// Text counts as the agent's own when parent_tool_use_id is null and the model
// is not <synthetic>. Everything else that may hold the completion marker (a
// subagent's words, thinking, tool results, replayed prompts) is marked as
// echo or left out.
type claudeDecoder struct {
	common
	result  *claudeResult
	results int                // how many there were
	before  ralph.Usage        // of the session, before this turn
	models  []ralph.ModelUsage // … by model
	spent   spending
	// after says that the model said something after the last result: usage is
	// then a lower bound.
	after bool

	seen    [8]uint64 // hashes of the last texts, to know a result that repeats one
	seed    maphash.Seed
	agents  map[string]bool // subagents running in the background by their task id
	todos   todoList
	apiErr  string // assistant.error of the last synthetic message
	errText string // its text
	quota   bool   // the provider refuses until resets
	resets  time.Time
	blocks  []block // of the line at hand
}

// newClaudeDecoder reads the stream of claude, or of a CLI that speaks like it.
func newClaudeDecoder(name string, emit func(ralph.Event), finished func()) *claudeDecoder {
	d := &claudeDecoder{common: newCommon(name, emit, finished), seed: maphash.MakeSeed(), agents: map[string]bool{}}
	d.out = lines{limit: maxLine, line: d.decode}
	return d
}

func (d *claudeDecoder) decode(b []byte, cut bool) {
	b, blank := d.next(b)
	if blank {
		return
	}
	e := envelope{blocks: d.blocks[:0]}
	s := scanner{b: b}
	e.scan(&s)
	d.blocks = e.blocks
	defer clear(d.blocks) // they point into a line that may be a giant
	kind := str(e.kind, maxName)
	if cut || s.bad || space(b, s.i) != len(b) {
		d.malformed(b, kind)
		d.broken(kind, e)
		return
	}
	if s := str(e.session, maxName); s != "" {
		d.turn.Session = s
	}
	switch kind {
	case "assistant":
		d.assistant(e, false)
	case "user":
		d.user(e, false)
	case "result":
		d.onResult(b, str(e.subtype, maxName))
	case "system":
		d.system(b, str(e.subtype, maxName))
	case "rate_limit_event":
		d.rateLimit(b)
	case "stream_event", "tool_progress", "tool_use_summary", "auth_status", "prompt_suggestion", "keep_alive":
	default:
		d.turn.Unknown++
	}
}

// broken shows what a line that was cut or never finished still tells: whose
// words they were stands behind the words, so none of them is searched.
func (d *claudeDecoder) broken(kind string, e envelope) {
	switch kind {
	case "assistant":
		d.assistant(e, true)
	case "user":
		d.user(e, true)
	}
}

func (d *claudeDecoder) assistant(e envelope, partial bool) {
	id := str(e.id, maxName)
	if id == "" {
		id = "line " + strconv.Itoa(d.count)
	}
	synthetic := str(e.model, maxName) == "<synthetic>"
	echo := partial || isSet(e.parent)
	if !partial && !synthetic {
		d.after = true
		defer d.spend(e)
	}
	if !echo { // a subagent's error is not the turn's, and an answer ends one
		d.apiErr, d.errText = str(e.err, maxName), ""
	}
	for _, b := range e.blocks {
		switch str(b.kind, maxName) {
		case "text":
			if synthetic {
				text := oneLine(str(b.text, 4*maxMessage))
				if !echo {
					d.errText = text
				}
				d.progress(text)
				continue
			}
			d.text(b.text, id, echo)
		case "tool_use", "server_tool_use", "mcp_tool_use":
			d.toolStart(b, echo)
		case "thinking", "redacted_thinking", "image", "fallback":
		default:
			switch {
			case b.content != nil && b.id != nil: // web_search_tool_result and its like
				d.toolEnd(b, nil, echo)
			case !partial:
				d.turn.Unknown++
			}
		}
	}
}

// text emits a text block and remembers it.
func (d *claudeDecoder) text(value []byte, message string, echo bool) {
	if raw, _ := inner(value); len(raw) > 0 && !echo {
		copy(d.seen[1:], d.seen[:])
		d.seen[0] = maphash.Bytes(d.seed, raw)
	}
	d.common.text(value, message, echo)
}

func (d *claudeDecoder) user(e envelope, partial bool) {
	if !partial && !isSet(e.parent) && !isTrue(e.replay) && string(e.synthetic) != "false" {
		d.kept(e)
	}
	for _, b := range e.blocks {
		if str(b.kind, maxName) == "tool_result" {
			d.toolEnd(b, e.toolResult, partial || isSet(e.parent))
		}
	}
}

// kept reports that a stop hook kept claude going: what the hook said comes
// back as a message of the user's, which begins with fixed words. When there were
// too many in a row the last one is reported, too, and claude ends none the
// less.
func (d *claudeDecoder) kept(e envelope) {
	why, ok := stopFeedback(e.content)
	for i := 0; i < len(e.blocks) && !ok; i++ {
		if b := e.blocks[i]; string(b.kind) == `"text"` {
			why, ok = stopFeedback(b.text)
		}
	}
	if !ok {
		return
	}
	d.turn.Kept++
	d.emit(ralph.Event{Kind: ralph.EventKept, At: time.Now(), Text: why})
}

// stopFeedback is the beginning of what a stop hook said, on one line.
func stopFeedback(value []byte) (why string, ok bool) {
	const words = "Stop hook feedback:"
	if raw, _ := inner(value); len(raw) < len(words) {
		return "", false
	}
	why, ok = strings.CutPrefix(str(value, 4*maxMessage), words)
	return oneLine(why), ok
}

func (d *claudeDecoder) system(b []byte, subtype string) {
	v := fields(b, "model", "fallback_model", "content", "summary", "task_id", "task_type", "patch",
		"attempt", "max_retries", "retry_delay_ms", "error_status", "error")
	switch subtype {
	case "init":
		d.turn.Model = str(v["model"], maxName)
	case "api_retry":
		what := str(v["error"], maxName)
		if isSet(v["error_status"]) {
			what = strconv.Itoa(int(number(v["error_status"]))) + " " + what
		}
		wait := time.Duration(min(number(v["retry_delay_ms"]), 1e9)) * time.Millisecond
		d.progress(fmt.Sprintf("API error (%s), retry %d of %d in %v", what,
			int(number(v["attempt"])), int(number(v["max_retries"])), wait.Round(100*time.Millisecond)))
		d.retry(int(bounded(number(v["attempt"]))), int(bounded(number(v["error_status"]))), what)
	case "model_fallback":
		d.turn.Model = str(v["fallback_model"], maxName)
		d.progress(oneLine(str(v["content"], 4*maxMessage)))
	case "compact_boundary":
		d.progress("Context compacted")
	case "task_started":
		if str(v["task_type"], maxName) == "local_agent" && len(d.agents) < maxOpen {
			d.agents[str(v["task_id"], maxName)] = true
		}
	case "task_updated":
		switch str(fields(v["patch"], "status")["status"], maxName) {
		case "", "running", "pending":
		default:
			delete(d.agents, str(v["task_id"], maxName))
		}
	case "task_notification":
		delete(d.agents, str(v["task_id"], maxName))
		d.progress(oneLine(str(v["summary"], 4*maxMessage)))
	}
}

// retry gives up what no retry helps: a key or a model that was refused twice,
// because with the second attempt claude has renewed what it can renew (a login, a
// cloud's token, the key of an apiKeyHelper); and a usage limit that is said to
// last until a time, which claude would sleep for. Without this a 401 takes ten
// attempts and three minutes.
func (d *claudeDecoder) retry(attempt, status int, what string) {
	if d.refused(what); d.lost != nil {
		return
	}
	f := &ralph.Failure{Message: clip(fmt.Sprintf("%s: the API refused the request, twice (%s)", d.name, what), maxMessage)}
	switch {
	case status == 429 && d.quota:
		f.Kind, f.RetryAt = ralph.FailureQuota, d.resets
		f.Message = d.name + ": the usage limit is reached"
	case attempt < 2:
		return
	case status == 401 || status == 403:
		f.Kind = ralph.FailureAuth
	case status == 404:
		f.Kind = ralph.FailureModel
	default:
		return
	}
	d.lose(d.hinted(f))
}

// rateLimit notes the provider's structured word about a usage limit.
func (d *claudeDecoder) rateLimit(b []byte) {
	info := fields(fields(b, "rate_limit_info")["rate_limit_info"], "status", "resetsAt")
	d.quota = str(info["status"], maxName) == "rejected"
	d.resets = time.Time{}
	if at := number(info["resetsAt"]); d.quota && at > 0 && at < math.MaxInt32*64 {
		d.resets = time.Unix(int64(at), 0).UTC()
	}
}
