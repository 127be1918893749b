package forge_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/testing/openapi"
)

const (
	headSHA = "d6fde92930d4715a2b49857d24b940956b26d2d3"
	ownRun  = 900
)

// ci plays the part of GitHub that knows checks, in memory, at
// https://api.test, and the server of logs, at https://logs.test. Answers are
// those of GitHub's own description, with what a test puts in.
type ci struct {
	mu        sync.Mutex
	checkRuns []map[string]any
	statuses  []map[string]any
	workflows []map[string]any
	jobs      []map[string]any
	notes     []map[string]any                  // annotations
	answers   map[string]http.HandlerFunc       // by method and path; they come first
	files     map[string]http.HandlerFunc       // of the server of logs, by path
	calls     []string                          // method, path and status of each request
	foreign   []*http.Request                   // those to other hosts than the API
	stream    func(*http.Request) io.ReadCloser // body of every answer of the server of logs; nil: files
	client    *forge.Client
	examples  map[string]func() map[string]any // by operation
}

func newCI(t *testing.T, change ...func(*forge.Options)) (*ci, *forge.Client) {
	t.Helper()
	f := &ci{answers: map[string]http.HandlerFunc{}, files: map[string]http.HandlerFunc{}, examples: map[string]func() map[string]any{}}
	api := http.Handler(http.HandlerFunc(f.api))
	options := forge.Options{
		APIURL: "https://api.test", ServerURL: "https://github.test", Repository: "octo/greet", Token: secret.New(token), Backoff: time.Millisecond,
	}
	for _, one := range change {
		one(&options)
	}
	if strings.HasSuffix(options.APIURL, "//api.test") {
		api = openapi.Handler(t, api)
	}
	options.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		switch r.URL.Host {
		case "api.test", "gitea.test":
			if r.Body == nil {
				r.Body = http.NoBody
			}
			api.ServeHTTP(w, r)
			f.mu.Lock()
			f.calls = append(f.calls, r.Method+" "+r.URL.Path+" "+strconv.Itoa(w.Code))
			f.mu.Unlock()
		default:
			f.mu.Lock()
			f.foreign = append(f.foreign, r)
			f.mu.Unlock()
			if f.stream != nil {
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: f.stream(r), Request: r}, nil
			}
			if file := f.files[r.URL.Path]; file != nil {
				file(w, r)
			} else {
				http.NotFound(w, r)
			}
		}
		resp := w.Result()
		resp.Request = r
		return resp, r.Context().Err()
	})
	client, err := forge.New(options)
	if err != nil {
		t.Fatal(err)
	}
	f.client = client
	return f, client
}

// newClient talks to a forge of a single function.
func newClient(t *testing.T, forgery roundTripper) *forge.Client {
	t.Helper()
	client, err := forge.New(forge.Options{
		APIURL: "https://api.test", ServerURL: "https://github.test", Repository: "octo/greet", Token: secret.New(token), Transport: forgery, Backoff: time.Nanosecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// withoutDescription is for answers that GitHub's description does not know, and
// other forges.
func withoutDescription(o *forge.Options) { o.APIURL = "https://gitea.test/api/v1" }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (f *ci) api(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+token {
		http.Error(w, `{"message":"Bad credentials"}`, http.StatusUnauthorized)
		return
	}
	if do := f.answers[r.Method+" "+r.URL.Path]; do != nil {
		do(w, r)
		return
	}
	const repo = "/repos/octo/greet"
	list := func(name string, all []map[string]any) map[string]any {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
		from := min((page-1)*size, len(all))
		to := min(from+size, len(all))
		if to < len(all) {
			query := r.URL.Query()
			query.Set("page", strconv.Itoa(page+1))
			w.Header().Set("Link", fmt.Sprintf(`<https://api.test%s?%s>; rel="next"`, r.URL.Path, query.Encode()))
		}
		return map[string]any{"total_count": len(all), name: append([]map[string]any{}, all[from:to]...)}
	}
	switch r.URL.Path {
	case repo + "/commits/" + headSHA + "/check-runs":
		f.send(w, r, list("check_runs", f.checkRuns))
	case repo + "/commits/" + headSHA + "/status":
		answer := list("statuses", f.statuses)
		answer["state"], answer["sha"] = "pending", headSHA
		answer["commit_url"], answer["url"] = "https://api.test/c", "https://api.test/s"
		answer["repository"] = f.examples["repository"]()
		f.send(w, r, answer)
	case repo + "/actions/runs":
		f.send(w, r, list("workflow_runs", f.workflows))
	case repo + "/actions/runs/77/jobs":
		f.send(w, r, list("jobs", f.jobs))
	case repo + "/check-runs/11/annotations":
		f.send(w, r, f.notes)
	default:
		http.Error(w, `{"message":"Not Found"}`, http.StatusNotFound)
	}
}

// send answers as GitHub does, with a tag, and with 304 to who has it already.
func (f *ci) send(w http.ResponseWriter, r *http.Request, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	tag := fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(body)))
	w.Header().Set("ETag", tag)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(body)
}

// set changes what the forge knows, between two looks.
func (f *ci) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *ci) count(call string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, one := range f.calls {
		if strings.HasPrefix(one, call) {
			n++
		}
	}
	return n
}

