package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// maxModels bounds the models of a turn that are told apart.
const maxModels = 64

// Close ends the stream, and reads what the CLI left of its usage.
func (d *copilotDecoder) Close() {
	d.common.Close()
	if d.used != nil {
		d.metrics([]byte(d.used()))
	}
}

// metrics reads the file of --usage-output-file: what the session used, earlier
// turns included. inputTokens hold those of the cache, whatever the provider's
// own way to count is. AI credits are dollar cents, if all calls told theirs.
// Premium requests are no money.
func (d *copilotDecoder) metrics(b []byte) {
	v := fields(b, "modelMetrics", "totalNanoAiu", "aiCreditsStatus")
	var models []ralph.ModelUsage
	whole := members(v["modelMetrics"], func(name, metric []byte) {
		u := fields(fields(metric, "usage")["usage"], "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
		t := ralph.Tokens{
			Output: bounded(number(u["outputTokens"])), CacheRead: bounded(number(u["cacheReadTokens"])), CacheWrite: bounded(number(u["cacheWriteTokens"])),
		}
		t.Input = max(0, bounded(number(u["inputTokens"]))-t.CacheRead-t.CacheWrite)
		if len(models) < maxModels {
			models = append(models, ralph.ModelUsage{Model: plain(name, maxName), Usage: ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: t}})
		}
	})
	if !whole || len(models) == 0 {
		return
	}
	slices.SortFunc(models, func(a, b ralph.ModelUsage) int { return cmp.Compare(a.Model, b.Model) })
	d.turn.Usage.Tokens = ralph.Tokens{}
	for _, u := range models {
		d.turn.Usage.Tokens = d.turn.Usage.Tokens.Add(u.Usage.Tokens)
	}
	if d.goesOn {
		return // the turn's part of the rest is not known
	}
	d.turn.Models = models
	if str(v["aiCreditsStatus"], maxName) == "complete" {
		d.turn.Usage.Cost = ralph.Cost{Amount: max(0, ralph.FromUSD(number(v["totalNanoAiu"])/nanoCreditsPerUSD))}
	}
}

// nanoCreditsPerUSD is 1e9 for an AI credit, of which a dollar buys a hundred.
const nanoCreditsPerUSD = 1e11

// Done says that the result is there.
func (d *copilotDecoder) Done() bool { return d.done }

// Failure is what went wrong by copilot's own word; nil when the turn went
// well. An error it recovered from does not count.
func (d *copilotDecoder) Failure(exit int) *ralph.Failure {
	switch {
	case d.done && d.code == 0:
		return d.finishedWell(exit, d.LastWords())
	case d.lost != nil:
		return d.lost
	case d.fault != nil:
		return d.judge(d.fault)
	case d.done:
		return d.failure(ralph.FailureCrash, fmt.Sprintf("ended with the code %d and no error", d.code), d.LastWords())
	}
	return d.unstarted(exit)
}

// judge words an error.
func (d *copilotDecoder) judge(f *copilotFault) *ralph.Failure {
	failure := &ralph.Failure{Kind: d.kind(f), Message: firstOf(f.message, "copilot reported an error without a text")}
	if failure.Kind == ralph.FailureQuota {
		failure.RetryAt = d.call.resets
	}
	return d.hinted(failure)
}

// unstarted judges a turn without a result. Without a login there is not one
// line, only words on stderr; they have no code.
func (d *copilotDecoder) unstarted(exit int) *ralph.Failure {
	words := d.LastWords()
	if d.count == 0 && exit != 0 && strings.HasPrefix(words, "Error: No authentication information found.") {
		return d.hinted(d.failure(ralph.FailureAuth, "found no credentials", ""))
	}
	return d.unfinished(exit, words)
}

// kind sorts an error by its type and code, by the status of the answer, and by
// what became of the request.
func (d *copilotDecoder) kind(f *copilotFault) ralph.FailureKind {
	code := f.code
	if code == "" && f.status == d.call.status {
		code = d.call.code // GitHub tells it with the error, others with the call
	}
	is := func(codes ...string) bool { return slices.Contains(codes, code) }
	switch status := f.status; {
	case f.kind == "quota" || status == 402 || is("insufficient_quota", "quota_exceeded", "session_quota_exceeded"),
		strings.HasPrefix(code, "user_") && strings.HasSuffix(code, "_rate_limited"):
		return ralph.FailureQuota
	case status == 404 || is("model_not_found", "model_not_supported"):
		return ralph.FailureModel
	case f.kind == "authentication" || f.kind == "authorization" || status == 401 || status == 403:
		return ralph.FailureAuth
	case f.kind == "context_limit" || f.kind == "policy":
		return ralph.FailureRequest
	case status == 400 && d.call.bodyless || status == 408 || status == 409 || status == 429:
		return ralph.FailureAPI
	case status >= 400 && status < 500:
		return ralph.FailureRequest
	case status == 0 && d.failed == 0 && d.empty:
		return ralph.FailureEmpty
	case status == 0 && d.failed == 0 && f.kind == "query":
		return ralph.FailureRequest // nothing was asked: it is too long, says copilot itself
	}
	return ralph.FailureAPI
}
