//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// fault answers in the forge's place.
type fault func(w http.ResponseWriter, r *http.Request, forge http.Handler)

// faultyForge stands in front of the forge and lets one kind of request fail.
type faultyForge struct {
	forge *httputil.ReverseProxy
	match func(r *http.Request, body []byte) bool
	fault fault

	mu    sync.Mutex
	times int // how often still; below 0: for ever
	hits  []time.Time
}

func newFaultyForge(t *testing.T, g *gitea, match func(*http.Request, []byte) bool, times int, f fault) (*faultyForge, string) {
	t.Helper()
	target, err := url.Parse(g.URL)
	if err != nil {
		t.Fatal(err)
	}
	gt := &faultyForge{forge: httputil.NewSingleHostReverseProxy(target), match: match, times: times, fault: f}
	s := httptest.NewServer(gt)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return gt, s.URL
}

func (g *faultyForge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	g.mu.Lock()
	hit := g.match(r, body)
	if hit {
		g.hits = append(g.hits, time.Now())
		hit = g.times != 0
		if g.times > 0 {
			g.times--
		}
	}
	g.mu.Unlock()
	if hit {
		g.fault(w, r, g.forge)
		return
	}
	g.forge.ServeHTTP(w, r)
}

func (g *faultyForge) seen() []time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]time.Time(nil), g.hits...)
}

// opening is the request that makes the pull request; a proposal of main into
// itself is the pre-flight's question.
func opening(r *http.Request, body []byte) bool {
	var in struct{ Head, Base string }
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pulls") && json.Unmarshal(body, &in) == nil && in.Head != in.Base
}

// pushing is the pack on its way.
func pushing(r *http.Request, _ []byte) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/git-receive-pack")
}

func says(status int, text string, header ...string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"message":%q}`, text)
	}
}

// hangs takes the request and never answers.
func hangs(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }

// resets cuts the connection with RST.
func resets(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

// loses does the deed and cuts the connection before the answer.
func loses(w http.ResponseWriter, r *http.Request, forge http.Handler) {
	forge.ServeHTTP(httptest.NewRecorder(), r)
	resets(w, r, forge)
}

// The forge fails in the moment in which the work is published. What can pass is
// tried again, what cannot is said with what to do about it, and in no case is
// the work lost.
func TestForgeFaults(t *testing.T) {
	// The agent must not be slow, and its own words must not carry the promise
	// twice: a text agent in the repository.
	files := maps.Clone(program)
	files["agent.sh"] = "cat >/dev/null\nprintf 'mul() { echo $(($1 * $2)); }\\n' >>calc.sh\necho 'done: <promise>COMPLETE</promise>'\n"
	const notPermitted = "GitHub Actions is not permitted to create or approve pull requests."
	for _, c := range []struct {
		name    string
		match   func(*http.Request, []byte) bool
		times   int
		fault   fault
		status  string
		pushed  bool
		pulls   int
		gap     time.Duration // between the first two attempts, at least
		summary []string
	}{
		{"500 twice", opening, 2, says(500, "Server Error"), "completed", true, 1, 0, nil},
		{"500 for ever", opening, -1, says(500, "Server Error"), "git-failed", true, 0, 0, []string{"500", "/compare/main...ralph/mul"}},
		{"403 by the repository's settings", opening, -1, says(403, notPermitted), "git-failed", true, 0, 0,
			[]string{"Allow GitHub Actions to create and approve pull requests", "/compare/main...ralph/mul"}},
		{"403 for lack of a permission", opening, -1, says(403, "Resource not accessible by integration"), "git-failed", true, 0, 0,
			[]string{"pull-requests: write", "/compare/main...ralph/mul"}},
		{"429 with Retry-After", opening, 1, says(429, "slow down", "Retry-After", "2"), "completed", true, 1, 2 * time.Second, nil},
		{"403 of the secondary limit", opening, 1, says(403, "You have exceeded a secondary rate limit.", "Retry-After", "2"), "completed", true, 1, 2 * time.Second, nil},
		{"hangs once", opening, 1, hangs, "completed", true, 1, 0, nil},
		{"resets once", opening, 1, resets, "completed", true, 1, 0, nil},
		{"the answer is lost", opening, 1, loses, "completed", true, 1, 0, nil},
		{"push: 500 once", pushing, 1, says(500, "Server Error"), "completed", true, 1, 0, nil},
		{"push: resets once", pushing, 1, resets, "completed", true, 1, 0, nil},
		{"push: hangs once", pushing, 1, hangs, "completed", true, 1, 0, nil},
		{"push: the answer is lost", pushing, 1, loses, "completed", true, 1, 0, nil},
		{"push: 403 for ever", pushing, -1, says(403, "Write access to repository not granted."), "git-failed", false, 0, 0, []string{"contents: write"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := forge(t)
			r := g.newRepository(t, files)
			gt, address := newFaultyForge(t, g, c.match, c.times, c.fault)
			j := newJob(t, r, address, checkoutV4)
			j.Inputs["prompt"] = task
			j.Inputs["agent"] = "text"
			j.Inputs["agent-command"] = "sh agent.sh"
			j.Inputs["guardrails"] = "sh test.sh"
			j.Inputs["branch"] = "ralph/mul"
			res := j.run(t, 3*time.Minute)
			t.Logf("took %s", res.Took.Round(100*time.Millisecond))
			if want := map[string]int{"completed": 0, "git-failed": 5}[c.status]; res.Code != want {
				t.Errorf("exit code = %d, want %d", res.Code, want)
			}
			if got := res.Outputs["status"]; got != c.status {
				t.Errorf("output status = %q, want %q", got, c.status)
			}
			if got := r.fetch(t, "ralph/mul") != ""; got != c.pushed {
				t.Errorf("the branch is on the forge: %t, want %t", got, c.pushed)
			}
			if c.pushed {
				if got := git(t, r.Seed, "diff", "--name-only", r.Base, "origin/ralph/mul"); got != "calc.sh" {
					t.Errorf("pushed files = %q, want calc.sh", got)
				}
				if got := git(t, r.Seed, "rev-list", "--count", r.Base+"..origin/ralph/mul"); got != "1" {
					t.Errorf("the branch has %s commits, want 1", got)
				}
			}
			ps := r.pulls(t)
			if len(ps) != c.pulls {
				t.Errorf("the forge has %d pull requests, want %d", len(ps), c.pulls)
			}
			if len(ps) == 1 && res.Outputs["pull-request-number"] != fmt.Sprint(ps[0].Number) {
				t.Errorf("output pull-request-number = %q, want %d", res.Outputs["pull-request-number"], ps[0].Number)
			}
			if at := gt.seen(); c.gap > 0 && (len(at) < 2 || at[1].Sub(at[0]) < c.gap) {
				t.Errorf("attempts at %v, want the second at least %s after the first", at, c.gap)
			}
			for _, want := range c.summary {
				if !strings.Contains(res.Summary, want) {
					t.Errorf("summary lacks %q:\n%s", want, res.Summary)
				}
			}
			checkWorkspace(t, j)
		})
	}
}