// run is a check run of GitHub Actions in the suite of the workflow run 77.
func (f *ci) run(t *testing.T, id int, name, state string) map[string]any {
	t.Helper()
	run := openapi.Example(t, "GET /repos/{owner}/{repo}/commits/{ref}/check-runs", 200)["check_runs"].([]any)[0].(map[string]any)
	run["id"], run["name"], run["head_sha"] = id, name, headSHA
	run["html_url"] = fmt.Sprintf("https://github.test/octo/greet/actions/runs/77/job/%d", id)
	run["details_url"] = run["html_url"]
	run["check_suite"] = map[string]any{"id": 7}
	run["app"].(map[string]any)["slug"], run["app"].(map[string]any)["id"] = "github-actions", 15368
	run["output"] = map[string]any{"title": nil, "summary": nil, "text": nil, "annotations_count": 0, "annotations_url": "https://api.test/a"}
	run["status"], run["conclusion"], run["completed_at"] = state, nil, nil
	if state != "queued" && state != "in_progress" && state != "waiting" {
		run["status"], run["conclusion"], run["completed_at"] = "completed", state, "2026-01-01T00:00:00Z"
	}
	return run
}

// in moves a check run to another workflow run and its suite.
func in(run map[string]any, workflow, suite int) map[string]any {
	run["details_url"] = fmt.Sprintf("https://github.test/octo/greet/actions/runs/%d/job/%v", workflow, run["id"])
	run["check_suite"] = map[string]any{"id": suite}
	return run
}

func (f *ci) status(t *testing.T, name, state string) map[string]any {
	t.Helper()
	combined := openapi.Example(t, "GET /repos/{owner}/{repo}/commits/{ref}/status", 200)
	f.examples["repository"] = func() map[string]any { return combined["repository"].(map[string]any) }
	one := combined["statuses"].([]any)[0].(map[string]any)
	one["context"], one["state"], one["target_url"] = name, state, "https://ci.test/"+name
	return one
}

// workflow is a workflow run with the suite of run, or another.
func (f *ci) workflow(t *testing.T, id, suite int, name, state string) map[string]any {
	t.Helper()
	run := openapi.Example(t, "GET /repos/{owner}/{repo}/actions/runs/{run_id}", 200)
	run["id"], run["check_suite_id"], run["name"], run["head_sha"], run["event"], run["workflow_id"] = id, suite, name, headSHA, "push", 1000+len(name)
	run["html_url"] = fmt.Sprintf("https://github.test/octo/greet/actions/runs/%d", id)
	run["status"], run["conclusion"] = state, nil
	if state != "queued" && state != "in_progress" && state != "waiting" {
		run["status"], run["conclusion"] = "completed", state
	}
	return run
}
