package forge_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/testing/openapi"
)

// stamped is a log as GitHub gives it: with the time before every line, and a
// byte order mark before the first.
func stamped(lines ...string) string {
	var b strings.Builder
	b.WriteString("\ufeff")
	for i, line := range lines {
		fmt.Fprintf(&b, "2026-01-02T03:04:%02d.%07dZ %s\n", i%60, i, line)
	}
	return b.String()
}

// jobLog is that of a job that failed: what came before, the failed step, and
// the cleaning up after it.
func jobLog() string {
	lines := []string{"Current runner version: '2.329.0'", "##[group]Runner Image", "Image: ubuntu-24.04", "##[endgroup]"}
	for i := range 2000 {
		lines = append(lines, fmt.Sprintf("added package %d", i))
	}
	lines = append(lines, "##[group]Run npm test", "\x1b[36;1mnpm test\x1b[0m", "shell: /usr/bin/bash -e {0}", "##[endgroup]",
		"\x1b[31m  ✗ greet says hello\x1b[39m", "    expected \u201chello\u201d, got \u201chelo\u201d", "##[debug]noise", "##[error]Process completed with exit code 1.")
	for i := range 500 {
		lines = append(lines, fmt.Sprintf("[command]/usr/bin/git config %d", i))
	}
	return stamped(append(lines, "Cleaning up orphan processes")...)
}

func redirect(to string) http.HandlerFunc { return answer(http.StatusFound, "", "Location", to) }

const jobPath = "GET /repos/octo/greet/actions/jobs/11/logs"

func failedOnce(t *testing.T, f *ci) forge.Checks {
	t.Helper()
	f.checkRuns = []map[string]any{f.run(t, 11, "test", "failure")}
	return look(t, f)
}

// look reads the checks by a client of its own.
func look(t *testing.T, f *ci) forge.Checks {
	t.Helper()
	f.status(t, "", "")
	got, err := f.client.Checks(t.Context(), headSHA, forge.CheckOptions{})
	if err != nil || got.State != ralph.ChecksFailed {
		t.Fatalf("Checks() = %+v, %v, want failed", got, err)
	}
	return got
}

// What the agent gets to read is the failure, not the cleaning up after it.
func TestFailedLogs(t *testing.T) {
	t.Parallel()
	f, client := newCI(t)
	f.answers[jobPath] = redirect("https://logs.test/11.txt?sig=verysecret")
	f.files["/11.txt"] = answer(200, jobLog(), "Content-Type", "text/plain")
	logs := client.FailedLogs(t.Context(), failedOnce(t, f))
	if len(logs) != 1 || logs[0].Name != "test" || logs[0].Missing != "" || logs[0].URL != "https://github.test/octo/greet/actions/runs/77/job/11" {
		t.Fatalf("FailedLogs() = %+v, want that of test", logs)
	}
	tail := logs[0].Tail
	want := "Run npm test\nnpm test\nshell: /usr/bin/bash -e {0}\n  ✗ greet says hello\n    expected \u201chello\u201d, got \u201chelo\u201d\nError: Process completed with exit code 1.\n"
	if !strings.Contains(tail, want) || strings.Count(tail, "git config") > 5 || len(tail) > 8<<10 {
		t.Errorf("tail (%d bytes) ends %q, want %q near its end", len(tail), tail[max(0, len(tail)-500):], want)
	}
	// The place of the log is another server's: it gets no token.
	if len(f.foreign) != 1 || f.foreign[0].Header.Get("Authorization") != "" || f.foreign[0].Header.Get("Referer") != "" {
		t.Errorf("requests to the server of logs = %v, want one without the token", f.foreign)
	}
}

