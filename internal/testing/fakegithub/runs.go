package fakegithub

import (
	"fmt"
	"net/http"
)

func (c *call) runJSON(one *run) map[string]any {
	out := c.f.example("GET /repos/{owner}/{repo}/actions/runs/{run_id}", http.StatusOK)
	name, status, conclusion, attempt := "CI", "completed", "success", 1
	for _, j := range one.jobs {
		if j.check.Workflow != "" {
			name = j.check.Workflow
		}
		attempt = max(attempt, j.check.Attempt)
		if j.check.Status != "completed" {
			status, conclusion = "in_progress", ""
		} else if j.check.Conclusion != "success" && conclusion == "success" {
			conclusion = j.check.Conclusion
		}
	}
	out["id"], out["name"], out["head_sha"], out["event"], out["status"], out["conclusion"] = one.id, name, one.sha, one.event, status, orNull(conclusion)
	out["run_attempt"], out["pull_requests"], out["repository"] = attempt, []any{}, c.repo.json(c.base, nil)
	out["head_branch"] = orNull(c.repo.branchOf(one.sha))
	out["html_url"] = fmt.Sprintf("%s/actions/runs/%d", c.repo.URL(), one.id)
	out["jobs_url"] = fmt.Sprintf("%s/api/v3/repos/%s/actions/runs/%d/jobs", c.base, c.repo.FullName(), one.id)
	return out
}

func (r *Repository) branchOf(sha string) string {
	heads := r.heads()
	for _, name := range r.Branches() {
		if heads[name] == sha {
			return name
		}
	}
	return ""
}

func (f *Forge) listRuns(c *call) {
	query := c.r.URL.Query()
	list := []map[string]any{}
	for _, one := range c.repo.runs {
		if sha := query.Get("head_sha"); sha == "" || sha == one.sha {
			list = append(list, c.runJSON(one))
		}
	}
	c.answer(http.StatusOK, map[string]any{"total_count": len(list), "workflow_runs": page(c, list)})
}

// run finds the run of a path; nil: it refused.
func (c *call) run() *run {
	for _, one := range c.repo.runs {
		if fmt.Sprint(one.id) == c.r.PathValue("id") {
			return one
		}
	}
	c.refuse(http.StatusNotFound, "Not Found")
	return nil
}

func (f *Forge) getRun(c *call) {
	if one := c.run(); one != nil {
		c.answer(http.StatusOK, c.runJSON(one))
	}
}

func (c *call) jobJSON(j *job) map[string]any {
	out := c.f.example("GET /repos/{owner}/{repo}/actions/jobs/{job_id}", http.StatusOK)
	out["id"], out["run_id"], out["name"], out["head_sha"], out["status"], out["conclusion"] = j.id, j.run.id, j.check.Name, j.run.sha, j.check.Status, orNull(j.check.Conclusion)
	out["run_attempt"], out["workflow_name"] = max(j.check.Attempt, 1), orNull(j.check.Workflow)
	out["html_url"] = fmt.Sprintf("%s/actions/runs/%d/job/%d", c.repo.URL(), j.run.id, j.id)
	out["steps"] = []map[string]any{{"name": "Run tests", "number": 1, "status": j.check.Status, "conclusion": orNull(j.check.Conclusion), "started_at": stamp, "completed_at": stamp}}
	return out
}

func (f *Forge) runJobs(c *call) {
	one := c.run()
	if one == nil {
		return
	}
	list := []map[string]any{}
	for _, j := range one.jobs {
		list = append(list, c.jobJSON(j))
	}
	c.answer(http.StatusOK, map[string]any{"total_count": len(list), "jobs": page(c, list)})
}

// job finds the job of a path; nil: it refused.
func (c *call) job() *job {
	for _, one := range c.repo.runs {
		for _, j := range one.jobs {
			if fmt.Sprint(j.id) == c.r.PathValue("id") {
				return j
			}
		}
	}
	c.refuse(http.StatusNotFound, "Not Found")
	return nil
}

func (f *Forge) getJob(c *call) {
	if j := c.job(); j != nil {
		c.answer(http.StatusOK, c.jobJSON(j))
	}
}

// jobLogs sends the client to another server, which must not see the token.
func (f *Forge) jobLogs(c *call) {
	j := c.job()
	if j == nil {
		return
	}
	if j.check.Status != "completed" {
		c.refuse(http.StatusNotFound, "Not Found")
		return
	}
	c.w.Header().Set("Location", f.logs.add(j.id, j.check.Log))
	c.w.WriteHeader(http.StatusFound)
}
