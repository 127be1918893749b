package gemini

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

// errorReport is what gemini writes to stderr about an error of the API, as
// node prints one: the class and the message behind "Full report available at:
// PATH", then its fields. (0.61.0; the result lacks all of it.)
type errorReport struct {
	open   bool
	class  string
	status int           // of HTTP; 0: none
	delay  time.Duration // until the limit resets; 0: not known
}

func (r *errorReport) read(line string) {
	if _, rest, ok := strings.Cut(line, " Full report available at: "); ok {
		_, rest, _ = strings.Cut(rest, " ")
		class, _, _ := strings.Cut(rest, ":")
		*r = errorReport{open: true, class: strings.TrimLeft(class, "_")}
		return
	}
	if !r.open {
		return
	}
	if line == "}" {
		r.open = false
		return
	}
	name, value, _ := strings.Cut(strings.TrimRight(line, ","), ": ")
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || n < 0 || n > 1e12 {
		return
	}
	switch name { // those of the error itself, not of what caused it
	case "  status", "  code":
		r.status = int(n)
	case "  retryDelayMs":
		r.delay = time.Duration(n) * time.Millisecond
	}
}

// Failure is what went wrong by gemini's own word; nil when the turn went well.
// Behind an error of the API the exit code is its status modulo 256; 41 is for
// credentials that are missing.
func (d *decoder) Failure(exit int) *ralph.Failure {
	r := d.result
	switch {
	case r == nil && exit == 41:
		return d.WithHint(d.NewFailure(ralph.FailureAuth, "found no way to log in", d.LastWords()))
	case r == nil:
		return d.Unfinished(exit, d.LastWords())
	case !r.failed:
		return d.FinishedWell(exit, d.LastWords())
	case r.kind == "FatalTurnLimitedError":
		// The user's own maxSessionTurns: the iteration ends where it was told to.
		return nil
	}
	e := errorOf(r.message)
	if e.status == 0 {
		e.status = d.report.status
	}
	if e.status == 0 && exit >= 400-256 && exit < 256 {
		e.status = exit + 256
	}
	class := r.kind
	if class == "" || class == "unknown" || class == "Error" {
		class = d.report.class
	}
	message := cmp.Or(e.message, d.fault, "gemini reported an error without a text")
	f := &ralph.Failure{Kind: failureKind(class, e), Message: message}
	if f.Kind == ralph.FailureQuota && d.report.delay > 0 && !r.at.IsZero() {
		f.RetryAt = r.at.Add(d.report.delay)
	}
	return d.WithHint(f)
}

// apiError is an error as a provider words it.
type apiError struct {
	status          int
	reason, message string
}

// errorOf reads the message of a result: "[API Error: TEXT]", where TEXT may
// be the provider's own answer.
func errorOf(text string) apiError {
	rest, ok := strings.CutPrefix(text, "[API Error: ")
	if !ok {
		return apiError{message: driver.OneLine(text)}
	}
	rest, _, _ = strings.Cut(rest, "]\n")
	rest = strings.TrimSuffix(rest, "]")
	v := jsonscan.Fields(jsonscan.Field([]byte(rest), "error"), "code", "message", "details")
	e := apiError{status: int(jsonscan.Count(v["code"])), message: driver.OneLine(rest)}
	if s := driver.LineOf(v["message"]); s != "" {
		e.message = s
	}
	if c := jsonscan.New(v["details"]); c.At('[') {
		c.Array(func() {
			if reason := driver.NameOf(jsonscan.Field(c.Value(), "reason")); reason != "" {
				e.reason = reason
			}
		})
	}
	return e
}

// failureKind sorts an error by its class, its status and Google's reason.
func failureKind(class string, e apiError) ralph.FailureKind {
	switch class {
	case "TerminalQuotaError":
		return ralph.FailureQuota
	case "RetryableQuotaError":
		return ralph.FailureAPI
	case "ModelNotFoundError":
		return ralph.FailureModel
	case "FatalAuthenticationError", "ValidationRequiredError", "AccountSuspendedError":
		return ralph.FailureAuth
	}
	switch {
	case strings.HasPrefix(class, "Fatal"):
		return ralph.FailureCrash
	case strings.HasPrefix(e.reason, "API_KEY_"): // a wrong key is a 400 to Google
		return ralph.FailureAuth
	case e.status == 499: // a cancelled request is one to Google
		return ralph.FailureAPI
	}
	return driver.StatusKind(e.status)
}
