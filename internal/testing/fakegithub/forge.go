package fakegithub

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/testing/openapi"
)

// maxBody bounds the body of one request: a blob of 100 MB in base64.
const maxBody = 160 << 20

// Options of a forge; the zero value has no limits.
type Options struct {
	Dir    string  // for the bare repositories; empty: a temporary folder of the test
	Limits *Limits // nil: none
	// Unchecked lets requests pass that GitHub's own description does not know;
	// without it they fail the test.
	Unchecked bool
}

// Forge is a GitHub. Its methods may be called from many goroutines at a time.
type Forge struct {
	URL string // of the server; the API is at URL/api/v3 and URL/api/graphql

	dir   string
	api   http.Handler
	logs  *logServer
	limit *limiter

	examples map[string]object // GitHub's, by what they are of

	mu     sync.Mutex
	repos  []*Repository
	moved  map[string]*Repository // old names, lower case
	tokens map[string]*Token
	users  map[string]*user // by lower-case login
	nextID int64
	faults []*fault
	before func(*http.Request)
	after  func(*http.Request)
	calls  []Call
}

// Call is one request that was answered.
type Call struct {
	Method, Path string // of the API below /api/v3, of git as it came
	Query        string
	Status       int
	Git, Write   bool // Write: the request means to change something
	Token        string
}

// API says that the call counts as one of the API.
func (c Call) API() bool { return !c.Git }

// String is "METHOD /path status".
func (c Call) String() string { return fmt.Sprintf("%s %s %d", c.Method, c.Path, c.Status) }

type fault struct {
	match func(*http.Request) bool
	left  int // below 0: for ever
	do    http.HandlerFunc
}

// New starts a forge that lives as long as the test.
func New(t testing.TB, o Options) *Forge {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	f := start(t, o)
	server := httptest.NewServer(f)
	f.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		f.logs.Close()
	})
	return f
}

func start(t testing.TB, o Options) *Forge {
	t.Helper()
	f := &Forge{
		dir: o.Dir, logs: newLogServer(), examples: examples(t), moved: map[string]*Repository{},
		tokens: map[string]*Token{}, users: map[string]*user{}, nextID: 1000,
	}
	if o.Limits != nil {
		f.limit = newLimiter(*o.Limits)
	}
	f.api = f.serveAPI(table())
	if !o.Unchecked {
		f.api = openapi.Handler(t, f.api)
	}
	return f
}

// APIURL is what a runner has in GITHUB_API_URL.
func (f *Forge) APIURL() string { return f.URL + "/api/v3" }

// GraphQLURL is what a runner has in GITHUB_GRAPHQL_URL.
func (f *Forge) GraphQLURL() string { return f.URL + "/api/graphql" }

// Fault makes the next requests that match be answered by do instead; times
// below 0 means for ever. Paths are those a client asks for, with /api/v3. do
// may call Through, to lose an answer after the deed.
func (f *Forge) Fault(match func(*http.Request) bool, times int, do http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, &fault{match, times, do})
}

// Through serves a request as if there were no faults.
func (f *Forge) Through(w http.ResponseWriter, r *http.Request) { f.serve(w, r) }

// Before is called for every request before it takes effect, After when it took
// effect and was not answered yet. Either may panic with http.ErrAbortHandler, to
// end the connection there. They run on the request's goroutine; nil: none.
func (f *Forge) Before(do func(*http.Request)) { f.mu.Lock(); f.before = do; f.mu.Unlock() }

// After is described at Before.
func (f *Forge) After(do func(*http.Request)) { f.mu.Lock(); f.after = do; f.mu.Unlock() }

// Calls are the answered requests so far, in order of their answers.
func (f *Forge) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// APICalls are those of the API; a run of publishing may cost 12.
func (f *Forge) APICalls() []Call {
	return slices.DeleteFunc(f.Calls(), func(c Call) bool { return !c.API() })
}

// Writes are the calls that changed something.
func (f *Forge) Writes() []Call {
	return slices.DeleteFunc(f.Calls(), func(c Call) bool { return !c.Write || c.Status >= 300 })
}

// Count is how often the API was called so; path may end in "*".
func (f *Forge) Count(method, path string) int {
	n := 0
	prefix, open := strings.CutSuffix(path, "*")
	for _, c := range f.APICalls() {
		if c.Method == method && (c.Path == path || open && strings.HasPrefix(c.Path, prefix)) {
			n++
		}
	}
	return n
}

// Reset forgets the calls.
func (f *Forge) Reset() { f.mu.Lock(); f.calls = nil; f.mu.Unlock() }

// ServeHTTP serves git and the API.
func (f *Forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isAPI(r) || strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
		// Read at once: net/http notices a client that went away only after
		// the body was read.
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			refusal(http.StatusRequestEntityTooLarge, "Request body too large or cut short").send(w)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, body))
	}
	if do := f.takeFault(r); do != nil {
		do(w, r)
		return
	}
	f.serve(w, r)
}

type bodyKey struct{}

// Body is the body of a request, for hooks and faults.
func Body(r *http.Request) []byte {
	body, _ := r.Context().Value(bodyKey{}).([]byte)
	return body
}

func isAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") }

// IsWrite says that a request means to change something: a push, or a call of
// the API that is no question.
func IsWrite(r *http.Request) bool {
	switch {
	case !isAPI(r):
		return strings.HasSuffix(r.URL.Path, "/git-receive-pack")
	case strings.HasSuffix(r.URL.Path, "/graphql"):
		return bytes.Contains(Body(r), []byte("mutation"))
	}
	return r.Method != http.MethodGet && r.Method != http.MethodHead
}

// serve answers one request, between the two hooks. A question about git may
// have a long answer, which is not held back.
func (f *Forge) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	before, after := f.before, f.after
	f.mu.Unlock()
	if before != nil {
		before(r)
	}
	answer := httptest.NewRecorder() // holds the answer back
	call := Call{Method: r.Method, Path: strings.TrimPrefix(r.URL.Path, "/api/v3"), Query: r.URL.RawQuery, Git: !isAPI(r), Write: IsWrite(r), Token: credential(r)}
	switch {
	case isAPI(r):
		f.limited(answer, r)
	case call.Write:
		f.serveGit(answer, r)
	default:
		f.serveGit(w, r)
		call.Status = http.StatusOK
		f.record(call)
		return
	}
	call.Status = answer.Code
	f.record(call)
	if after != nil {
		after(r)
	}
	send(w, answer)
}

// send passes on an answer that was held back.
func send(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // a client that went away cannot be told
}

func (f *Forge) record(c Call) { f.mu.Lock(); f.calls = append(f.calls, c); f.mu.Unlock() }

func (f *Forge) takeFault(r *http.Request) http.HandlerFunc {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.faults {
		if one.left != 0 && one.match(r) {
			one.left--
			return one.do
		}
	}
	return nil
}

// limited asks the limits first, then the API.
func (f *Forge) limited(w http.ResponseWriter, r *http.Request) {
	inner := r.Clone(r.Context())
	inner.URL.Path = strings.TrimPrefix(r.URL.Path, "/api/v3")
	inner.URL.RawPath = strings.TrimPrefix(r.URL.RawPath, "/api/v3")
	if r.URL.Path == "/api/graphql" {
		inner.URL.Path, inner.URL.RawPath = "/graphql", ""
	}
	if f.limit != nil {
		done, ok := f.limit.take(w, inner, credential(r), time.Now())
		if !ok {
			return
		}
		defer done()
	}
	f.api.ServeHTTP(w, inner)
}

func (f *Forge) id() int64 { f.nextID++; return f.nextID }
