package forge_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/cli/demo"
	"github.com/org/ralph-action/internal/cli/demo/gitserver"
	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/lib/secret"
)

const token = "ghs_averysecrettoken0123456789"

// lab is a forge on loopback with octo/greet, whose branch ralph/x is one
// commit ahead of main, and a client for it.
type lab struct {
	*demo.Forge
	url    string
	client *forge.Client

	mu     sync.Mutex
	log    []string
	calls  []string
	faults []*labFault
}

type labFault struct {
	match func(*http.Request) bool
	left  int // below 0: for ever
	do    http.HandlerFunc
}

func newLab(t *testing.T, change ...func(*forge.Options)) *lab {
	t.Helper()
	embedded, err := demo.NewForge(t.TempDir(), token)
	if err != nil {
		t.Fatal(err)
	}
	return newLabAt(t, embedded, embedded, change...)
}

// newLabAt is newLab with a handler in front of the forge.
func newLabAt(t *testing.T, embedded *demo.Forge, front http.Handler, change ...func(*forge.Options)) *lab {
	t.Helper()
	l := &lab{Forge: embedded}
	server := httptest.NewServer(l.serve(front))
	t.Cleanup(server.Close)
	l.url = server.URL
	l.create(t, "octo")
	options := forge.Options{
		APIURL: server.URL + "/api/v3", ServerURL: server.URL, GraphQLURL: server.URL + "/api/graphql",
		Repository: "octo/greet", Token: secret.New(token), UserAgent: "test",
		Backoff: time.Millisecond,
		Log: func(line string) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.log = append(l.log, line)
		},
	}
	for _, one := range change {
		one(&options)
	}
	client, err := forge.New(options)
	if err != nil {
		t.Fatal(err)
	}
	l.client = client
	return l
}

func (l *lab) create(t *testing.T, owner string) {
	t.Helper()
	if err := l.CreateRepository(owner, "greet", "main"); err != nil {
		t.Fatal(err)
	}
	l.commit(t, owner, "main", "one")
	l.commit(t, owner, "ralph/x", "two by "+owner)
}

func (l *lab) commit(t *testing.T, owner, branch, content string) {
	t.Helper()
	if _, err := l.Commit(owner, "greet", branch, "Set "+content, map[string]gitserver.File{"a.txt": {Content: content}}); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) logged() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.log, "\n")
}

// serve records each request, and answers it or lets a fault do so.
func (l *lab) serve(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// Read at once: net/http notices a client that went away only after the
		// body was read.
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		l.mu.Lock()
		l.calls = append(l.calls, r.Method+" "+r.URL.Path)
		do := next.ServeHTTP
		for _, one := range l.faults {
			if one.left != 0 && one.match(r) {
				one.left--
				do = one.do
				break
			}
		}
		l.mu.Unlock()
		do(w, r)
	}
}

// Calls lists the requests so far as "METHOD path", in order of arrival.
func (l *lab) Calls() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

// Fault makes the next requests that match be answered by do; times below 0
// means for ever.
func (l *lab) Fault(match func(*http.Request) bool, times int, do http.HandlerFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, &labFault{match, times, do})
}

// fault is Fault for the calls of a method to a path with this ending.
func (l *lab) fault(method, ending string, times int, do http.HandlerFunc) {
	l.Fault(func(r *http.Request) bool { return r.Method == method && strings.HasSuffix(r.URL.Path, ending) }, times, do)
}

// answer answers with a status, a body, and headers as name, value pairs.
func answer(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// hang answers nothing until the client goes away.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// reset breaks the connection.
func reset(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func (l *lab) count(call string) int {
	n := 0
	for _, one := range l.Calls() {
		if one == call {
			n++
		}
	}
	return n
}

const pullsPath = "/api/v3/repos/octo/greet/pulls"

func wanted() forge.PullRequest {
	return forge.PullRequest{Title: "Fix greet", Body: "It is fixed.\n", Head: "ralph/x", Base: "main", Labels: []string{"ralph"}}
}

// checkError says whether an error holds every one of these, and never the token.
func checkError(t *testing.T, what string, err error, wants ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s = nil error, want one with %q", what, wants)
		return
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, want it to contain %q", what, err, want)
		}
	}
	if full := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(full, token) {
		t.Errorf("%s: the error holds the token: %s", what, full)
	}
	if strings.ContainsAny(err.Error(), "\n\r\x1b") {
		t.Errorf("%s: %q is not one clean line", what, err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	good := forge.Options{APIURL: "https://api.github.com", ServerURL: "https://github.com", GraphQLURL: "https://api.github.com/graphql", Repository: "octo/greet", Token: secret.New(token)}
	if _, err := forge.New(good); err != nil {
		t.Errorf("New(good) = %v, want nil", err)
	}
	for _, test := range []struct {
		name   string
		change func(*forge.Options)
		want   string
	}{
		{"no address", func(o *forge.Options) { o.APIURL = "" }, "GITHUB_API_URL"},
		{"another scheme", func(o *forge.Options) { o.APIURL = "file:///etc/passwd" }, "GITHUB_API_URL"},
		{"password", func(o *forge.Options) { o.APIURL = "https://u:" + token + "@github.com" }, "GITHUB_API_URL"},
		{"query", func(o *forge.Options) { o.ServerURL = "https://github.com?a=b" }, "GITHUB_SERVER_URL"},
		{"graphql", func(o *forge.Options) { o.GraphQLURL = "::" }, "GITHUB_GRAPHQL_URL"},
		{"repository", func(o *forge.Options) { o.Repository = "octo" }, `"octo"`},
		{"deep repository", func(o *forge.Options) { o.Repository = "octo/greet/../x" }, "owner/name"},
		{"dots", func(o *forge.Options) { o.Repository = "../.." }, "owner/name"},
		{"no token", func(o *forge.Options) { o.Token = secret.String{} }, "github-token is empty"},
		{"token with a line break", func(o *forge.Options) { o.Token = secret.New(token + "\n") }, "line break"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := good
			test.change(&o)
			_, err := forge.New(o)
			checkError(t, "New("+test.name+")", err, test.want)
		})
	}
	_, err := forge.New(forge.Options{})
	checkErrorLines(t, err, "GITHUB_API_URL", "GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "github-token")
}

// checkErrorLines is checkError for several errors at once, one on each line.
func checkErrorLines(t *testing.T, err error, wants ...string) {
	t.Helper()
	if err == nil || strings.Count(err.Error(), "\n") != len(wants)-1 {
		t.Fatalf("error = %v, want %d lines", err, len(wants))
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want it to contain %q", err, want)
		}
	}
}

func TestCleanRunCosts(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	ctx := t.Context()
	if _, err := l.client.Preflight(ctx, forge.Ask{Base: "main"}); err != nil {
		t.Fatal(err)
	}
	if err := l.client.ProbePullRequest(ctx, "main"); err != nil {
		t.Fatal(err)
	}
	if _, warnings, err := l.client.Upsert(ctx, wanted()); err != nil || len(warnings) > 0 {
		t.Fatalf("Upsert() = %v, %v", warnings, err)
	}
	if calls := l.Calls(); len(calls) > 7 {
		t.Errorf("a clean run took %d calls, want at most 7: %q", len(calls), calls)
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
