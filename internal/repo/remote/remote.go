// Package remote speaks git's smart HTTP with the server of a repository.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/repo/printable"
)

const (
	UploadPack  = "git-upload-pack"
	ReceivePack = "git-receive-pack"

	AgentName = "ralph"

	maxAttempts   = 6
	pageAttempts  = 3 // at a web page: one of a maintenance passes, one of a wrong address does not
	defaultDelay  = 500 * time.Millisecond
	MaxDelay      = 20 * time.Second
	answerTimeout = 2 * time.Minute // a server may work long on a push before it answers
	MaxErrorBytes = 4 << 10
)

// Server speaks git's smart HTTP (gitprotocol-http, version 0) with one
// repository. go-git's own client is not used: it holds a whole push in memory
// and hides the server's words.
type Server struct {
	URL    *url.URL
	Token  secret.String
	Push   secret.String // for pushing alone; not set: token
	Delay  time.Duration
	client *http.Client
	asked  map[string]*Question // questions under way, by service
}

// New returns the server at an http or https URL, which holds no credentials.
func New(raw string, token secret.String, rt http.RoundTripper, delay time.Duration) (*Server, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("remote %q is not an http or https URL", printable.Line(raw, 200))
	}
	if u.User != nil {
		return nil, fmt.Errorf("remote %q holds credentials: pass them as the token", u.Redacted())
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	if rt == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DialContext = (&net.Dialer{Timeout: 15 * time.Second}).DialContext
		t.ResponseHeaderTimeout = answerTimeout
		rt = t
	}
	if delay <= 0 {
		delay = defaultDelay
	}
	r := &Server{URL: u, Token: token, Delay: delay}
	r.client = &http.Client{Transport: rt, CheckRedirect: r.redirect}
	return r, nil
}

// redirect follows a renamed repository on the same host, so that the token
// never goes elsewhere, and never a POST, which would lose its body.
func (r *Server) redirect(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > 5:
		return errors.New("too many redirects")
	case via[0].Method != http.MethodGet:
		return errors.New("the server redirects a push or fetch")
	case req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme:
		return fmt.Errorf("the server redirects to another host (%s)", printable.Line(req.URL.Host, 100))
	}
	return nil
}

// Advertisement is what a server offers: its branches and what it can do.
type Advertisement struct {
	Refs map[string]plumbing.Hash
	Caps *capability.List
}

// Branch returns the tip of a branch, or zero.
func (a Advertisement) Branch(name string) plumbing.Hash { return a.Refs["refs/heads/"+name] }

// InTheWay is a branch whose name lies above or below another one, which git's
// servers refuse; empty if there is no such branch.
func (a Advertisement) InTheWay(branch string) string {
	for ref := range a.Refs {
		other, ok := strings.CutPrefix(ref, "refs/heads/")
		if ok && (strings.HasPrefix(other, branch+"/") || strings.HasPrefix(branch, other+"/")) {
			return printable.Line(other, 200)
		}
	}
	return ""
}

// Refs asks for the advertisement of a service; the receive-pack one also
// proves that the token may push.
func (r *Server) Refs(ctx context.Context, service string) (Advertisement, error) {
	adv, ok, err := r.answer(ctx, service)
	if ok {
		return adv, err
	}
	err = r.Retry(ctx, func() error {
		res, err := r.do(ctx, http.MethodGet, "/info/refs?service="+service, service, nil)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if p, ok := strings.CutSuffix(res.Request.URL.Path, "/info/refs"); ok {
			r.URL.Path = p
		}
		if ct := res.Header.Get("Content-Type"); !strings.HasPrefix(ct, "application/x-"+service+"-advertisement") {
			return fmt.Errorf("%s does not speak git over HTTP (content type %q)", r.URL.Redacted(), printable.Line(ct, 80))
		}
		ar := packp.NewAdvRefs()
		if err := ar.Decode(res.Body); err != nil && !errors.Is(err, packp.ErrEmptyAdvRefs) {
			return &TransientError{Err: fmt.Errorf("read the server's branches: %w", err)}
		}
		adv = Advertisement{Refs: ar.References, Caps: ar.Capabilities}
		return nil
	})
	return adv, err
}

