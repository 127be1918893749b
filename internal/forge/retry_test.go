package forge_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
)

// What may pass is tried again, and the pull request is there in the end.
func TestWhatMayPassIsTriedAgain(t *testing.T) {
	t.Parallel()
	soon := func() string { return fmt.Sprint(time.Now().Unix()) }
	for _, test := range []struct {
		name  string
		do    http.HandlerFunc
		times int
		says  string
	}{
		{"500", answer(500, `{}`), 4, "answered 500"},
		{"502 without JSON", answer(502, `<html>`), 1, "answered 502"},
		{"503 with Retry-After", answer(503, ``, "Retry-After", "0"), 1, "answered 503"},
		{"429 with Retry-After", answer(429, `{}`, "Retry-After", "1"), 1, "rate limit (429); trying again in 1."},
		{"429 with a date", answer(429, `{}`, "Retry-After", "Thu, 01 Jan 2026 00:00:00 GMT"), 1, "rate limit (429)"},
		{"403 secondary", answer(403, `{"message":"You have exceeded a secondary rate limit.","documentation_url":"https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`, "Retry-After", "0"), 2, "rate limit (403)"},
		{"403 primary", answer(403, `{"message":"API rate limit exceeded"}`, "X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", soon()), 1, "rate limit (403)"},
		{"hang", hang, 1, "no answer within 500ms"},
		{"hang in the body", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"number":`))
			w.(http.Flusher).Flush()
			hang(w, r)
		}, 1, "no answer within 500ms"},
		{"reset", reset, 2, "EOF"},
		{"reset in the body", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"number":`))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, 1, "unexpected EOF"},
		{"branch unknown yet", answer(422, `{"message":"Validation Failed","errors":[{"message":"Head sha can't be blank"},{"message":"Head ref must be a branch"}]}`), 1, "does not see the new branch"},
		{"object unknown yet", answer(422, `{"message":"Object does not exist"}`), 1, "object or pull request yet"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, func(o *forge.Options) {
				if strings.HasPrefix(test.name, "hang") {
					o.RequestTimeout = 500 * time.Millisecond
				}
			})
			l.fault("POST", "/pulls", test.times, test.do)
			got, warnings, err := l.client.Upsert(within(t, time.Minute), wanted())
			if err != nil || len(warnings) > 0 || got.Number != 1 || got.Operation != ralph.OperationCreated {
				t.Errorf("Upsert() = %+v, %q, %v, want #1 created", got, warnings, err)
			}
			if log := l.logged(); strings.Count(log, "POST "+pullsPath+": ") != test.times || !strings.Contains(log, test.says) {
				t.Errorf("log = %q, want %d lines with %q", log, test.times, test.says)
			}
			if n := l.count("POST " + pullsPath); n != test.times+1 {
				t.Errorf("%d attempts, want %d", n, test.times+1)
			}
		})
	}
}

// What stays gives up in the end, within the time there is.
func TestWhatStaysGivesUp(t *testing.T) {
	t.Parallel()
	later := fmt.Sprint(time.Now().Add(30 * time.Minute).Unix())
	for _, test := range []struct {
		name     string
		do       http.HandlerFunc
		limit    time.Duration
		attempts int
		wants    []string
	}{
		{"500", answer(500, `{}`), time.Minute, 5, []string{"answered 500", "tried 5 times"}},
		{"hang", hang, 2 * time.Second, 1, []string{"create the pull request ralph/x -> main in octo/greet"}},
		{"hang for ever", hang, time.Minute, 5, []string{"no answer within 2s", "tried 5 times"}},
		{"Retry-After beyond the time left", answer(429, `{}`, "Retry-After", "600"), 5 * time.Second, 1, []string{"rate limit (429)", "10m0s", "beyond the time left"}},
		{"Retry-After beyond reason", answer(429, `{}`, "Retry-After", "86400"), 48 * time.Hour, 1, []string{"asks to wait 24h0m0s"}},
		{"primary limit", answer(403, `{}`, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", later), 5 * time.Second, 1, []string{"rate limit (403)", "beyond the time left"}},
		{"secondary limit without a hint", answer(403, `{"message":"You have exceeded a secondary rate limit"}`), 5 * time.Second, 1, []string{"rate limit (403)", "beyond the time left"}},
		{"403", answer(403, `{"message":"Resource not accessible by integration"}`), time.Minute, 1, []string{"pull-requests: write"}},
		{"501", answer(501, `{"message":"never"}`), time.Minute, 1, []string{"501 never"}},
		{"400", answer(400, `{"message":"Problems parsing JSON"}`), time.Minute, 1, []string{"400 Problems parsing JSON"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, func(o *forge.Options) {
				o.RequestTimeout = time.Minute
				if test.name == "hang for ever" {
					o.RequestTimeout = 2 * time.Second // the server counts, and may be slow to
				}
			})
			l.fault("POST", "/pulls", -1, test.do)
			_, _, err := l.client.Upsert(within(t, test.limit), wanted())
			checkError(t, "Upsert", err, test.wants...)
			if n := l.count("POST " + pullsPath); n != test.attempts {
				t.Errorf("%d attempts, want %d", n, test.attempts)
			}
			if test.name == "hang" && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Upsert(hang) = %v, want DeadlineExceeded", err)
			}
		})
	}
}

