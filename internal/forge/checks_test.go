package forge_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
)

// Each word the forge has for a check, and what it makes of the whole.
func TestChecksState(t *testing.T) {
	t.Parallel()
	type named struct{ name, state string }
	for _, test := range []struct {
		name      string
		runs      []named
		statuses  []named
		workflows []named
		want      ralph.ChecksState
		passed    int
		failed    []string
		left      []string
	}{
		{name: "none", want: ralph.ChecksNone},
		{name: "all pass", runs: []named{{"a", "success"}, {"b", "neutral"}, {"c", "skipped"}}, statuses: []named{{"s", "success"}}, want: ralph.ChecksPassed, passed: 4},
		{name: "one fails", runs: []named{{"b", "failure"}, {"a", "success"}}, want: ralph.ChecksFailed, passed: 1, failed: []string{"b"}},
		{
			name: "everything that is no success", runs: []named{{"a", "failure"}, {"b", "timed_out"}, {"c", "cancelled"}, {"d", "action_required"}, {"e", "stale"}, {"f", "startup_failure"}},
			want: ralph.ChecksFailed, failed: []string{"a", "b", "c", "d", "e", "f"},
		},
		{name: "statuses fail", statuses: []named{{"x", "failure"}, {"y", "error"}, {"z", "success"}}, want: ralph.ChecksFailed, passed: 1, failed: []string{"x", "y"}},
		{name: "not finished", runs: []named{{"a", "queued"}, {"b", "in_progress"}, {"c", "waiting"}, {"d", "failure"}}, statuses: []named{{"s", "pending"}}, want: ralph.ChecksPending, failed: []string{"d"}, left: []string{"a", "b", "c", "s"}},
		{name: "a job is still to start", runs: []named{{"a", "success"}}, workflows: []named{{"CI", "in_progress"}}, want: ralph.ChecksPending, passed: 1, left: []string{"workflow CI"}},
		{name: "a workflow waits for its turn", workflows: []named{{"CI", "queued"}}, want: ralph.ChecksPending, left: []string{"workflow CI"}},
		{name: "a workflow that is not valid", workflows: []named{{"CI", "startup_failure"}}, want: ralph.ChecksFailed, failed: []string{"workflow CI"}},
		{name: "a workflow tells what its job tells", runs: []named{{"a", "failure"}}, workflows: []named{{"CI", "failure"}}, want: ralph.ChecksFailed, failed: []string{"a"}},
		{name: "a name of nobody's", runs: []named{{"a\u202e\x1b[31m\n::error::", "failure"}, {"", "failure"}}, want: ralph.ChecksFailed, failed: []string{"(no name)", "a [31m ::error::"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f, client := newCI(t)
			f.status(t, "", "")
			for i, one := range test.runs {
				f.checkRuns = append(f.checkRuns, f.run(t, 10+i, one.name, one.state))
			}
			for _, one := range test.statuses {
				f.statuses = append(f.statuses, f.status(t, one.name, one.state))
			}
			for _, one := range test.workflows {
				f.workflows = append(f.workflows, f.workflow(t, 77, 7, one.name, one.state))
			}
			got, err := client.Checks(t.Context(), headSHA, forge.CheckOptions{})
			if err != nil || got.State != test.want || got.SHA != headSHA || got.Passed != test.passed || !slices.Equal(got.Failed, test.failed) || !slices.Equal(got.Left, test.left) {
				t.Errorf("Checks() = %+v, %v, want %s, %d passed, failed %q, left %q", got, err, test.want, test.passed, test.failed, test.left)
			}
			if len(got.Failures) != len(got.Failed) {
				t.Errorf("%d failures, want one of each of %q", len(got.Failures), got.Failed)
			}
		})
	}
}

// Who may fix it: a commit, or a person.
func TestFixable(t *testing.T) {
	t.Parallel()
	for conclusion, want := range map[string]bool{"failure": true, "timed_out": true, "startup_failure": true, "error": true, "cancelled": false, "stale": false, "action_required": false} {
		if got := (forge.Failure{Conclusion: conclusion}).Fixable(); got != want {
			t.Errorf("Fixable(%s) = %v, want %v", conclusion, got, want)
		}
	}
}

