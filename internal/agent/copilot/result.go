package copilot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

// Close ends the stream, and reads what the CLI left of its usage.
func (d *decoder) Close() {
	d.Stream.Close()
	if d.used != nil {
		d.metrics([]byte(d.used()))
	}
}

// metrics reads the file of --usage-output-file: what the session used, earlier
// turns included. inputTokens hold those of the cache, whatever the provider's
// own way to count is. AI credits are dollar cents, if all calls told theirs.
// Premium requests are no money.
func (d *decoder) metrics(b []byte) {
	v := jsonscan.Fields(b, "modelMetrics", "totalNanoAiu", "aiCreditsStatus")
	var models []ralph.ModelUsage
	whole := jsonscan.Members(v["modelMetrics"], func(name, metric []byte) {
		u := jsonscan.Fields(jsonscan.Field(metric, "usage"), "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
		models = driver.AddModel(models, driver.Unpriced(jsonscan.Plain(name, driver.MaxName),
			driver.TokensWithCache(u["inputTokens"], u["cacheReadTokens"], u["cacheWriteTokens"], u["outputTokens"])))
	})
	if !whole || len(models) == 0 {
		return
	}
	d.Told.Usage.Tokens = driver.SumModels(models).Tokens
	if d.goesOn {
		return // the turn's part of the rest is not known
	}
	d.Told.Models = models
	if driver.NameOf(v["aiCreditsStatus"]) == "complete" {
		d.Told.Usage.Cost = ralph.Cost{Amount: max(0, ralph.FromUSD(jsonscan.Number(v["totalNanoAiu"])/nanoCreditsPerUSD))}
	}
}

// nanoCreditsPerUSD is 1e9 for an AI credit, of which a dollar buys a hundred.
const nanoCreditsPerUSD = 1e11

// Done says that the result is there.
func (d *decoder) Done() bool { return d.done }

// Failure is what went wrong by copilot's own word; nil when the turn went
// well. An error it recovered from does not count.
func (d *decoder) Failure(exit int) *ralph.Failure {
	switch {
	case d.done && d.code == 0:
		return d.FinishedWell(exit, d.LastWords())
	case d.Lost != nil:
		return d.Lost
	case d.fault != nil:
		return d.judge(d.fault)
	case d.done:
		return d.NewFailure(ralph.FailureCrash, fmt.Sprintf("ended with the code %d and no error", d.code), d.LastWords())
	}
	return d.unstarted(exit)
}

// judge words an error.
func (d *decoder) judge(f *sessionError) *ralph.Failure {
	failure := &ralph.Failure{Kind: d.kind(f), Message: cmp.Or(f.message, "copilot reported an error without a text")}
	if failure.Kind == ralph.FailureQuota {
		failure.RetryAt = d.call.resets
	}
	return d.WithHint(failure)
}

// unstarted judges a turn without a result. Without a login there is not one
// line, only words on stderr; they have no code.
func (d *decoder) unstarted(exit int) *ralph.Failure {
	words := d.LastWords()
	if d.Count == 0 && exit != 0 && strings.HasPrefix(words, "Error: No authentication information found.") {
		return d.WithHint(d.NewFailure(ralph.FailureAuth, "found no credentials", ""))
	}
	return d.Unfinished(exit, words)
}

// kind sorts an error by its type and code, by the status of the answer, and by
// what became of the request.
func (d *decoder) kind(f *sessionError) ralph.FailureKind {
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
	case status == 400 && d.call.bodyless:
		return ralph.FailureAPI
	case status == 0 && d.failed == 0 && d.empty:
		return ralph.FailureEmpty
	case status == 0 && d.failed == 0 && f.kind == "query":
		return ralph.FailureRequest // nothing was asked: it is too long, says copilot itself
	}
	return driver.StatusKind(f.status)
}
