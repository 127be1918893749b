package agent

import (
	"hash/maphash"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// claudeResult is the event that ends a turn of claude. There may be several;
// the last one stands.
type claudeResult struct {
	subtype  string
	isError  bool
	status   int    // api_error_status
	terminal string // terminal_reason
	stop     string // stop_reason
	text     string // result, or the first of errors
}

func (d *claudeDecoder) onResult(b []byte, subtype string) {
	v := fields(b, "is_error", "api_error_status", "terminal_reason", "stop_reason", "result", "errors",
		"num_turns", "total_cost_usd", "modelUsage", "model_usage_since_last_result", "usage", "error")
	r := &claudeResult{
		subtype:  subtype,
		isError:  isTrue(v["is_error"]) || strings.HasPrefix(subtype, "error"),
		status:   int(bounded(number(v["api_error_status"]))),
		terminal: str(v["terminal_reason"], maxName),
		stop:     str(v["stop_reason"], maxName),
		text:     oneLine(str(v["result"], 4*maxMessage)),
	}
	if errs := (scanner{b: v["errors"]}); r.text == "" && errs.eat('[') {
		r.text = oneLine(str(errs.value(), 4*maxMessage))
	}
	if r.text == "" {
		r.text = oneLine(str(v["error"], 4*maxMessage)) // amp's
	}
	d.result = r
	d.after = false
	d.turn.Messages += int(bounded(number(v["num_turns"])))
	cost := max(0, ralph.FromUSD(number(v["total_cost_usd"])))
	if now := v["model_usage_since_last_result"]; now != nil && d.results == 0 {
		d.before, d.models = earlier(v["modelUsage"], now, cost)
	}
	d.turn.Usage.Cost.Unknown = v["total_cost_usd"] == nil
	if v["total_cost_usd"] != nil {
		d.turn.Usage.Cost.Amount = max(0, cost-d.before.Cost.Amount)
	}
	switch {
	case v["modelUsage"] != nil: // of the whole run so far
		all := modelUsage(v["modelUsage"])
		d.turn.Usage.Tokens = less(sum(all).Tokens, d.before.Tokens)
		d.turn.Models = lessModels(all, d.models)
	case v["usage"] != nil: // since the last result
		if d.results == 0 {
			d.turn.Usage.Tokens = ralph.Tokens{}
		}
		d.turn.Usage.Tokens = d.turn.Usage.Tokens.Add(resultUsage(v["usage"]))
	default:
		d.turn.Usage.Tokens.Unknown = true
	}
	d.results++
	if !r.isError {
		d.resultText(v["result"])
	}
	d.told()
	if len(d.agents) == 0 {
		d.finished()
	}
}

// resultText emits the result's text when no message held it: the answer to a
// JSON schema comes so.
func (d *claudeDecoder) resultText(value []byte) {
	raw, _ := inner(value)
	hash := maphash.Bytes(d.seed, raw)
	for _, seen := range d.seen {
		if d.said && seen == hash {
			return
		}
	}
	d.text(value, "result "+strconv.Itoa(d.count), false)
}

// resultUsage is the usage of older CLIs and of amp, which have no modelUsage.
func resultUsage(b []byte) ralph.Tokens {
	v := fields(b, "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
	return ralph.Tokens{
		Input:      bounded(number(v["input_tokens"])),
		Output:     bounded(number(v["output_tokens"])),
		CacheRead:  bounded(number(v["cache_read_input_tokens"])),
		CacheWrite: bounded(number(v["cache_creation_input_tokens"])),
	}
}

// bounded makes a count of what claims to be one.
func bounded(f float64) int64 {
	if math.IsNaN(f) || f < 0 {
		return 0
	}
	return int64(min(f, 1e12))
}

// Turn is the turn as the stream told it.
func (d *claudeDecoder) Turn() ralph.Turn {
	t := d.turn
	if d.result == nil || d.after { // the rest was never reported
		t.Usage.Cost.Unknown, t.Usage.Tokens.Unknown, t.Models = true, true, nil
	}
	return t
}

// Done says that a final result is there, good or bad.
func (d *claudeDecoder) Done() bool { return d.result != nil }

// Failure is what went wrong by the CLI's own structured word; nil when the
// turn went well. exit is the exit code as a shell counts it.
func (d *claudeDecoder) Failure(exit int) *ralph.Failure {
	r := d.result
	switch {
	case r == nil && d.lost != nil:
		return d.lost
	case r == nil && d.apiErr != "":
		return d.apiFailure(&claudeResult{text: d.errText})
	case r == nil:
		return d.unfinished(exit, d.LastWords())
	case r.subtype == "error_max_budget_usd":
		return &ralph.Failure{Kind: ralph.FailureBudget, Message: r.text}
	case r.subtype == "error_max_turns":
		// The user's own --max-turns: the iteration ends where it was told to,
		// and the next one carries on.
		return nil
	case r.isError:
		return d.apiFailure(r)
	}
	return d.finishedWell(exit, d.LastWords())
}

// apiFailure sorts an error result by its status and by assistant.error. The
// words of the message are not looked at, with one exception: the usage limit
// of CLIs before rate_limit_event.
func (d *claudeDecoder) apiFailure(r *claudeResult) *ralph.Failure {
	f := &ralph.Failure{Kind: ralph.FailureCrash, Message: r.text}
	if f.Message == "" {
		f.Message = d.failure(f.Kind, "reported an error without a text", d.LastWords()).Message
	}
	reset, limited := usageLimit(r.text)
	switch {
	case limited:
		f.Kind, f.RetryAt = ralph.FailureQuota, reset
	case d.apiErr == "billing_error":
		f.Kind = ralph.FailureQuota
	case r.status == 429 || d.apiErr == "rate_limit":
		f.Kind = ralph.FailureAPI
		if d.quota {
			f.Kind, f.RetryAt = ralph.FailureQuota, d.resets
		}
	case r.status == 401 || r.status == 403 || d.apiErr == "authentication_failed" || d.apiErr == "oauth_org_not_allowed":
		f.Kind = ralph.FailureAuth
	case r.status == 404 || d.apiErr == "model_not_found":
		f.Kind = ralph.FailureModel
	case r.status >= 500 || r.status == 408 || r.status == 409:
		f.Kind = ralph.FailureAPI
	case r.status >= 400 || r.terminal == "prompt_too_long" || r.stop == "refusal" || d.apiErr == "invalid_request":
		f.Kind = ralph.FailureRequest
	case d.apiErr != "": // server_error, overloaded, max_output_tokens, unknown, and what comes
		f.Kind = ralph.FailureAPI
	}
	return d.hinted(f)
}

// usageLimit reads the error text "Claude AI usage limit reached|1749924000"
// of claude 1.x and early 2.x, whose number is when the limit resets.
func usageLimit(text string) (reset time.Time, ok bool) {
	at, ok := strings.CutPrefix(text, "Claude AI usage limit reached|")
	if !ok {
		return time.Time{}, false
	}
	if seconds, err := strconv.ParseInt(at, 10, 40); err == nil && seconds > 0 {
		reset = time.Unix(seconds, 0).UTC()
	}
	return reset, true
}
