package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// verdict is what to do about one attempt.
type verdict struct {
	retry  bool
	wait   time.Duration
	why    string
	limit  bool // a rate limit: nothing has failed
	page   bool // a web page where an answer belongs
	unsure bool // the request may have been carried out
}

// most is how many attempts there are.
func (v verdict) most() int {
	if v.page {
		return pageAttempts
	}
	return maxAttempts
}

// PermanentError is a failure below HTTP that no retry can change.
type PermanentError struct{ Err error }

func (e PermanentError) Error() string { return e.Err.Error() }
func (e PermanentError) Unwrap() error { return e.Err }

// judge says whether to try again. The rules are those of GitHub's "Best
// practices for using the REST API" and "Rate limits for the REST API".
func (t *transport) judge(req *http.Request, resp *http.Response, err error, so tries) verdict {
	backoff := Jitter(t.backoff << so.faults)
	if err != nil {
		if permanent(err) {
			return verdict{}
		}
		return verdict{retry: true, wait: backoff, why: t.clean(err.Error()), unsure: !unsent(err)}
	}
	body := Peek(resp)
	page := webPage(resp)
	why := "answered " + strconv.Itoa(resp.StatusCode)
	if page {
		why += " with a web page"
	}
	switch status := resp.StatusCode; {
	case status == http.StatusTooManyRequests, status == http.StatusForbidden && limited(resp, body):
		return verdict{retry: true, limit: true, wait: t.limitWait(req.Context(), resp.Header, so.limits), why: fmt.Sprintf("rate limit (%d)", status)}
	case status >= 500 && status != http.StatusNotImplemented && status != http.StatusHTTPVersionNotSupported:
		if wait, stated := retryAfter(resp.Header); stated {
			backoff = max(backoff, wait)
		}
		return verdict{retry: true, wait: backoff, why: why, unsure: true}
	case page && status < 300:
		return verdict{retry: true, wait: backoff, page: true, unsure: true,
			why: why + ", which is not what the API promises (a proxy, a sign-in or a maintenance page; or GITHUB_API_URL is not the address of the API)"}
	case mayPass(status, body, req.URL.String() == t.graphQL):
		return verdict{retry: true, wait: backoff, why: why + ", the forge does not see the new branch, object or pull request yet"}
	}
	return verdict{}
}

// webPage reports whether an answer is meant for people. The API answers in JSON, and
// logs are plain text.
func webPage(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind == "text/html"
}

const (
	// unstatedWait is the wait for a secondary limit that does not say how long.
	unstatedWait = time.Minute
	// maxDoublings bounds how waits grow while the limit lasts: to 64 times the
	// backoff, or an hour.
	maxDoublings = 6
	// maxSpread bounds what is added to a wait.
	maxSpread = time.Minute
)

// limitWait is how long to wait for a rate limit that was met for the nth time
// (from 0). It is never less than what the forge asks for, and up to a half
// more, so that the many that wait for one limit do not come back together;
// the more is cut when there is little time left.
func (t *transport) limitWait(ctx context.Context, h http.Header, n int) time.Duration {
	n = min(n, maxDoublings)
	wait, stated := retryAfter(h)
	if stated {
		wait = max(wait, t.backoff<<n)
	} else {
		wait = unstatedWait << n
	}
	if wait > maxWait { // nobody will wait that long
		return wait
	}
	more := time.Duration(rand.Int64N(int64(min(wait/2, maxSpread)) + 1)) //nolint:gosec // no secret hangs on it
	if until, ok := ctx.Deadline(); ok {
		more = min(more, max(time.Until(until)-wait, 0)/2)
	}
	return wait + more
}

// unsent reports whether a request never reached the forge.
func unsent(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &dns)
}

// permanent reports whether sending the request again can change nothing: a name
// that does not exist, a certificate that is not trusted, a server that does
// not speak TLS.
func permanent(err error) bool {
	var (
		never     PermanentError
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
	if neverResolves(body) {
		return false
	}
	for _, text := range []string{
		"Could not resolve to a node", "Head sha can't be blank", "Head ref must be a branch",
		"Object does not exist", "Tree SHA does not exist", "Parent SHA does not exist",
	} {
		if bytes.Contains(body, []byte(text)) {
			return true
		}
	}
	return false
}

// neverResolves finds the refusal of a user or a team: they are older than what was
// just made, so that a token that cannot see them now never will. Ids of GitHub's
// nodes tell what they are of, in the form of today (T_…, U_…) and in the one of
// before, which is base64 of "04:Team…".
func neverResolves(body []byte) bool {
	_, id, ok := bytes.Cut(body, []byte("to a node with the global id of '"))
	if !ok {
		return false
	}
	for _, kind := range []string{"T_", "U_", "BOT_", "MDQ6VGVhb", "MDQ6VXNlc", "MDM6Qm90"} {
		if bytes.HasPrefix(id, []byte(kind)) {
			return true
		}
	}
	return false
}

// Peek returns the body, which attempt has read already, and leaves it in place.
func Peek(resp *http.Response) []byte {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		body = nil // cannot happen: it is in memory
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return body
}
