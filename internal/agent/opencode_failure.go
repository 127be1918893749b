package agent

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// opencodeError is a line of the type "error". The CLI may go on behind it.
type opencodeError struct {
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
func (d *opencodeDecoder) fail(b []byte, at float64) {
	v := fields(b, "name", "data")
	data := fields(v["data"], "message", "ref", "statusCode", "isRetryable", "responseHeaders", "responseBody")
	e := &opencodeError{
		name: str(v["name"], maxName), message: oneLine(str(data["message"], 4*maxMessage)), ref: str(data["ref"], maxName),
		status: int(bounded(number(data["statusCode"]))), retryable: isTrue(data["isRetryable"]),
	}
	body := fields([]byte(str(data["responseBody"], 16*maxMessage)), "error")["error"]
	w := fields(body, "type", "code", "resets_at", "resets_in_seconds")
	e.code = firstOf(str(w["code"], maxName), str(w["type"], maxName))
	now := time.UnixMilli(bounded(at)).UTC()
	headers := fields(data["responseHeaders"], "retry-after", "date")
	if date, err := time.Parse(time.RFC1123, str(headers["date"], maxName)); err == nil {
		now = date.UTC()
	}
	after := str(headers["retry-after"], maxName)
	if seconds, err := strconv.Atoi(after); err == nil && seconds > 0 && seconds < 1e8 {
		e.resets = now.Add(time.Duration(seconds) * time.Second)
	} else if date, err := time.Parse(time.RFC1123, after); err == nil {
		e.resets = date.UTC()
	}
	if n := number(w["resets_in_seconds"]); n > 0 && n < 1e8 {
		e.resets = now.Add(time.Duration(n) * time.Second)
	}
	if n := number(w["resets_at"]); n > 0 && n < 1e11 {
		e.resets = time.Unix(int64(n), 0).UTC()
	}
	if e.status == 429 && e.resets.Sub(now) >= longWait {
		e.code = "usage_limit_reached"
	}
	if d.answered {
		d.overflows = 0
	}
	d.err, d.running, d.answered = e, false, false
	d.progress(firstOf(e.message, e.name))
	if e.name != "ContextOverflowError" {
		return
	}
	// The CLI makes the session shorter and asks again, for ever when that is of
	// no use.
	if d.overflows++; d.overflows > 1 {
		d.lose(d.judge(e))
	}
}

// settle forgets an error the session got over.
func (d *opencodeDecoder) settle() {
	if d.err != nil && d.answered {
		d.err, d.overcame = nil, true
	}
}

// Failure is what went wrong by opencode's own word; nil when the turn went
// well. It exits with 1 also when it got over an error.
func (d *opencodeDecoder) Failure(exit int) *ralph.Failure {
	switch {
	case d.lost != nil:
		return d.lost
	case d.err != nil:
		return d.judge(d.err)
	case d.steps == 0 || d.running:
		return d.unfinished(exit, d.LastWords())
	case exit == 1 && d.overcame:
		exit = 0
	}
	return d.finishedWell(exit, d.LastWords())
}

func (d *opencodeDecoder) judge(e *opencodeError) *ralph.Failure {
	message := e.message
	if e.name == "UnknownError" && e.ref != "" && e.ref == d.log.ref {
		message = d.log.fault
	}
	f := &ralph.Failure{Kind: opencodeFailure(e), Message: firstOf(message, e.name, "opencode reported an error without a text")}
	switch {
	case e.name == "UnknownError" && strings.HasPrefix(message, "ProviderModelNotFoundError: "):
		f.Kind = ralph.FailureModel
	case f.Kind == ralph.FailureQuota:
		f.RetryAt = e.resets
	}
	return d.hinted(f)
}

// opencodeFailure sorts an error by its name, its status and the provider's
// code.
func opencodeFailure(e *opencodeError) ralph.FailureKind {
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
	case e.code == "model_not_found" || e.status == 404:
		return ralph.FailureModel
	case e.status == 401 || e.status == 403:
		return ralph.FailureAuth
	case e.status >= 400 && e.status < 500 && e.status != 408 && e.status != 409 && e.status != 429 && !e.retryable:
		return ralph.FailureRequest
	}
	return ralph.FailureAPI
}

// opencodeLog is what the CLI logs to stderr about errors, in lines of name=value
// pairs: a request that failed and is repeated, and what stands behind an error
// whose stream tells a reference only.
type opencodeLog struct {
	lines      lines
	ref, fault string
	last       string
}

var (
	logValue = regexp.MustCompile(` (message|ref|error|error\.error)=("(?:[^"\\]|\\.)*"|[^ ]*)`)
	colours  = regexp.MustCompile("\x1b\\[[0-9;]*m")
)

// Stderr keeps what the CLI says for people, and reads its log.
func (d *opencodeDecoder) Stderr(p []byte) { _, _ = d.log.lines.Write(p) }

func (d *opencodeDecoder) complaint(b []byte, _ bool) {
	line := valid(b)
	if !strings.HasPrefix(line, "timestamp=") {
		_, _ = d.errs.Write([]byte(colours.ReplaceAllString(line, "") + "\n"))
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
	switch fault := oneLine(firstOf(v["error.error"], v["error"])); {
	case fault == "":
	case v["ref"] != "":
		d.log.ref, d.log.fault, d.log.last = clip(v["ref"], maxName), fault, fault
	case v["message"] == "stream error":
		d.log.last = fault
		d.progress("request failed: " + fault)
	}
}

// LastWords is the last line the CLI wrote for people, or its last error.
func (d *opencodeDecoder) LastWords() string {
	return firstOf(lastLine(d.errs.String()), d.log.last, d.noise)
}