// do sends one request and returns an answer with status 200, or an error that
// says what the status means.
func (r *Server) do(ctx context.Context, method, path, service string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.URL.String()+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "git/"+AgentName)
	if body != nil {
		req.Header.Set("Content-Type", "application/x-"+service+"-request")
		req.Header.Set("Accept", "application/x-"+service+"-result")
	}
	token := r.Token
	if service == ReceivePack && r.Push.IsSet() {
		token = r.Push
	}
	if token.IsSet() {
		req.SetBasicAuth("x-access-token", token.Reveal())
	}
	res, err := r.Exchange(req)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode == http.StatusOK && kind == "text/html":
		_ = res.Body.Close() // nobody reads it
		return nil, &TransientError{most: pageAttempts,
			Err: fmt.Errorf("%s answers git with a web page: see whether a proxy, a sign-in or a maintenance page stands before it, and whether GITHUB_SERVER_URL is its address", r.URL.Redacted())}
	case res.StatusCode == http.StatusOK:
		return res, nil
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, MaxErrorBytes))
	err = statusError(res, service, string(text))
	var p *PermissionError
	if errors.As(err, &p) {
		p.Pushing, p.Repository = service == ReceivePack && r.Push.IsSet(), strings.Trim(r.URL.Path, "/")
	}
	return nil, err
}

// Exchange sends a request. Its errors are transient, unless the request's context has ended,
// and do not show the address, which may carry a signature.
func (r *Server) Exchange(req *http.Request) (*http.Response, error) {
	res, err := r.client.Do(req)
	if err == nil {
		return res, nil
	}
	host := printable.Line(req.URL.Host, 100)
	if ctx := req.Context(); ctx.Err() != nil {
		return nil, fmt.Errorf("%s: %w", host, context.Cause(ctx))
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	return nil, &TransientError{Err: fmt.Errorf("%s: %w", host, err)}
}

func statusError(res *http.Response, service, text string) error {
	wait, limited := RetryAfter(res.Header)
	switch s := res.StatusCode; {
	case s == http.StatusTooManyRequests || s == http.StatusForbidden && limited || s >= 500:
		return &TransientError{Err: fmt.Errorf("the server answers %s %s", res.Status, printable.Line(text, 200)), Wait: wait}
	case s == http.StatusUnauthorized, s == http.StatusNotFound, s == http.StatusForbidden:
		if strings.Contains(text, "without `workflow") {
			return rejection("", text, "")
		}
		perm := PermContents
		if service == UploadPack {
			perm = permRead
		}
		return &PermissionError{Status: s, Permission: perm}
	default:
		return fmt.Errorf("the server answers %s %s", res.Status, printable.Line(text, 200))
	}
}

// RetryAfter reads how long a rate-limited client has to wait, in seconds as
// GitHub sends it.
func RetryAfter(h http.Header) (time.Duration, bool) {
	v := h.Get("Retry-After")
	if v == "" {
		return 0, h.Get("X-Ratelimit-Remaining") == "0"
	}
	s, err := strconv.Atoi(v)
	if err != nil || s < 0 {
		return 0, true
	}
	return time.Duration(min(s, 3600)) * time.Second, true
}

// TransientError is worth another try after wait, or after the usual delay.
type TransientError struct {
	Err  error
	Wait time.Duration
	most int // attempts; 0: maxAttempts
}

func (e *TransientError) Error() string { return e.Err.Error() }
func (e *TransientError) Unwrap() error { return e.Err }

// Retry tries again what may pass, with growing jittered delays, as long as
// ctx lasts. When the wait would outlast ctx it gives up at once.
func (r *Server) Retry(ctx context.Context, f func() error) error {
	delay := r.Delay
	for attempt := 1; ; attempt++ {
		err := f()
		var t *TransientError
		if !errors.As(err, &t) {
			return err
		}
		if attempt == cmp.Or(t.most, maxAttempts) {
			return fmt.Errorf("%w (tried %d times)", t.Err, attempt)
		}
		wait := max(t.Wait, delay/2+rand.N(delay))
		if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
			return fmt.Errorf("%w (no time left to try again)", t.Err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w (%w)", t.Err, context.Cause(ctx))
		case <-timer.C:
		}
		delay = min(2*delay, MaxDelay)
	}
}
