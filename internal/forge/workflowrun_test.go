package forge_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/testing/openapi"
)

// job is a job of the workflow run 77.
func (f *ci) job(t *testing.T, id int, name, conclusion string) map[string]any {
	t.Helper()
	job := openapi.Example(t, "GET /repos/{owner}/{repo}/actions/jobs/{job_id}", 200)
	job["id"], job["run_id"], job["name"], job["status"], job["conclusion"], job["head_sha"] = id, 77, name, "completed", conclusion, headSHA
	job["html_url"] = fmt.Sprintf("https://github.test/octo/greet/actions/runs/77/job/%d", id)
	job["steps"] = []any{
		map[string]any{"name": "Set up job", "status": "completed", "conclusion": "success", "number": 1},
		map[string]any{"name": "Run npm test", "status": "completed", "conclusion": conclusion, "number": 2},
		map[string]any{"name": "Report", "status": "completed", "conclusion": conclusion, "number": 3},
	}
	return job
}

// The prompt of a run that mends CI: which job failed, and why.
func TestFailedRun(t *testing.T) {
	t.Parallel()
	f, client := newCI(t)
	for i := range 120 {
		f.jobs = append(f.jobs, f.job(t, 100+i, fmt.Sprintf("ok %d", i), "success"))
	}
	f.jobs = append(f.jobs, f.job(t, 11, "test\n::error::", "failure"), f.job(t, 12, "slow", "cancelled"), f.job(t, 13, "skipped", "skipped"))
	f.answers[jobPath] = redirect("https://logs.test/11.txt?sig=verysecret")
	f.files["/11.txt"] = answer(200, jobLog())
	f.answers["GET /repos/octo/greet/check-runs/12/annotations"] = answer(200, `[]`)

	got, err := client.FailedRun(t.Context(), 77)
	if err != nil || len(got) != 2 {
		t.Fatalf("FailedRun() = %+v, %v", got, err)
	}
	if job := got[0]; job.Name != "test ::error::" || job.Conclusion != "failure" || !strings.Contains(job.Tail, "✗ greet says hello") || job.Missing != "" {
		t.Errorf("job = %+v, want test with its log", job)
	}
	if job := got[1]; job.Name != "slow" || job.Conclusion != "cancelled" || job.Tail != "" {
		t.Errorf("job = %+v, want slow, without a log", job)
	}
}

// Of a log that is over the limit, and names no error, the end is kept.
func TestFailedRunOfALongLog(t *testing.T) {
	t.Parallel()
	f, client := newCI(t)
	f.jobs = append(f.jobs, f.job(t, 11, "test", "failure"))
	f.answers[jobPath] = redirect("https://logs.test/11.txt")
	lines := []string{"the beginning"}
	for i := range 2000 {
		lines = append(lines, fmt.Sprintf("line %d of a log", i))
	}
	f.files["/11.txt"] = answer(200, stamped(append(lines, "it was red")...))
	got, err := client.FailedRun(t.Context(), 77)
	if err != nil || len(got) != 1 || !strings.HasSuffix(got[0].Tail, "line 1998 of a log\nline 1999 of a log\nit was red") || strings.Contains(got[0].Tail, "the beginning") || len(got[0].Tail) > 8<<10 || len(got[0].Tail) < 4<<10 {
		t.Errorf("FailedRun() = %+v, %v, want its end, of at most 8 KiB", got, err)
	}
}

func TestFailedRunOfManyJobs(t *testing.T) {
	t.Parallel()
	f, client := newCI(t)
	for i := range 250 {
		f.jobs = append(f.jobs, f.job(t, 1000+i, fmt.Sprintf("job %d", i), "failure"))
		f.answers[fmt.Sprintf("GET /repos/octo/greet/actions/jobs/%d/logs", 1000+i)] = redirect("https://logs.test/11.txt")
	}
	f.files["/11.txt"] = answer(200, "##[error]x")
	if got, err := client.FailedRun(t.Context(), 77); err != nil || len(got) != 8 || len(f.foreign) != 8 {
		t.Errorf("FailedRun() = %d jobs, %v, want 8", len(got), err)
	}
}

func TestFailedRunRefused(t *testing.T) {
	t.Parallel()
	f, client := newCI(t)
	for _, test := range []struct {
		name  string
		jobs  http.HandlerFunc
		wants []string
	}{
		{"none", answer(404, `{"message":"Not Found"}`), []string{"workflow run 77", "404", "actions: read"}},
		{"forbidden", answer(403, `{"message":"Resource not accessible by integration"}`), []string{"jobs of workflow run 77", "actions: read"}},
	} {
		f.answers["GET /repos/octo/greet/actions/runs/77/jobs"] = test.jobs
		_, err := client.FailedRun(t.Context(), 77)
		checkError(t, "FailedRun("+test.name+")", err, test.wants...)
	}
}

// What a comment on a pull request needs to know of it.
func TestPull(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(pull, head map[string]any)
	}{
		{"own branch", func(map[string]any, map[string]any) {}},
		{"fork", func(_, head map[string]any) { head["repo"].(map[string]any)["full_name"] = "mallory/greet" }},
		{"fork that is gone", func(_, head map[string]any) { head["repo"] = nil }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f, client := newCI(t, func(o *forge.Options) {
				if test.name == "fork that is gone" {
					withoutDescription(o) // it says that there always is a repository
				}
			})
			pull := openapi.Example(t, "GET /repos/{owner}/{repo}/pulls/{pull_number}", 200)
			head := pull["head"].(map[string]any)
			head["ref"], head["sha"] = "feature/ü#1", headSHA
			for _, side := range []string{"head", "base"} {
				repo := pull[side].(map[string]any)["repo"].(map[string]any)
				repo["full_name"], repo["id"] = "octo/greet", 1
			}
			pull["number"], pull["state"] = 5, "open"
			pull["base"].(map[string]any)["ref"] = "main"
			test.change(pull, head)
			send := func(w http.ResponseWriter, r *http.Request) { f.send(w, r, pull) }
			f.answers["GET /repos/octo/greet/pulls/5"], f.answers["GET /api/v1/repos/octo/greet/pulls/5"] = send, send
			got, err := client.Pull(t.Context(), 5)
			want := map[string]string{"own branch": "octo/greet", "fork": "mallory/greet"}[test.name]
			if err != nil || got.HeadRef != "feature/ü#1" || got.BaseRef != "main" || !got.Open || got.HeadRepository != want {
				t.Errorf("Pull() = %+v, %v, repository wanted %q", got, err, want)
			}
		})
	}
}

func TestPullRefused(t *testing.T) {
	t.Parallel()
	f, client := newCI(t, withoutDescription)
	const path = "GET /api/v1/repos/octo/greet/pulls/5"
	for name, test := range map[string]struct {
		do    http.HandlerFunc
		wants []string
	}{
		"none":      {answer(404, `{"message":"Not Found"}`), []string{"#5", "404"}},
		"forbidden": {answer(403, `{"message":"no"}`), []string{"pull-requests: read"}},
		"another":   {answer(200, `{"number":6,"head":{"ref":"a","sha":"`+headSHA+`"},"base":{"ref":"main"}}`), []string{"not what the API promises"}},
		"no sha":    {answer(200, `{"number":5,"head":{"ref":"a","sha":"HEAD"},"base":{"ref":"main"}}`), []string{"not what the API promises"}},
		"nothing":   {answer(200, `null`), []string{"not what the API promises"}},
	} {
		f.answers[path] = test.do
		_, err := client.Pull(t.Context(), 5)
		checkError(t, "Pull("+name+")", err, test.wants...)
	}
}
