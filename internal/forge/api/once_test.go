package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/lib/secret"
)

// A POST that would make a second thing is not sent again once it may have
// arrived; what was refused or never got there is.
func TestCallOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		do   http.HandlerFunc
		sent int32
		lost bool
	}{
		{"created", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }, 1, false},
		{"reset", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 1, true},
		{"502", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, 1, true},
		{"a web page", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, 1, true},
		{"hang", func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then the server sees the client go
			<-r.Context().Done()
		}, 1, true},
		{"rate limit", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		}, 2, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if sent.Add(1) == 1 {
					test.do(w, r)
					return
				}
				w.WriteHeader(http.StatusCreated)
			}))
			defer server.Close()
			c := once(t, server.URL, nil)
			if test.name == "hang" {
				c.transport.timeout = 300 * time.Millisecond
			}
			err := c.CallOnce(t.Context(), http.MethodPost, c.Path("/issues/1/comments"), map[string]string{"body": "x"}, nil)
			if Lost(err) != test.lost || (err != nil) != test.lost || sent.Load() != test.sent {
				t.Errorf("callOnce() = %v after %d requests, want lost = %t after %d", err, sent.Load(), test.lost, test.sent)
			}
			if err != nil && !strings.Contains(c.Explain("comment", "issues: write", err).Error(), "is not known") {
				t.Errorf("explain(%v) hides what is not known", err)
			}
		})
	}
}

func TestCallOnceThatNeverArrived(t *testing.T) {
	t.Parallel()
	n := 0
	dial := roundTrip(func(*http.Request) (*http.Response, error) {
		n++
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	})
	c := once(t, "http://forge.test", dial)
	err := c.CallOnce(context.Background(), http.MethodPost, c.Path("/issues/1/comments"), nil, nil)
	if err == nil || Lost(err) || n != maxAttempts {
		t.Errorf("callOnce() = %v after %d requests, want it given up after %d", err, n, maxAttempts)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func once(t *testing.T, url string, transport http.RoundTripper) *Client {
	t.Helper()
	c, err := New(Options{
		APIURL: url, ServerURL: url, Repository: "octo/greet", Token: secret.New("ghs_x"), Transport: transport,
		Backoff: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