// Many errors, in any place: the first and the last are there, and it is bounded.
func TestFailedLogsOfManyErrors(t *testing.T) {
	t.Parallel()
	chatter := func(n int, text string) []string {
		var lines []string
		for i := range n {
			lines = append(lines, fmt.Sprintf("%s %d", text, i))
		}
		return lines
	}
	for _, test := range []struct {
		name       string
		log        string
		wants, not []string
	}{
		{"no error", stamped(chatter(3000, "line")...), []string{"line 2999"}, []string{"line 0\n"}},
		{"first and last", stamped(append(append(append(chatter(3000, "before"), "##[error]first"), chatter(3000, "between")...), "##[error]last")...), []string{"before 2999\nError: first", "between 2999\nError: last", "\n…\n"}, nil},
		{"hundreds together", stamped(chatter(900, "##[error]bad")...), []string{"Error: bad 899"}, nil},
		{"in the middle of a line", stamped("echo ##[error]no", "##[error]yes"), []string{"echo ##[error]no\nError: yes"}, nil},
		{"no line end", stamped("a") + "2026-01-02T03:04:05.0000000Z ##[error]cut", []string{"a\nError: cut"}, nil},
		{"windows", strings.ReplaceAll(stamped("a", "b", "##[error]c"), "\n", "\r\n"), []string{"a\nb\nError: c"}, []string{"\r"}},
		{"progress", stamped("1%\r50%\r100%", "##[error]c"), []string{"100%\nError: c"}, []string{"\r"}},
		{"one long line", strings.Repeat("x", 10<<20) + "\n" + "##[error]y", []string{"Error: y", "xxx …"}, []string{strings.Repeat("x", 1001)}},
		{"not what it seems", stamped("a\u202eb\u200bc\U000e0041d\x00\x07", "\x1b]8;;https://evil.test\x07link\x1b]8;;\x07 \x1b[2J", "##[error]"+token), []string{"abcd\nlink\nError: ***"}, []string{token, "evil", "\x1b"}},
		{"nothing", "", nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f, client := newCI(t)
			f.answers[jobPath] = redirect("https://logs.test/11.txt")
			f.files["/11.txt"] = answer(200, test.log)
			logs := client.FailedLogs(t.Context(), failedOnce(t, f))
			tail := logs[0].Tail
			for _, want := range test.wants {
				if !strings.Contains(tail, want) {
					t.Errorf("tail = %.300q … %q, want %q in it", tail, tail[max(0, len(tail)-300):], want)
				}
			}
			for _, not := range test.not {
				if strings.Contains(tail, not) {
					t.Errorf("tail = %.300q, want no %.50q in it", tail, not)
				}
			}
			if len(tail) > 8<<10 || test.wants == nil && tail != "" {
				t.Errorf("tail is %d bytes", len(tail))
			}
		})
	}
}

// Where a log may be read from, and what is said when it cannot be.
func TestFailedLogsThatAreMissing(t *testing.T) {
	t.Parallel()
	const note = "app/main.go:3: failure: no such function"
	for _, test := range []struct {
		name  string
		api   http.HandlerFunc
		file  http.HandlerFunc
		wants []string // in Missing; none: the log is there
		asked int      // requests to other servers
	}{
		{"plain http", redirect("http://logs.test/11.txt"), nil, []string{"http://logs.test", "https"}, 0},
		{"a file", redirect("file:///etc/passwd"), nil, []string{"file://", "https"}, 0},
		{"a password", redirect("https://a:b@logs.test/11.txt"), nil, []string{"https"}, 0},
		{"no place", answer(302, ""), nil, []string{"302", "not where the log is"}, 0},
		{"gone", answer(410, `{"message":"Gone"}`), nil, []string{"410", "job 11"}, 0},
		{"forbidden", answer(403, `{"message":"Must have admin rights to Repository."}`), nil, []string{"actions: read"}, 0},
		{"not there yet, for ever", answer(404, `{"message":"Not Found"}`), nil, []string{"404", "actions: read"}, 0},
		{"the place is gone", redirect("https://logs.test/11.txt?sig=verysecret"), answer(404, "BlobNotFound"), []string{"logs.test", "404"}, 3},
		{"the place is down", redirect("https://logs.test/11.txt?sig=verysecret"), func(w http.ResponseWriter, r *http.Request) {
			redirect("https://logs.test/11.txt?sig=verysecret")(w, r)
		}, []string{"logs.test", "too many redirects"}, 12},
		{"leads to plain http", redirect("https://logs.test/11.txt"), redirect("http://169.254.169.254/latest"), []string{"169.254.169.254", "https"}, 3},
		{"moved", answer(301, `{"message":"Moved Permanently"}`, "Location", "https://api.test/repos/octo/greet/actions/jobs/12/logs"), nil, nil, 1},
		{"moved in a circle", answer(301, `{"message":"Moved Permanently"}`, "Location", "https://api.test/repos/octo/greet/actions/jobs/11/logs"), nil, []string{"too many redirects"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f, client := newCI(t)
			f.answers[jobPath] = test.api
			f.answers["GET /repos/octo/greet/actions/jobs/12/logs"] = redirect("https://logs.test/12.txt")
			f.files["/11.txt"], f.files["/12.txt"] = test.file, answer(200, "##[error]found")
			failed := f.run(t, 11, "test", "failure")
			failed["output"].(map[string]any)["annotations_count"] = 1
			one := openapi.Example(t, "GET /repos/{owner}/{repo}/check-runs/{check_run_id}/annotations", 200)
			one["path"], one["start_line"], one["annotation_level"], one["message"] = "app/main.go", 3, "failure", "no such function"
			f.notes = []map[string]any{one}
			f.checkRuns = []map[string]any{failed}
			logs := client.FailedLogs(t.Context(), look(t, f))
			if len(logs) != 1 || (logs[0].Missing != "") != (len(test.wants) > 0) {
				t.Fatalf("FailedLogs() = %+v, want one that lacks %q", logs, test.wants)
			}
			for _, want := range test.wants {
				if !strings.Contains(logs[0].Missing, want) {
					t.Errorf("Missing = %q, want %q in it", logs[0].Missing, want)
				}
			}
			if strings.Contains(logs[0].Missing, "verysecret") || strings.Contains(logs[0].Missing, token) {
				t.Errorf("Missing = %q holds what only the forge gives out", logs[0].Missing)
			}
			if len(test.wants) > 0 && logs[0].Tail != note {
				t.Errorf("Tail = %q, want the annotation %q in place of the log", logs[0].Tail, note)
			}
			if len(f.foreign) != test.asked {
				t.Errorf("%d requests to other servers, want %d", len(f.foreign), test.asked)
			}
			for _, r := range f.foreign {
				if r.Header.Get("Authorization") != "" {
					t.Errorf("the token went to %s", r.URL.Host)
				}
			}
		})
	}
}

