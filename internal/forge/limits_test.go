package forge_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/lib/secret"
)

// script is a forge in memory that answers by a function.
type script func(req *http.Request, body []byte) (status int, header http.Header, answer string)

func (s script) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		_ = req.Body.Close()
	}
	status, header, text := s(req, body)
	if header == nil {
		header = http.Header{"Content-Type": {"application/json"}}
	}
	return &http.Response{StatusCode: status, Header: header, Request: req, Body: io.NopCloser(bytes.NewReader([]byte(text))), ContentLength: int64(len(text))}, nil
}

func scripted(t *testing.T, s http.RoundTripper, change ...func(*forge.Options)) *forge.Client {
	t.Helper()
	o := forge.Options{
		APIURL: "http://forge.test/api/v3", ServerURL: "http://forge.test", Repository: "octo/greet",
		Token: secret.New(token), Transport: s,
	}
	for _, one := range change {
		one(&o)
	}
	client, err := forge.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

const repositoryAnswer = `{"default_branch":"main","name":"main","permissions":{"push":true}}`

// A rate limit is waited for as often as it is met, as long as there is time:
// the attempts are for faults.
func TestRateLimitsUseUpNoAttempts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		status   int
		header   http.Header
		body     string
		least    time.Duration
		most     time.Duration
		deadline time.Duration // 0: none
	}{
		{"secondary with Retry-After", 403, http.Header{"Retry-After": {"60"}}, `{"message":"secondary rate limit"}`, 12 * time.Minute, 20 * time.Minute, time.Hour},
		{"429 again and again", 429, http.Header{"Retry-After": {"0"}}, `{}`, 30 * time.Second, 20 * time.Minute, time.Hour},
		{"no deadline", 429, http.Header{"Retry-After": {"60"}}, `{}`, 12 * time.Minute, 20 * time.Minute, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				limited := 12
				client := scripted(t, script(func(*http.Request, []byte) (int, http.Header, string) {
					if limited--; limited >= 0 {
						return test.status, test.header.Clone(), test.body
					}
					return 200, nil, repositoryAnswer
				}))
				ctx := t.Context()
				if test.deadline > 0 {
					ctx = within(t, test.deadline)
				}
				started := time.Now()
				if err := client.CheckMilestone(ctx, 3); err != nil {
					t.Fatalf("CheckMilestone() = %v, want nil", err)
				}
				if took := time.Since(started); took < test.least || took > test.most {
					t.Errorf("CheckMilestone() took %s, want between %s and %s", took, test.least, test.most)
				}
			})
		})
	}
}

// A limit that never ends does not hold a run for ever, with a deadline or
// without.
func TestRateLimitForEver(t *testing.T) {
	t.Parallel()
	for _, deadline := range []time.Duration{0, 3 * time.Minute, 90 * time.Second} {
		t.Run(deadline.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := scripted(t, script(func(*http.Request, []byte) (int, http.Header, string) {
					return 429, http.Header{"Retry-After": {"50"}}, `{}`
				}))
				ctx := t.Context()
				if deadline > 0 {
					ctx = within(t, deadline)
				}
				started := time.Now()
				_, err := client.Preflight(ctx, forge.Ask{Base: "main"})
				checkError(t, "Preflight", err, "rate limit (429)")
				if took, most := time.Since(started), max(deadline, time.Hour+time.Minute); took > most {
					t.Errorf("Preflight() took %s, want at most %s", took, most)
				}
			})
		})
	}
}

// Many runs that wait for one limit come back one by one, and none too early.
func TestRunsDoNotComeBackTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const runs = 256
		started := time.Now()
		var mu sync.Mutex
		back := map[time.Duration]int{} // by second
		var all sync.WaitGroup
		for range runs {
			first := true
			client := scripted(t, script(func(*http.Request, []byte) (int, http.Header, string) {
				if first {
					first = false
					return 403, http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {strconv.FormatInt(started.Add(time.Minute).Unix(), 10)}}, `{}`
				}
				mu.Lock()
				defer mu.Unlock()
				back[time.Since(started).Truncate(time.Second)]++
				return 200, nil, repositoryAnswer
			}))
			all.Go(func() {
				if err := client.CheckMilestone(t.Context(), 3); err != nil {
					t.Errorf("CheckMilestone() = %v", err)
				}
			})
		}
		all.Wait()
		for second, n := range back {
			if second < time.Minute || n > runs/4 {
				t.Errorf("%d calls came back after %s, want them spread after a minute", n, second)
			}
		}
	})
}

// What creates something is spaced out below 80 a minute, and not at all when
// there is no time for it.
func TestPace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		deadline    time.Duration
		least, most time.Duration
	}{
		{"time enough", time.Hour, 2 * time.Minute, 3 * time.Minute},
		{"little time", 30 * time.Second, 0, 30 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var sent []time.Time
				client := scripted(t, script(func(*http.Request, []byte) (int, http.Header, string) {
					mu.Lock()
					defer mu.Unlock()
					sent = append(sent, time.Now())
					return 422, nil, `{}`
				}))
				ctx := within(t, test.deadline)
				started := time.Now()
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() {
						for range 25 {
							if err := client.ProbePullRequest(ctx, "main"); err != nil {
								t.Errorf("ProbePullRequest() = %v", err)
							}
						}
					})
				}
				all.Wait()
				if took := time.Since(started); len(sent) != 200 || took < test.least || took > test.most {
					t.Errorf("%d calls took %s, want 200 within %s to %s", len(sent), took, test.least, test.most)
				}
				for i := 80; i < len(sent) && test.least > 0; i++ {
					if d := sent[i].Sub(sent[i-80]); d < time.Minute {
						t.Errorf("81 calls within %s", d)
					}
				}
			})
		})
	}
}

// A proxy or a forge in maintenance that answers with a page for people.
func TestWebPages(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 502, 503} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			page := func(times int32) script {
				var n atomic.Int32 // requests come in parallel
				return func(*http.Request, []byte) (int, http.Header, string) {
					if n.Add(1) <= times {
						return status, http.Header{"Content-Type": {"text/html; charset=utf-8"}}, "<!DOCTYPE html><title>Back soon</title>" + token
					}
					return 200, nil, repositoryAnswer
				}
			}
			quick := func(o *forge.Options) { o.Backoff = time.Millisecond }
			if _, err := scripted(t, page(2), quick).Preflight(t.Context(), forge.Ask{Base: "main"}); err != nil {
				t.Errorf("Preflight() after two pages = %v, want nil", err)
			}
			_, err := scripted(t, page(100), quick).Preflight(t.Context(), forge.Ask{Base: "main"})
			checkError(t, "Preflight", err, "read the repository in octo/greet", strconv.Itoa(status)+" with a web page", "tried ")
			if strings.Contains(err.Error(), "DOCTYPE") {
				t.Errorf("Preflight() = %v, want no HTML in it", err)
			}
		})
	}
}

// One client serves several goroutines; its log gets one line at a time.
func TestClientInParallel(t *testing.T) {
	t.Parallel()
	lines := 0
	l := newLab(t, func(o *forge.Options) { o.Log = func(string) { lines++ } })
	l.fault("GET", "/greet", 20, answer(503, `{}`, "Retry-After", "0"))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for range 5 {
				if _, err := l.client.Preflight(ctx, forge.Ask{Base: "main"}); err != nil && !strings.Contains(err.Error(), "tried 5 times") {
					t.Errorf("Preflight() = %v", err)
				}
			}
		})
	}
	all.Wait()
	if lines == 0 {
		t.Error("nothing was logged")
	}
}
