package streamjson

import (
	"hash/maphash"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

// result is the event that ends a turn of claude. There may be several;
// the last one stands.
type result struct {
	subtype  string
	isError  bool
	status   int    // api_error_status
	terminal string // terminal_reason
	stop     string // stop_reason
	text     string // result, or the first of errors
}

func (d *Decoder) onResult(b []byte, subtype string) {
	v := jsonscan.Fields(b, "is_error", "api_error_status", "terminal_reason", "stop_reason", "result", "errors",
		"num_turns", "total_cost_usd", "modelUsage", "model_usage_since_last_result", "usage", "error")
	r := &result{
		subtype:  subtype,
		isError:  jsonscan.IsTrue(v["is_error"]) || strings.HasPrefix(subtype, "error"),
		status:   int(jsonscan.Count(v["api_error_status"])),
		terminal: driver.NameOf(v["terminal_reason"]),
		stop:     driver.NameOf(v["stop_reason"]),
		text:     driver.LineOf(v["result"]),
	}
	if errs := jsonscan.New(v["errors"]); r.text == "" && errs.Eat('[') {
		r.text = driver.LineOf(errs.Value())
	}
	if r.text == "" {
		r.text = driver.LineOf(v["error"]) // amp's
	}
	d.result = r
	d.after = false
	d.Told.Messages += int(jsonscan.Count(v["num_turns"]))
	cost := max(0, ralph.FromUSD(jsonscan.Number(v["total_cost_usd"])))
	if now := v["model_usage_since_last_result"]; now != nil && d.results == 0 {
		d.before, d.models = earlier(v["modelUsage"], now, cost)
	}
	d.Told.Usage.Cost.Unknown = v["total_cost_usd"] == nil
	if v["total_cost_usd"] != nil {
		d.Told.Usage.Cost.Amount = max(0, cost-d.before.Cost.Amount)
	}
	switch {
	case v["modelUsage"] != nil: // of the whole run so far
		all := modelUsage(v["modelUsage"])
		d.Told.Usage.Tokens = driver.Less(driver.SumModels(all).Tokens, d.before.Tokens)
		d.Told.Models = lessModels(all, d.models)
	case v["usage"] != nil: // since the last result
		if d.results == 0 {
			d.Told.Usage.Tokens = ralph.Tokens{}
		}
		d.Told.Usage.Tokens = d.Told.Usage.Tokens.Add(resultUsage(v["usage"]))
	default:
		d.Told.Usage.Tokens.Unknown = true
	}
	d.results++
	if !r.isError {
		d.resultText(v["result"])
	}
	d.told()
	if len(d.agents) == 0 {
		d.Finished()
	}
}

// resultText emits the result's text when no message held it: the answer to a
// JSON schema comes so.
func (d *Decoder) resultText(value []byte) {
	raw, _ := jsonscan.Inner(value)
	hash := maphash.Bytes(d.seed, raw)
	for _, seen := range d.seen {
		if d.Said && seen == hash {
			return
		}
	}
	d.text(value, "result "+strconv.Itoa(d.Count), false)
}

// resultUsage is the usage of older CLIs and of amp, which have no modelUsage.
func resultUsage(b []byte) ralph.Tokens {
	v := jsonscan.Fields(b, "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
	return ralph.Tokens{
		Input:      jsonscan.Count(v["input_tokens"]),
		Output:     jsonscan.Count(v["output_tokens"]),
		CacheRead:  jsonscan.Count(v["cache_read_input_tokens"]),
		CacheWrite: jsonscan.Count(v["cache_creation_input_tokens"]),
	}
}

// Turn is the turn as the stream told it.
func (d *Decoder) Turn() ralph.Turn {
	t := d.Told
	if d.result == nil || d.after { // the rest was never reported
		t.Usage.Cost.Unknown, t.Usage.Tokens.Unknown, t.Models = true, true, nil
	}
	return t
}

// Done says that a final result is there, good or bad.
func (d *Decoder) Done() bool { return d.result != nil }

// Failure is what went wrong by the CLI's own structured word; nil when the
// turn went well. exit is the exit code as a shell counts it.
func (d *Decoder) Failure(exit int) *ralph.Failure {
	r := d.result
	switch {
	case r == nil && d.Lost != nil:
		return d.Lost
	case r == nil && d.apiErr != "":
		return d.apiFailure(&result{text: d.errText})
	case r == nil:
		return d.Unfinished(exit, d.LastWords())
	case r.subtype == "error_max_budget_usd":
		return &ralph.Failure{Kind: ralph.FailureBudget, Message: r.text}
	case r.subtype == "error_max_turns":
		// The user's own --max-turns: the iteration ends where it was told to,
		// and the next one carries on.
		return nil
	case r.isError:
		return d.apiFailure(r)
	}
	return d.FinishedWell(exit, d.LastWords())
}

// apiFailure sorts an error result by its status and by assistant.error. The
// words of the message are not looked at, with one exception: the usage limit
// of CLIs before rate_limit_event.
func (d *Decoder) apiFailure(r *result) *ralph.Failure {
	f := &ralph.Failure{Kind: ralph.FailureCrash, Message: r.text}
	if f.Message == "" {
		f.Message = d.NewFailure(f.Kind, "reported an error without a text", d.LastWords()).Message
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
	return d.WithHint(f)
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