// For some seconds after a job the log is not there.
func TestFailedLogsNotThereYet(t *testing.T) {
	t.Parallel()
	f, client := newCI(t)
	n := 0
	f.answers[jobPath] = func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			answer(404, `{"message":"Not Found"}`)(w, r)
			return
		}
		redirect("https://logs.test/11.txt")(w, r)
	}
	f.files["/11.txt"] = func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 3 {
			answer(503, "busy")(w, r)
			return
		}
		answer(200, "##[error]there")(w, r)
	}
	logs := client.FailedLogs(t.Context(), failedOnce(t, f))
	if logs[0].Missing != "" || logs[0].Tail != "Error: there" {
		t.Errorf("FailedLogs() = %+v, want the log", logs)
	}
}

// A log that never ends takes a minute and no memory.
func TestFailedLogsEndless(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, client := newCI(t)
		f.answers[jobPath] = redirect("https://logs.test/11.txt")
		f.stream = func(r *http.Request) io.ReadCloser { return slow{r} }
		started := time.Now()
		logs := client.FailedLogs(t.Context(), failedOnce(t, f))
		if took := time.Since(started); took > 2*time.Minute || len(logs) != 1 || len(logs[0].Tail) > 8<<10 || !strings.Contains(logs[0].Tail, "still running") {
			t.Errorf("FailedLogs() = %.200q after %s, want what came within a minute", logs, took)
		}
	})
}

// slow gives a line a second, until the request is over.
type slow struct{ r *http.Request }

func (s slow) Read(p []byte) (int, error) {
	select {
	case <-time.After(time.Second):
		return copy(p, "still running\n"), nil
	case <-s.r.Context().Done():
		return 0, s.r.Context().Err()
	}
}

func (slow) Close() error { return nil }

// Checks of other Apps and statuses have no log: their own words are it.
func TestFailedLogsOfOthers(t *testing.T) {
	t.Parallel()
	f, client := newCI(t)
	other := f.run(t, 11, "Sonar", "failure")
	other["app"].(map[string]any)["slug"] = "sonar"
	other["output"] = map[string]any{"title": "3 bugs", "summary": "Quality gate failed\u202e", "text": "a.go: bad", "annotations_count": 1, "annotations_url": "https://api.test/a"}
	f.checkRuns = []map[string]any{other, f.run(t, 12, "old", "cancelled")}
	one := openapi.Example(t, "GET /repos/{owner}/{repo}/check-runs/{check_run_id}/annotations", 200)
	one["path"], one["start_line"], one["annotation_level"], one["message"] = "a.go", 3, "warning", "bug"
	f.notes = []map[string]any{one}
	status := f.status(t, "ci/other", "error")
	status["description"] = "The build is broken"
	f.statuses = []map[string]any{status}
	f.workflows = []map[string]any{f.workflow(t, 78, 8, "CI", "startup_failure")}
	logs := client.FailedLogs(t.Context(), look(t, f))
	var all []string
	for _, log := range logs {
		all = append(all, fmt.Sprintf("%s: %s: %s: %s", log.Name, log.Conclusion, log.Tail, log.Missing))
	}
	want := []string{
		"Sonar: failure: 3 bugs\n\nQuality gate failed\n\na.go: bad\n\na.go:3: warning: bug: ",
		"ci/other: error: The build is broken: ",
		"workflow CI: startup_failure: The workflow ended without a failed job: startup_failure. Its file may not be valid.: ",
		"old: cancelled: : ",
	}
	if got := strings.Join(all, "\n---\n"); got != strings.Join(want, "\n---\n") {
		t.Errorf("FailedLogs() = %s\nwant %s", got, strings.Join(want, "\n---\n"))
	}
	if len(f.foreign) != 0 {
		t.Errorf("%d requests to other servers, want none", len(f.foreign))
	}
}

// At most eight logs are read, however much failed.
func TestFailedLogsAreFew(t *testing.T) {
	t.Parallel()
	f, client := newCI(t)
	for i := range 20 {
		f.checkRuns = append(f.checkRuns, f.run(t, 100+i, fmt.Sprintf("job %02d", i), "failure"))
		f.answers[fmt.Sprintf("GET /repos/octo/greet/actions/jobs/%d/logs", 100+i)] = redirect("https://logs.test/11.txt")
	}
	f.files["/11.txt"] = answer(200, "##[error]x")
	if logs := client.FailedLogs(t.Context(), look(t, f)); len(logs) != 8 || len(f.foreign) != 8 {
		t.Errorf("%d logs, %d downloads, want 8", len(logs), len(f.foreign))
	}
}
