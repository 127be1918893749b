package streamjson

import (
	"hash/maphash"
	"slices"
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

// Done reports whether a final result is there, good or bad.
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

// spending is what a turn has used so far: what its last result told, and behind
// it what messages told when they began. The latter is less than they used in the
// end, because their output was still to come.
type spending struct {
	told  []ralph.ModelUsage
	since []ralph.ModelUsage
	// seen holds hashes of the ids of the last messages: each block of a message
	// repeats its usage, and those of subagents at work together alternate.
	seen [64]uint64
	n    int
}

// spend counts a message once. Those of subagents count, too. amp's messages
// have no id, and come whole.
func (d *Decoder) spend(e envelope) {
	id, _ := jsonscan.Inner(e.id)
	if !jsonscan.IsSet(e.usage) || len(id) == 0 && d.Name != "amp" {
		return
	}
	if len(id) > 0 {
		hash := maphash.Bytes(d.seed, id)
		if slices.Contains(d.spent.seen[:], hash) {
			return
		}
		d.spent.seen[d.spent.n%len(d.spent.seen)] = hash
		d.spent.n++
	}
	tokens := resultUsage(e.usage)
	if tokens == (ralph.Tokens{}) {
		return
	}
	d.spent.since = driver.AddModel(d.spent.since, driver.Unpriced(driver.NameOf(e.model), tokens))
	d.Usage(slices.Concat(d.spent.told, d.spent.since)...)
}

// told takes over what a result said of the turn so far.
func (d *Decoder) told() {
	d.spent.told, d.spent.since = slices.Clone(d.Told.Models), nil
	if d.Told.Models == nil {
		d.spent.told = []ralph.ModelUsage{{Model: d.Told.Model, Usage: d.Told.Usage}}
	}
	d.Usage(d.spent.told...)
}

// modelUsage is what each model used; result.usage leaves out subagents.
func modelUsage(b []byte) (models []ralph.ModelUsage) {
	jsonscan.Members(b, func(name, model []byte) {
		v := jsonscan.Fields(model, "inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "costUSD")
		models = driver.AddModel(models, ralph.ModelUsage{Model: jsonscan.Plain(name, driver.MaxName), Usage: ralph.Usage{
			Cost: ralph.Cost{Amount: max(0, ralph.FromUSD(jsonscan.Number(v["costUSD"]))), Unknown: v["costUSD"] == nil},
			Tokens: ralph.Tokens{
				Input:      jsonscan.Count(v["inputTokens"]),
				Output:     jsonscan.Count(v["outputTokens"]),
				CacheRead:  jsonscan.Count(v["cacheReadInputTokens"]),
				CacheWrite: jsonscan.Count(v["cacheCreationInputTokens"]),
			},
		}})
	})
	return models
}

// earlier is what a session had used before this turn, in all and by model. Of a
// session that is gone on in, newer CLIs (seen: 2.1.329, not 2.1.197) count cost
// and modelUsage from its very beginning; the same CLIs say what belongs to a
// result alone.
func earlier(all, now []byte, cost ralph.MicroUSD) (before ralph.Usage, models []ralph.ModelUsage) {
	total, this := modelUsage(all), modelUsage(now)
	before.Tokens = driver.Less(driver.SumModels(total).Tokens, driver.SumModels(this).Tokens)
	if before.Tokens == (ralph.Tokens{}) {
		return before, nil
	}
	before.Cost.Amount = max(0, cost-driver.SumModels(this).Cost.Amount)
	return before, lessModels(total, this)
}

// lessModels is a without b; what nothing is left of is left out.
func lessModels(a, b []ralph.ModelUsage) (left []ralph.ModelUsage) {
	for _, m := range a {
		for _, n := range b {
			if n.Model == m.Model {
				m.Usage.Tokens = driver.Less(m.Usage.Tokens, n.Usage.Tokens)
				m.Usage.Cost.Amount = max(0, m.Usage.Cost.Amount-n.Usage.Cost.Amount)
			}
		}
		if m.Usage.Tokens != (ralph.Tokens{}) || m.Usage.Cost.Amount != 0 {
			left = append(left, m)
		}
	}
	return left
}