// An answer that says the budget is now empty is still an answer, and does not
// keep the next call from being made.
func TestEmptyBudgetIsNoError(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.fault("GET", "/greet", 1, answer(200, `{"default_branch":"main","permissions":{"push":true}}`,
		"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", fmt.Sprint(time.Now().Add(time.Hour).Unix())))
	if _, err := l.client.Preflight(within(t, 10*time.Second), forge.Ask{Base: "main"}); err != nil {
		t.Errorf("Preflight() = %v, want nil", err)
	}
}

func TestCancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := newLab(t, func(o *forge.Options) { o.Log = func(string) { cancel() } })
	l.fault("GET", "/greet", -1, answer(429, `{}`, "Retry-After", "600"))
	started := time.Now()
	_, err := l.client.Preflight(ctx, forge.Ask{Base: "main"})
	checkError(t, "Preflight", err, "read the repository", "cancelled")
	if took := time.Since(started); took > 30*time.Second {
		t.Errorf("Preflight took %s after it was cancelled", took)
	}
}

// answers is a forge that gives one answer to everything, in memory.
type answers struct {
	status int
	header http.Header
	body   string
}

func (a answers) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.status, Header: a.header.Clone(), Request: req,
		Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}, nil
}

// Whatever a forge answers: an end in time, one clean line, no token.
func FuzzAnswers(f *testing.F) {
	f.Add(200, `{"number":1,"default_branch":"main","name":"main","node_id":"x"}`, "", "")
	f.Add(422, `{"message":"Validation Failed","errors":[{"message":"A pull request already exists"}]}`, "", "")
	f.Add(403, `{"message":"`+token+`\u0000\u202e","errors":{"a":[]}}`, "-1", "contents=read")
	f.Add(429, `[]`, "99999999999999999999", "")
	f.Add(403, `not permitted to create or approve pull requests`, "Fri, 31 Dec 9999 23:59:59 GMT", "a=read;;")
	f.Add(302, `null`, "1.5", "")
	f.Add(200, `[{"number":1,"state":"open","head":null},null,{"number":-1}]`, "", "")
	f.Fuzz(func(t *testing.T, status int, body, retryAfter, accepted string) {
		if status < 100 || status > 999 {
			return // no HTTP status
		}
		header := http.Header{"Retry-After": {retryAfter}, "X-Accepted-Github-Permissions": {accepted}, "Location": {body}, "Link": {"<" + body + "?page=2>; rel=\"next\""}}
		client, err := forge.New(forge.Options{
			APIURL: "http://forge.test/api", ServerURL: "http://forge.test", GraphQLURL: "http://forge.test/graphql", Repository: "octo/greet",
			Token: secret.New(token), Transport: answers{status, header, body}, Backoff: time.Nanosecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var lines []string
		_, err = client.Preflight(ctx, forge.Ask{Base: "main"})
		lines = append(lines, text(err))
		lines = append(lines, text(client.ProbePullRequest(ctx, "main")))
		got, warnings, err := client.Upsert(ctx, wanted())
		lines = append(append(lines, text(err), got.URL), warnings...)
		for _, line := range lines {
			if strings.Contains(line, token) || strings.ContainsAny(line, "\n\r\x00\x1b\u202e") || len(line) > 8000 {
				t.Errorf("%d %q gave %q", status, body, line)
			}
		}
	})
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestHugeAnswer(t *testing.T) {
	t.Parallel()
	client, err := forge.New(forge.Options{
		APIURL: "http://forge.test", ServerURL: "http://forge.test", Repository: "octo/greet", Token: secret.New(token), Transport: endless{}, Backoff: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Preflight(t.Context(), forge.Ask{Base: "main"})
	checkError(t, "Preflight", err, "larger than 16 MiB")
}

type endless struct{}

func (endless) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: req, Body: io.NopCloser(io.MultiReader(bytes.NewReader([]byte(`{"a":"`)), zeros{}))}, nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
