// Package streamjson reads the stream-json of claude, and of CLIs that speak like it.
package streamjson

import (
	"fmt"
	"hash/maphash"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

// Decoder turns the stream-json of claude 2.1 (seen: 2.1.197) into
// events. It looks at the parts it needs and skips the rest; nothing it keeps
// grows with the stream.
//
// Text counts as the agent's own when parent_tool_use_id is null and the model
// is not <synthetic>. Everything else that may hold the completion marker (a
// subagent's words, thinking, tool results, replayed prompts) is marked as
// echo or left out.
type Decoder struct {
	driver.Stream
	result  *result
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
	todos   driver.Todos
	apiErr  string // assistant.error of the last synthetic message
	errText string // its text
	quota   bool   // the provider refuses until resets
	resets  time.Time
	blocks  []driver.Block // of the line at hand
}

// New reads the stream of claude, or of a CLI that speaks like it.
func New(name string, emit func(ralph.Event), finished func()) *Decoder {
	d := &Decoder{Stream: driver.NewStream(name, emit, finished), seed: maphash.MakeSeed(), agents: map[string]bool{}}
	d.Out = driver.Lines{Limit: driver.MaxLine, Line: d.decode}
	return d
}

func (d *Decoder) decode(b []byte, cut bool) {
	b, blank := d.Next(b)
	if blank {
		return
	}
	e := envelope{blocks: d.blocks[:0]}
	s := jsonscan.New(b)
	e.scan(s)
	d.blocks = e.blocks
	defer clear(d.blocks) // they point into a line that may be a giant
	kind := driver.NameOf(e.kind)
	if cut || !s.Whole() {
		d.Malformed(b, kind)
		d.broken(kind, e)
		return
	}
	if s := driver.NameOf(e.session); s != "" {
		d.Told.Session = s
	}
	switch kind {
	case "assistant":
		d.assistant(e, false)
	case "user":
		d.user(e, false)
	case "result":
		d.onResult(b, driver.NameOf(e.subtype))
	case "system":
		d.system(b, driver.NameOf(e.subtype))
	case "rate_limit_event":
		d.rateLimit(b)
	case "stream_event", "tool_progress", "tool_use_summary", "auth_status", "prompt_suggestion", "keep_alive":
	default:
		d.Told.Unknown++
	}
}

// broken shows what a line that was cut or never finished still tells: whose
// words they were stands behind the words, so none of them is searched.
func (d *Decoder) broken(kind string, e envelope) {
	switch kind {
	case "assistant":
		d.assistant(e, true)
	case "user":
		d.user(e, true)
	}
}

func (d *Decoder) assistant(e envelope, partial bool) {
	id := driver.NameOf(e.id)
	if id == "" {
		id = "line " + strconv.Itoa(d.Count)
	}
	synthetic := driver.NameOf(e.model) == "<synthetic>"
	echo := partial || jsonscan.IsSet(e.parent)
	if !partial && !synthetic {
		d.after = true
		defer d.spend(e)
	}
	if !echo { // a subagent's error is not the turn's, and an answer ends one
		d.apiErr, d.errText = driver.NameOf(e.err), ""
	}
	for _, b := range e.blocks {
		switch driver.NameOf(b.Kind) {
		case "text":
			if synthetic {
				text := driver.LineOf(b.Text)
				if !echo {
					d.errText = text
				}
				d.Progress(text)
				continue
			}
			d.text(b.Text, id, echo)
		case "tool_use", "server_tool_use", "mcp_tool_use":
			d.toolStart(b, echo)
		case "thinking", "redacted_thinking", "image", "fallback":
		default:
			switch {
			case b.Content != nil && b.ID != nil: // web_search_tool_result and its like
				d.toolEnd(b, nil, echo)
			case !partial:
				d.Told.Unknown++
			}
		}
	}
}

// text emits a text block and remembers it.
func (d *Decoder) text(value []byte, message string, echo bool) {
	if raw, _ := jsonscan.Inner(value); len(raw) > 0 && !echo {
		copy(d.seen[1:], d.seen[:])
		d.seen[0] = maphash.Bytes(d.seed, raw)
	}
	d.Stream.Text(value, message, echo)
}

func (d *Decoder) user(e envelope, partial bool) {
	if !partial && !jsonscan.IsSet(e.parent) && !jsonscan.IsTrue(e.replay) && string(e.synthetic) != "false" {
		d.kept(e)
	}
	for _, b := range e.blocks {
		if driver.NameOf(b.Kind) == "tool_result" {
			d.toolEnd(b, e.toolResult, partial || jsonscan.IsSet(e.parent))
		}
	}
}

// kept reports that a stop hook kept claude going: what the hook said comes
// back as a message of the user's, which begins with fixed words. When there were
// too many in a row the last one is reported, too, and claude ends none the
// less.
func (d *Decoder) kept(e envelope) {
	why, ok := stopFeedback(e.content)
	for i := 0; i < len(e.blocks) && !ok; i++ {
		if b := e.blocks[i]; string(b.Kind) == `"text"` {
			why, ok = stopFeedback(b.Text)
		}
	}
	if !ok {
		return
	}
	d.Told.Kept++
	d.Emit(ralph.Event{Kind: ralph.EventKept, At: time.Now(), Text: why})
}

// stopFeedback is the beginning of what a stop hook said, on one line.
func stopFeedback(value []byte) (why string, ok bool) {
	const words = "Stop hook feedback:"
	if raw, _ := jsonscan.Inner(value); len(raw) < len(words) {
		return "", false
	}
	why, ok = strings.CutPrefix(jsonscan.String(value, 4*driver.MaxMessage), words)
	return driver.OneLine(why), ok
}

func (d *Decoder) system(b []byte, subtype string) {
	v := jsonscan.Fields(b, "model", "fallback_model", "content", "summary", "task_id", "task_type", "patch",
		"attempt", "max_retries", "retry_delay_ms", "error_status", "error")
	switch subtype {
	case "init":
		d.Told.Model = driver.NameOf(v["model"])
	case "api_retry":
		what := driver.NameOf(v["error"])
		if jsonscan.IsSet(v["error_status"]) {
			what = strconv.Itoa(int(jsonscan.Number(v["error_status"]))) + " " + what
		}
		wait := time.Duration(min(jsonscan.Number(v["retry_delay_ms"]), 1e9)) * time.Millisecond
		d.Progress(fmt.Sprintf("API error (%s), retry %d of %d in %v", what,
			int(jsonscan.Number(v["attempt"])), int(jsonscan.Number(v["max_retries"])), wait.Round(100*time.Millisecond)))
		d.retry(int(jsonscan.Count(v["attempt"])), int(jsonscan.Count(v["error_status"])), what)
	case "model_fallback":
		d.Told.Model = driver.NameOf(v["fallback_model"])
		d.Progress(driver.LineOf(v["content"]))
	case "compact_boundary":
		d.Progress("Context compacted")
	case "task_started":
		if driver.NameOf(v["task_type"]) == "local_agent" && len(d.agents) < driver.MaxOpen {
			d.agents[driver.NameOf(v["task_id"])] = true
		}
	case "task_updated":
		switch driver.NameOf(jsonscan.Field(v["patch"], "status")) {
		case "", "running", "pending":
		default:
			delete(d.agents, driver.NameOf(v["task_id"]))
		}
	case "task_notification":
		delete(d.agents, driver.NameOf(v["task_id"]))
		d.Progress(driver.LineOf(v["summary"]))
	}
}

// retry gives up what no retry helps: a key or a model that was refused twice,
// because with the second attempt claude has renewed what it can renew (a login, a
// cloud's token, the key of an apiKeyHelper); and a usage limit that is said to
// last until a time, which claude would sleep for. Without this a 401 takes ten
// attempts and three minutes.
func (d *Decoder) retry(attempt, status int, what string) {
	if d.Refused(what); d.Lost != nil {
		return
	}
	f := &ralph.Failure{Message: driver.Clip(fmt.Sprintf("%s: the API refused the request, twice (%s)", d.Name, what), driver.MaxMessage)}
	switch {
	case status == 429 && d.quota:
		f.Kind, f.RetryAt = ralph.FailureQuota, d.resets
		f.Message = d.Name + ": the usage limit is reached"
	case attempt < 2:
		return
	case status == 401 || status == 403:
		f.Kind = ralph.FailureAuth
	case status == 404:
		f.Kind = ralph.FailureModel
	default:
		return
	}
	d.Lose(d.WithHint(f))
}

// rateLimit notes the provider's structured word about a usage limit.
func (d *Decoder) rateLimit(b []byte) {
	info := jsonscan.Fields(jsonscan.Field(b, "rate_limit_info"), "status", "resetsAt")
	d.quota = driver.NameOf(info["status"]) == "rejected"
	d.resets = time.Time{}
	if at := jsonscan.Number(info["resetsAt"]); d.quota && at > 0 && at < math.MaxInt32*64 {
		d.resets = time.Unix(int64(at), 0).UTC()
	}
}
