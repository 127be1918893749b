package opencode

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

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
	logValue = regexp.MustCompile(` (message|ref|error|error\.error)=("(?:[^"\\]|\\.)*"|[^ ]*)`)
	colours  = regexp.MustCompile("\x1b\\[[0-9;]*m")
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
