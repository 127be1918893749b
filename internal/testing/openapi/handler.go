package openapi

import (
	"bytes"
	"io"
	"net/http"
	"testing"
)

// maxKept bounds what is kept of one request and of one answer. What is larger
// is not checked.
const maxKept = 16 << 20

// Handler checks every request to the REST API that passes through it, and
// every answer of next, and fails the test with what GitHub would not accept
// or could not have answered. Other paths, such as those of git and of GraphQL,
// pass unseen.
func Handler(t testing.TB, next http.Handler) http.Handler {
	t.Helper()
	return handler(t, next, (*Description).Check)
}

// Requests is Handler without the answers, for test servers that tell less
// than GitHub does.
func Requests(t testing.TB, next http.Handler) http.Handler {
	t.Helper()
	return handler(t, next, (*Description).CheckRequest)
}

func handler(t testing.TB, next http.Handler, check func(*Description, Exchange) error) http.Handler {
	t.Helper()
	d, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, covered := d.Covers(r.URL.EscapedPath())
		if !covered {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, maxKept+1))
		if err != nil || len(body) > maxKept {
			r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
			next.ServeHTTP(w, r)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		kept := &recorder{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(kept, r) // one that panics breaks the connection: there is no answer to check
		if kept.body.Len() > maxKept || r.Context().Err() != nil {
			return
		}
		e := Exchange{
			Method: r.Method, Path: path, Query: r.URL.RawQuery, RequestType: r.Header.Get("Content-Type"), Request: body,
			Status: kept.status, AnswerType: w.Header().Get("Content-Type"), Answer: kept.body.Bytes(),
		}
		if err := check(d, e); err != nil {
			t.Errorf("GitHub's OpenAPI description: %v", err)
		}
	})
}

// recorder keeps what a handler answers while it is sent.
type recorder struct {
	http.ResponseWriter
	status int
	sent   bool
	body   bytes.Buffer
}

func (r *recorder) WriteHeader(status int) {
	if !r.sent && status >= http.StatusOK {
		r.status, r.sent = status, true
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	r.sent = true
	if r.body.Len() <= maxKept {
		r.body.Write(p)
	}
	return r.ResponseWriter.Write(p)
}

// Flush implements http.Flusher.
func (r *recorder) Flush() {
	if flusher, ok := r.ResponseWriter.(http.Flusher); ok {
		flusher.Flush()
	}
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