// What counts is the newest of each, and never we ourselves.
func TestChecksThatDoNotCount(t *testing.T) {
	t.Parallel()
	f, client := newCI(t)
	again := f.run(t, 12, "test", "success")
	ours := f.run(t, 13, "ralph", "in_progress")
	ours["details_url"], ours["check_suite"] = fmt.Sprintf("https://github.test/octo/greet/actions/runs/%d/job/13", ownRun), map[string]any{"id": 9}
	cancelled := f.run(t, 14, "test", "cancelled")
	cancelled["check_suite"] = map[string]any{"id": 6}
	f.checkRuns = []map[string]any{f.run(t, 11, "test", "failure"), again, ours, cancelled, f.run(t, 15, "Flaky", "failure")}
	f.statuses = []map[string]any{f.status(t, "lint", "success"), f.status(t, "lint", "failure"), f.status(t, "flaky", "failure")}
	f.workflows = []map[string]any{f.workflow(t, 77, 7, "CI", "failure"), f.workflow(t, 76, 6, "CI", "cancelled"), f.workflow(t, ownRun, 9, "Ralph", "in_progress")}

	got, err := client.Checks(t.Context(), headSHA, forge.CheckOptions{RunID: ownRun, Ignore: []string{"flaky"}})
	if err != nil || got.State != ralph.ChecksPassed || got.Passed != 2 {
		t.Errorf("Checks() = %+v, %v, want test and lint passed", got, err)
	}
	// Without leaving anything out, our own job is waited for.
	got, err = client.Checks(t.Context(), headSHA, forge.CheckOptions{})
	if err != nil || !slices.Equal(got.Left, []string{"ralph"}) || !slices.Contains(got.Failed, "Flaky") {
		t.Errorf("Checks(nothing left out) = %+v, %v", got, err)
	}
}

// Two workflows may have a job of one name; both count.
func TestChecksOfOneName(t *testing.T) {
	t.Parallel()
	f, client := newCI(t)
	other := f.run(t, 12, "build", "failure")
	other["check_suite"] = map[string]any{"id": 8}
	f.status(t, "", "")
	f.checkRuns = []map[string]any{f.run(t, 11, "build", "success"), other}
	f.workflows = []map[string]any{f.workflow(t, 77, 7, "Linux", "success"), f.workflow(t, 78, 8, "Mac", "failure")}
	got, err := client.Checks(t.Context(), headSHA, forge.CheckOptions{})
	if err != nil || got.State != ralph.ChecksFailed || !slices.Equal(got.Failed, []string{"Mac / build"}) {
		t.Errorf("Checks() = %+v, %v, want Mac / build failed", got, err)
	}
}

// More than a page of each, all of which count.
func TestChecksManyPages(t *testing.T) {
	t.Parallel()
	f, client := newCI(t)
	for i := range 250 {
		f.checkRuns = append(f.checkRuns, f.run(t, 1000+i, fmt.Sprintf("job %03d", i), "success"))
		f.statuses = append(f.statuses, f.status(t, fmt.Sprintf("status %03d", i), "success"))
	}
	f.statuses[249]["state"] = "failure"
	got, err := client.Checks(t.Context(), headSHA, forge.CheckOptions{})
	if err != nil || got.Passed != 499 || !slices.Equal(got.Failed, []string{"status 249"}) {
		t.Errorf("Checks() = %d passed, failed %q, %v, want 499 and status 249", got.Passed, got.Failed, err)
	}
}

