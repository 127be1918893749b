package forge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/secret"
)

const (
	// maxAnswer bounds the body of an answer. A pull request is some 20 KiB and
	// its body; a page has 100.
	maxAnswer = 16 << 20
	// maxAttempts is how often one request is sent when the forge fails.
	maxAttempts = 5
	// maxWait is the longest wait for a rate limit; GitHub's window is an hour.
	maxWait = time.Hour
)

// transport sends every request with the token, reads the whole answer, and
// tries again what may pass. It stands below go-github, which therefore sees
// final answers only.
type transport struct {
	next    http.RoundTripper
	token   secret.String
	origins map[string]bool // where the token may go
	graphQL string          // empty: none
	log     func(string)
	timeout time.Duration
	backoff time.Duration
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !t.origins[origin(req.URL)] {
		return nil, fmt.Errorf("refused to send the token to %s: it is not the forge", req.URL.Host)
	}
	if req.Body != nil {
		defer req.Body.Close() // each attempt gets a copy of its own
	}
	ctx := req.Context()
	for attempt := 1; ; attempt++ {
		resp, err := t.attempt(req)
		again := t.judge(req, resp, err, attempt)
		if err == nil && !again.retry {
			return resp, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !again.retry {
			return nil, err
		}
		if reason := t.cannotWait(ctx, again, attempt); reason != "" {
			return nil, &gaveUpError{last: again.why, reason: reason}
		}
		t.say(fmt.Sprintf("%s %s: %s; trying again in %s (attempt %d of %d)",
			req.Method, req.URL.Path, again.why, again.wait.Round(10*time.Millisecond), attempt+1, maxAttempts))
		if err := sleep(ctx, again.wait); err != nil {
			return nil, fmt.Errorf("%s, and then the run was cancelled: %w", again.why, err)
		}
	}
}

// attempt sends the request once and reads the answer to its end, both within
// the timeout, so that a server that hangs in either ends.
func (t *transport) attempt(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(req.Context(), t.timeout, fmt.Errorf("no answer within %s", t.timeout))
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
		return nil, permanentError{fmt.Errorf("the answer is larger than %d MiB", maxAnswer>>20)}
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
func (t *transport) cannotWait(ctx context.Context, v verdict, attempt int) string {
	if attempt >= maxAttempts {
		return fmt.Sprintf("tried %d times", attempt)
	}
	if v.wait > maxWait {
		return fmt.Sprintf("it asks to wait %s", v.wait.Round(time.Second))
	}
	if until, ok := ctx.Deadline(); ok && time.Until(until) <= v.wait {
		return fmt.Sprintf("the next attempt is due in %s, which is beyond the time left", v.wait.Round(10*time.Millisecond))
	}
	return ""
}

func (t *transport) say(line string) {
	if t.log != nil {
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

// gaveUpError is the last failure of a request that was tried again in vain.
type gaveUpError struct{ last, reason string }

func (e *gaveUpError) Error() string { return e.last + "; " + e.reason }

// jitter spreads waits over 0.5 to 1.5 of d, so that many jobs hit by one
// outage do not come back together.
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d/2 + rand.N(d) //nolint:gosec // no secret hangs on it
}

func sleep(ctx context.Context, d time.Duration) error {
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
	case !t.origins[origin(req.URL)]:
		return fmt.Errorf("refused a redirect to another host, %q", req.URL.Host)
	case len(via) >= 5:
		return errors.New("more than 5 redirects")
	case req.Method != via[0].Method:
		return errors.New("refused a redirect that would turn a write into a read: the repository may have moved, use its new name")
	}
	return nil
}
