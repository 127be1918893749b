package forge_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
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
	ours := in(f.run(t, 13, "ralph", "in_progress"), ownRun, 9)
	cancelled := in(f.run(t, 14, "test", "cancelled"), 76, 6)
	f.checkRuns = []map[string]any{f.run(t, 11, "test", "failure"), again, ours, cancelled}
	f.statuses = []map[string]any{f.status(t, "lint", "success"), f.status(t, "lint", "failure")}
	f.workflows = []map[string]any{f.workflow(t, 77, 7, "CI", "success"), f.workflow(t, 76, 6, "CI", "cancelled"), f.workflow(t, ownRun, 9, "Ralph", "in_progress")}
	// A workflow that failed, with a job and without one, and was run anew.
	for _, one := range []struct {
		run, suite int
		state      string
	}{{72, 2, "failure"}, {73, 3, "startup_failure"}, {74, 4, "success"}} {
		flaky := f.workflow(t, one.run, one.suite, "flaky", one.state)
		flaky["workflow_id"] = 2000
		f.workflows = append(f.workflows, flaky)
		if one.state != "startup_failure" {
			f.checkRuns = append(f.checkRuns, in(f.run(t, one.run, "flaky", one.state), one.run, one.suite))
		}
	}

	got, err := client.Checks(t.Context(), headSHA, forge.CheckOptions{RunID: ownRun})
	if err != nil || got.State != ralph.ChecksPassed || got.Passed != 3 || len(got.Failed) > 0 {
		t.Errorf("Checks() = %+v, %v, want test, lint and flaky passed", got, err)
	}
	// Without leaving anything out, our own job is waited for.
	got, err = client.Checks(t.Context(), headSHA, forge.CheckOptions{})
	if err != nil || !slices.Equal(got.Left, []string{"ralph"}) {
		t.Errorf("Checks(nothing left out) = %+v, %v", got, err)
	}
}

// Two workflows may have a job of one name; both count.
func TestChecksOfOneName(t *testing.T) {
	t.Parallel()
	f, client := newCI(t)
	other := in(f.run(t, 12, "build", "failure"), 78, 8)
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

// A run that a concurrency group holds back until ours has ended is not waited
// for; one of another workflow is.
func TestChecksThatWaitForUs(t *testing.T) {
	t.Parallel()
	f, client := newCI(t)
	f.checkRuns, f.statuses = []map[string]any{f.run(t, 11, "test", "success")}, []map[string]any{f.status(t, "lint", "success")}
	held := f.workflow(t, 90, 9, "Ralph", "queued")
	held["status"] = "pending"
	f.workflows = []map[string]any{held}
	got, err := client.Checks(t.Context(), headSHA, forge.CheckOptions{RunID: ownRun, Workflow: "Ralph"})
	if err != nil || got.State != ralph.ChecksPassed || len(got.Notes) != 1 {
		t.Errorf("Checks() = %+v, %v, want passed and a note", got, err)
	}
	got, err = client.Checks(t.Context(), headSHA, forge.CheckOptions{RunID: ownRun, Workflow: "Other"})
	if err != nil || !slices.Equal(got.Left, []string{"workflow Ralph"}) {
		t.Errorf("Checks(another workflow) = %+v, %v, want it left", got, err)
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
