package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/lib/secret"
)

const (
	// maxAnswer bounds the body of an answer. A pull request is some 20 KiB and
	// its body; a page has 100.
	maxAnswer = 16 << 20
	// maxAttempts is how often one request is sent when the forge fails. Waits
	// for rate limits are no attempts.
	maxAttempts = 5
	// pageAttempts is the same for web pages in place of answers: one of a
	// maintenance passes, one of a wrong address does not.
	pageAttempts = 3
	// maxWait is the longest wait a rate limit may ask for, and, for a context
	// without a deadline, the sum of such waits; GitHub's window is an hour.
	maxWait = time.Hour
	// slowest is the rate, in bytes a second, at which a request's body may still
	// go out: a large one gets so much more time.
	slowest = 256 << 10
)

// transport sends every request with the token, reads the whole answer, and
// tries again what may pass. It stands below go-github, which therefore sees
// final answers only. It may be used by several goroutines at a time.
//
// A request that is sent again may have been carried out before: the answer got
// lost, or stood behind a 502. Reading, PATCH, PUT and DELETE can bear it, and
// so can the POSTs whose second answer says that the thing is there (a pull
// request, a reference), that add to a set (labels, assignees, reviewers) or
// that store an object of git's. A POST that would make a second thing (a
// comment) is sent by CallOnce.
type transport struct {
	next    http.RoundTripper
	token   secret.String
	origins map[string]bool // where the token may go
	graphQL string          // empty: none
	log     func(string)
	timeout time.Duration
	backoff time.Duration
	pace    pace

	logging sync.Mutex // log is called by one goroutine at a time
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !t.origins[Origin(req.URL)] {
		return nil, fmt.Errorf("refused to send the token to %s: it is not the forge", req.URL.Host)
	}
	if req.Body != nil {
		defer req.Body.Close() // each attempt gets a copy of its own
	}
	ctx := req.Context()
	var so tries
	for {
		if req.Method == http.MethodPost && req.URL.String() != t.graphQL {
			if err := t.pace.wait(ctx); err != nil {
				return nil, err
			}
		}
		resp, err := t.attempt(req)
		again := t.judge(req, resp, err, so)
		if err == nil && !again.retry {
			return resp, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !again.retry {
			return nil, err
		}
		if again.unsure && sentOnce(ctx) {
			return nil, &lostError{why: again.why}
		}
		if reason := t.cannotWait(ctx, again, so); reason != "" {
			return nil, &GaveUpError{Last: again.why, Reason: reason}
		}
		count := ""
		if again.limit {
			so.limits, so.waited = so.limits+1, so.waited+again.wait
		} else {
			so.faults++
			count = fmt.Sprintf(" (attempt %d of %d)", so.faults+1, again.most())
		}
		t.say(fmt.Sprintf("%s %s: %s; trying again in %s%s",
			req.Method, req.URL.Path, again.why, again.wait.Round(10*time.Millisecond), count))
		if err := Sleep(ctx, again.wait); err != nil {
			return nil, fmt.Errorf("%s, and then the run was cancelled: %w", again.why, err)
		}
	}
}

// tries is what has become of one request so far.
type tries struct {
	faults int           // attempts that failed
	limits int           // answers that said to wait
	waited time.Duration // for limits
}

// attempt sends the request once and reads the answer to its end, both within
// the timeout, so that a server that hangs in either ends.
func (t *transport) attempt(req *http.Request) (*http.Response, error) {
	timeout := t.timeout + time.Duration(max(req.ContentLength, 0)/slowest)*time.Second
	ctx, cancel := context.WithTimeoutCause(req.Context(), timeout, fmt.Errorf("no answer within %s", timeout))
	defer cancel()
	once := req.Clone(ctx)
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		once.Body = body
	}
	once.Header.Set("Authorization", "Bearer "+t.token.Reveal())
	resp, err := t.next.RoundTrip(once)
	if err != nil {
		return nil, cause(ctx, err)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	_ = resp.Body.Close() // read to its end or given up
	if err != nil {
		return nil, cause(ctx, err)
	}
	if len(body) > maxAnswer {
		return nil, PermanentError{Err: fmt.Errorf("the answer is larger than %d MiB", maxAnswer>>20)}
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.Request = req
	return resp, nil
}

// cause prefers the timeout's own words to "context deadline exceeded".
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// cannotWait says why there is no further attempt; "" when there is one.
func (t *transport) cannotWait(ctx context.Context, v verdict, so tries) string {
	until, bounded := ctx.Deadline()
	switch {
	case !v.limit && so.faults+1 >= v.most():
		return fmt.Sprintf("tried %d times", so.faults+1)
	case v.wait > maxWait+maxSpread:
		return fmt.Sprintf("it asks to wait %s", v.wait.Round(time.Second))
	case bounded && time.Until(until) <= v.wait:
		return fmt.Sprintf("the next attempt is due in %s, which is beyond the time left", v.wait.Round(10*time.Millisecond))
	case !bounded && so.waited+v.wait > maxWait+maxSpread:
		return fmt.Sprintf("waited %s for it already", so.waited.Round(time.Second))
	}
	return ""
}

func (t *transport) say(line string) {
	if t.log != nil {
		t.logging.Lock()
		defer t.logging.Unlock()
		t.log(t.clean(line))
	}
}

// maxQuoted is how many characters of foreign text an error or a log line
// quotes.
const maxQuoted = 400

// clean makes foreign text fit for one line of ours: no token, no control
// characters, bounded.
func (t *transport) clean(text string) string {
	if t.token.IsSet() {
		text = strings.ReplaceAll(text, t.token.Reveal(), "***")
	}
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxQuoted {
		return string(runes[:maxQuoted]) + " …"
	}
	return text
}

// GaveUpError is the last failure of a request that was tried again in vain.
type GaveUpError struct{ Last, Reason string }

func (e *GaveUpError) Error() string { return e.Last + "; " + e.Reason }

// lostError is a request whose answer got lost: it may have been carried out,
// and must not be sent again before somebody looked.
type lostError struct{ why string }

func (e *lostError) Error() string { return e.why + "; whether it was done is not known" }

type onceKey struct{}

func sentOnce(ctx context.Context) bool { return ctx.Value(onceKey{}) != nil }

// CallOnce is Call for a POST that the forge would do a second time (a comment).
// It is not sent again once it may have arrived: the error says lost then, and
// the caller looks whether the thing is there. What the forge refused, or never
// got, is tried again as usual.
func (c *Client) CallOnce(ctx context.Context, method, path string, in, out any) error {
	return c.Call(context.WithValue(ctx, onceKey{}, true), method, path, in, out)
}

// Lost reports whether nobody knows whether a request of callOnce was carried out.
func Lost(err error) bool {
	var e *lostError
	return errors.As(err, &e)
}

// Jitter spreads waits over 0.5 to 1.5 of d, so that many jobs hit by one
// outage do not come back together.
func Jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d/2 + rand.N(d) //nolint:gosec // no secret hangs on it
}

// Sleep waits, or returns the error of a context that ended before.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkRedirect follows a moved repository on the same forge. Another host
// never gets the request, and a write is never turned into a read.
func (t *transport) checkRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case !t.origins[Origin(req.URL)]:
		return fmt.Errorf("refused a redirect to another host, %q", req.URL.Host)
	case len(via) >= 5:
		return errors.New("more than 5 redirects")
	case req.Method != via[0].Method:
		return errors.New("refused a redirect that would turn a write into a read: the repository may have moved, use its new name")
	}
	return nil
}