// Gitea has statuses, under another name, and nothing else.
func TestChecksOnGitea(t *testing.T) {
	t.Parallel()
	f, client := newCI(t, withoutDescription)
	state := "success"
	f.answers["GET /api/v1/repos/octo/greet/commits/"+headSHA+"/status"] = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"state":"pending","total_count":3,"statuses":[{"id":1,"status":%q,"context":"a"},{"status":"warning","context":"b"},{"status":"skipped","context":"c"}]}`, state)
	}
	got, err := client.Checks(t.Context(), headSHA, forge.CheckOptions{})
	if err != nil || got.State != ralph.ChecksPassed || got.Passed != 3 {
		t.Errorf("Checks() = %+v, %v, want three passed", got, err)
	}
	state = "failure"
	got, err = client.Checks(t.Context(), headSHA, forge.CheckOptions{})
	if err != nil || got.State != ralph.ChecksFailed || !slices.Equal(got.Failed, []string{"a"}) {
		t.Errorf("Checks() = %+v, %v, want a failed", got, err)
	}
}

func TestChecksRefused(t *testing.T) {
	t.Parallel()
	const repo = "GET /repos/octo/greet"
	forbidden := answer(403, `{"message":"Resource not accessible by integration"}`)
	for _, test := range []struct {
		name  string
		sha   string
		path  string
		do    http.HandlerFunc
		wants []string
	}{
		{"no sha", "main", "", nil, []string{`"main"`, "full id of a commit"}},
		{"statuses", headSHA, "/commits/" + headSHA + "/status", forbidden, []string{"statuses: read", "d6fde92"}},
		{"check runs", headSHA, "/commits/" + headSHA + "/check-runs", forbidden, []string{"checks: read"}},
		{"no such commit", headSHA, "/commits/" + headSHA + "/status", answer(404, `{"message":"Not Found"}`), []string{"not found (404)"}},
		{"token expired", headSHA, "/commits/" + headSHA + "/check-runs", answer(401, `{"message":"Bad credentials"}`), []string{"401"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f, client := newCI(t)
			f.status(t, "", "")
			if test.do != nil {
				f.answers[repo+test.path] = test.do
			}
			_, err := client.Checks(t.Context(), test.sha, forge.CheckOptions{})
			checkError(t, "Checks", err, test.wants...)
			_, err = client.WaitChecks(t.Context(), test.sha, forge.CheckOptions{Grace: time.Hour, Poll: time.Millisecond})
			checkError(t, "WaitChecks", err, test.wants...)
		})
	}
}

// Without the right to see workflow runs the checks that are there count.
func TestChecksWithoutWorkflows(t *testing.T) {
	t.Parallel()
	f, client := newCI(t)
	f.status(t, "", "")
	f.checkRuns = []map[string]any{f.run(t, 11, "test", "success")}
	f.answers["GET /repos/octo/greet/actions/runs"] = answer(403, `{"message":"Resource not accessible by personal access token"}`)
	got, err := client.Checks(t.Context(), headSHA, forge.CheckOptions{})
	if err != nil || got.State != ralph.ChecksPassed || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "actions: read") {
		t.Errorf("Checks() = %+v, %v, want passed and a note", got, err)
	}
}

// A run of CI from the push to its end: nothing, a job, a second that waits for
// the first, the end.
func TestWaitChecks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, client := newCI(t)
		f.status(t, "", "")
		script := []func(){
			func() { f.workflows = []map[string]any{f.workflow(t, 77, 7, "CI", "queued")} },
			func() {
				f.checkRuns = []map[string]any{f.run(t, 11, "lint", "in_progress")}
				f.workflows[0]["status"] = "in_progress"
			},
			func() { f.checkRuns[0] = f.run(t, 11, "lint", "success") },
			func() { f.checkRuns = append(f.checkRuns, f.run(t, 12, "test", "in_progress")) },
			func() {
				f.checkRuns[1] = f.run(t, 12, "test", "failure")
				f.workflows[0] = f.workflow(t, 77, 7, "CI", "failure")
			},
		}
		go func() {
			for _, change := range script {
				time.Sleep(2 * time.Minute)
				f.set(change)
			}
		}()
		var lines []string
		started := time.Now()
		got, err := client.WaitChecks(t.Context(), headSHA, forge.CheckOptions{Grace: 3 * time.Minute, Progress: func(line string) { lines = append(lines, line) }})
		if err != nil || got.State != ralph.ChecksFailed || got.Passed != 1 || !slices.Equal(got.Failed, []string{"test"}) {
			t.Errorf("WaitChecks() = %+v, %v, want test failed", got, err)
		}
		if took := time.Since(started); took < 10*time.Minute || took > 12*time.Minute {
			t.Errorf("WaitChecks took %s, want little more than the 10 minutes of CI", took)
		}
		want := []string{
			"no check has started yet",
			"0 of 1 checks have finished; waiting for workflow CI",
			"0 of 1 checks have finished; waiting for lint",
			"1 of 2 checks have finished; waiting for workflow CI",
			"1 of 2 checks have finished; waiting for test",
		}
		if !slices.Equal(lines, want) {
			t.Errorf("progress = %q, want %q", lines, want)
		}
		// Most looks found nothing new, and cost no rate limit.
		path := "GET /repos/octo/greet/commits/" + headSHA
		if changed, same := f.count(path+"/check-runs 200"), f.count(path+"/check-runs 304"); changed > 5 || same < 5 {
			t.Errorf("%d new answers and %d unchanged ones, want at most 5 new", changed, same)
		}
	})
}

// How long nothing, and how long a success, is waited for.
func TestWaitChecksGrace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		first  string // status at once; "": none
		later  string // another after a minute
		grace  time.Duration
		want   ralph.ChecksState
		within time.Duration
	}{
		{"nothing ever", "", "", 2 * time.Minute, ralph.ChecksNone, 125 * time.Second},
		{"no grace", "", "", 0, ralph.ChecksNone, 0},
		{"a late one", "success", "failure", 2 * time.Minute, ralph.ChecksFailed, 100 * time.Second},
		{"no late one", "success", "", 2 * time.Minute, ralph.ChecksPassed, 125 * time.Second},
		{"a failure is not waited out", "failure", "", time.Hour, ralph.ChecksFailed, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, client := newCI(t)
				f.status(t, "", "")
				if test.first != "" {
					f.statuses = append(f.statuses, f.status(t, "first", test.first))
				}
				if test.later != "" {
					go func() {
						time.Sleep(time.Minute)
						f.set(func() { f.statuses = append(f.statuses, f.status(t, "later", test.later)) })
					}()
				}
				started := time.Now()
				got, err := client.WaitChecks(t.Context(), headSHA, forge.CheckOptions{Grace: test.grace})
				if took := time.Since(started); err != nil || got.State != test.want || took > test.within {
					t.Errorf("WaitChecks() = %+v, %v after %s, want %s within %s", got, err, took, test.want, test.within)
				}
			})
		})
	}
}

// Time that is over is an answer; a cancelled run is an error.
func TestWaitChecksEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		state string
		want  ralph.ChecksState
		err   error
	}{
		{"late", "in_progress", ralph.ChecksPending, nil},
		{"late with a failure", "failure", ralph.ChecksFailed, nil},
		{"cancelled", "in_progress", ralph.ChecksPending, context.Canceled},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, client := newCI(t)
				f.status(t, "", "")
				f.checkRuns = []map[string]any{f.run(t, 11, "a", test.state), f.run(t, 12, "b", "in_progress")}
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
				defer cancel()
				if test.err != nil {
					time.AfterFunc(5*time.Minute, cancel)
				}
				got, err := client.WaitChecks(ctx, headSHA, forge.CheckOptions{})
				if !errors.Is(err, test.err) || got.State != test.want || !slices.Contains(got.Left, "b") {
					t.Errorf("WaitChecks() = %+v, %v, want %s with b left, %v", got, err, test.want, test.err)
				}
				if n := f.count("GET"); test.err == nil && (n < 30 || n > 200) {
					t.Errorf("%d requests in 30 minutes, want two about every minute", n)
				}
			})
		})
	}
}

// A commit that was pushed a moment ago may not be known yet.
func TestWaitChecksOfANewCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, client := newCI(t)
		f.status(t, "", "")
		path := "GET /repos/octo/greet/commits/" + headSHA
		f.answers[path+"/status"] = answer(404, `{"message":"Not Found"}`)
		f.answers[path+"/check-runs"] = answer(422, `{"message":"No commit found for SHA: `+headSHA+`"}`)
		time.AfterFunc(5*time.Second, func() { f.set(func() { delete(f.answers, path+"/status") }) })
		time.AfterFunc(20*time.Second, func() {
			f.set(func() {
				delete(f.answers, path+"/check-runs")
				f.checkRuns = []map[string]any{f.run(t, 11, "a", "success")}
			})
		})
		if got, err := client.WaitChecks(t.Context(), headSHA, forge.CheckOptions{}); err != nil || got.State != ralph.ChecksPassed {
			t.Errorf("WaitChecks() = %+v, %v, want passed", got, err)
		}
	})
}

// Whatever the forge answers: an end, clean lines, no token, nobody's rights.
func FuzzLooks(f *testing.F) {
	f.Add(200, `{"total_count":1,"check_runs":[{"id":1,"name":"a","status":"completed","conclusion":"failure","details_url":"https://h/actions/runs/1/job/2","app":{"slug":"github-actions"}}],"statuses":[{"context":"a","state":"failure"}],"workflow_runs":[null,{"id":1,"head_sha":"`+headSHA+`"}]}`)
	f.Add(200, `{"permission":"admin","role_name":"admin","user":{"login":"octocat"}}`)
	f.Add(200, `{"id":77,"number":5,"head_sha":"`+headSHA+`","jobs":[null,{"status":"completed","steps":[null]}],"head":{"ref":"x","sha":"`+headSHA+`"},"base":{"ref":"y"}}`)
	f.Add(302, `https://logs.test/\u202e`)
	f.Add(404, `{"message":"`+token+`\u001b"}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 100 || status > 999 {
			return
		}
		client := newClient(t, func(r *http.Request) (*http.Response, error) {
			return answers{status, http.Header{"Location": {body}}, body}.RoundTrip(r)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		checks, err := client.Checks(ctx, headSHA, forge.CheckOptions{})
		lines := append([]string{text(err)}, slices.Concat(checks.Failed, checks.Left, checks.Notes)...)
		for _, log := range client.FailedLogs(ctx, checks) {
			lines = append(lines, log.Name, log.Conclusion, log.Missing, strings.ReplaceAll(strings.ReplaceAll(log.Tail, "\n", " "), "\t", " "))
		}
		run, err := client.FailedRun(ctx, 77)
		lines = append(lines, text(err), run.Name, run.Conclusion, run.Event)
		for _, job := range run.Jobs {
			lines = append(lines, job.Name, job.Step, job.Missing)
		}
		pull, err := client.Pull(ctx, 5)
		lines = append(lines, text(err), pull.Title, pull.Author, pull.Association)
		permission, err := client.Permission(ctx, "octocat")
		lines = append(lines, text(err))
		if permission.CanWrite() && !strings.Contains(body, "admin") && !strings.Contains(body, "owner") && !strings.Contains(body, "write") && !strings.Contains(body, "maintain") && !strings.Contains(body, "\\u") {
			t.Errorf("%d %q let octocat write", status, body)
		}
		for _, line := range lines {
			if strings.Contains(line, token) || strings.ContainsAny(line, "\n\r\x00\x1b\u202e") || len(line) > 16<<10 {
				t.Errorf("%d %q gave %q", status, body, line)
			}
		}
	})
}

// A forge that is down for a while does not end the wait; one that stays down does.
func TestWaitChecksOutage(t *testing.T) {
	t.Parallel()
	for name, long := range map[string]bool{"passes": false, "stays": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, client := newCI(t)
				f.status(t, "", "")
				f.checkRuns = []map[string]any{f.run(t, 11, "a", "in_progress")}
				path := "GET /repos/octo/greet/commits/" + headSHA + "/check-runs"
				time.AfterFunc(time.Minute, func() { f.set(func() { f.answers[path] = answer(502, `<html>`) }) })
				time.AfterFunc(2*time.Minute, func() {
					f.set(func() {
						f.checkRuns[0] = f.run(t, 11, "a", "success")
						if !long {
							delete(f.answers, path)
						}
					})
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				got, err := client.WaitChecks(ctx, headSHA, forge.CheckOptions{})
				if long {
					checkError(t, "WaitChecks", err, "502", "d6fde92")
				} else if err != nil || got.State != ralph.ChecksPassed {
					t.Errorf("WaitChecks() = %+v, %v, want passed", got, err)
				}
			})
		})
	}
}
