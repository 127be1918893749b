package forge

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// verdict is what to do about one attempt.
type verdict struct {
	retry bool
	wait  time.Duration
	why   string
}

// permanentError is a failure below HTTP that no retry can change.
type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

// judge says whether to try again. The rules are those of GitHub's "Best
// practices for using the REST API" and "Rate limits for the REST API".
func (t *transport) judge(req *http.Request, resp *http.Response, err error, attempt int) verdict {
	backoff := jitter(t.backoff << (attempt - 1))
	if err != nil {
		if permanent(err) {
			return verdict{}
		}
		return verdict{retry: true, wait: backoff, why: t.clean(err.Error())}
	}
	defer hideLimits(resp)
	body := peek(resp)
	why := "answered " + strconv.Itoa(resp.StatusCode)
	switch status := resp.StatusCode; {
	case status == http.StatusTooManyRequests, status == http.StatusForbidden && limited(resp, body):
		wait, stated := retryAfter(resp.Header)
		if !stated {
			// A secondary limit without a hint: at least a minute.
			wait = jitter(time.Minute) + time.Minute/2
		}
		return verdict{retry: true, wait: wait, why: fmt.Sprintf("rate limit (%d)", status)}
	case status >= 500 && status != http.StatusNotImplemented && status != http.StatusHTTPVersionNotSupported:
		if wait, stated := retryAfter(resp.Header); stated {
			backoff = max(backoff, wait)
		}
		return verdict{retry: true, wait: backoff, why: why}
	case mayPass(status, body, req.URL.String() == t.graphQL):
		return verdict{retry: true, wait: backoff, why: why + ", the forge does not see the new branch or pull request yet"}
	}
	return verdict{}
}

// permanent says that sending the request again can change nothing: a name
// that does not exist, a certificate that is not trusted, a server that does
// not speak TLS.
func permanent(err error) bool {
	var (
		never     permanentError
		dns       *net.DNSError
		untrusted *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		record    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &never), errors.As(err, &untrusted), errors.As(err, &authority), errors.As(err, &record):
		return true
	case errors.As(err, &dns):
		return dns.IsNotFound
	}
	return false
}

// limited tells a 403 that is a rate limit from one that is a refusal. The
// message has to be looked at: a secondary limit may come with neither
// Retry-After nor an empty budget.
func limited(resp *http.Response, body []byte) bool {
	if resp.Header.Get("Retry-After") != "" || resp.Header.Get("X-RateLimit-Remaining") == "0" {
		return true
	}
	return bytes.Contains(body, []byte("secondary rate limit")) || bytes.Contains(body, []byte("abuse detection"))
}

// retryAfter is the wait the server asks for.
func retryAfter(h http.Header) (time.Duration, bool) {
	if raw := strings.TrimSpace(h.Get("Retry-After")); raw != "" {
		if seconds, err := strconv.ParseInt(raw, 10, 32); err == nil && seconds >= 0 {
			return time.Duration(seconds) * time.Second, true
		}
		if at, err := http.ParseTime(raw); err == nil {
			return max(time.Until(at), 0), true
		}
	}
	if h.Get("X-RateLimit-Remaining") != "0" {
		return 0, false
	}
	reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil || reset <= 0 {
		return 0, false
	}
	// A second on top: the reset is given in whole seconds.
	return max(time.Until(time.Unix(reset, 0)), 0) + time.Second, true
}

// mayPass finds the 4xx answers that change by themselves: for some seconds
// after a push or a creation GitHub's replicas do not know the new object.
// Nothing but the text tells them (create-pull-request retries the first one
// for the same reason). GraphQL sends it with status 200.
func mayPass(status int, body []byte, graphQL bool) bool {
	if status != http.StatusUnprocessableEntity && (!graphQL || status != http.StatusOK) {
		return false
	}
	for _, text := range []string{"Could not resolve to a node", "Head sha can't be blank", "Head ref must be a branch"} {
		if bytes.Contains(body, []byte(text)) {
			return true
		}
	}
	return false
}

// peek returns the body, which attempt has read already, and leaves it in place.
func peek(resp *http.Response) []byte {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		body = nil // cannot happen: it is in memory
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// hideLimits takes the rate-limit headers out of an answer. go-github would
// remember them and answer the next calls itself, without asking the forge.
func hideLimits(resp *http.Response) {
	for _, name := range []string{"Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Used"} {
		resp.Header.Del(name)
	}
}
