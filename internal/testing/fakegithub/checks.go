package fakegithub

import (
	"fmt"
	"net/http"
	"slices"
)

// Check is one check run of a commit; with Workflow it belongs to a job of
// GitHub Actions, which has a log.
type Check struct {
	Name       string
	Status     string // queued, in_progress or completed
	Conclusion string // success, failure, cancelled, skipped, neutral, timed_out, action_required, stale; empty unless completed
	Summary    string // of its output
	Workflow   string // name; empty: the check is an App's of its own
	Log        string // of its job
	Attempt    int    // of the workflow run; 0: 1
}

// Status is one commit status.
type Status struct{ Context, State, Description string }

// run is a workflow run; its jobs are checks.
type run struct {
	id    int64
	sha   string
	event string
	jobs  []*job
}

type job struct {
	id    int64
	check Check
	run   *run
}

// SetCI says which checks a commit has, each time somebody asks. asked counts the
// questions about that commit, from 1. It is called with the forge locked.
func (r *Repository) SetCI(checks func(sha string, asked int) []Check) {
	asked := map[string]int{}
	r.forge.mu.Lock()
	r.ci = func(sha string) []Check {
		asked[sha]++
		return checks(sha, asked[sha])
	}
	r.forge.mu.Unlock()
}

// SetStatus sets a commit status.
func (r *Repository) SetStatus(sha string, s Status) {
	r.forge.mu.Lock()
	r.statuses[sha] = append(r.statuses[sha], s)
	r.forge.mu.Unlock()
}

// NewRun records a finished workflow run of a commit, and returns its id.
func (r *Repository) NewRun(sha, event string, checks ...Check) int64 {
	r.forge.mu.Lock()
	defer r.forge.mu.Unlock()
	return r.newRun(sha, event, checks).id
}

func (r *Repository) newRun(sha, event string, checks []Check) *run {
	one := &run{id: r.forge.id(), sha: sha, event: event}
	for _, check := range checks {
		one.jobs = append(one.jobs, &job{id: r.forge.id(), check: check, run: one})
	}
	r.runs = append(r.runs, one)
	return one
}

// refresh asks for the checks of a commit and gives those of workflows a run.
func (r *Repository) refresh(sha string) []*job {
	var alone, all []*job
	if r.ci != nil {
		var ours *run
		for _, one := range r.runs {
			if one.sha == sha && one.event == "push" {
				ours = one
			}
		}
		for i, check := range r.ci(sha) {
			if check.Workflow == "" {
				alone = append(alone, &job{id: int64(900000 + i), check: check})
				continue
			}
			if ours == nil {
				ours = r.newRun(sha, "push", nil)
			}
			at := -1
			for k, have := range ours.jobs {
				if have.check.Name == check.Name {
					at = k
				}
			}
			if at < 0 {
				ours.jobs = append(ours.jobs, &job{id: r.forge.id(), check: check, run: ours})
			} else {
				ours.jobs[at].check = check
			}
		}
	}
	for _, one := range r.runs {
		if one.sha == sha {
			all = append(all, one.jobs...)
		}
	}
	return append(all, alone...)
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (f *Forge) checkRuns(c *call) {
	sha := c.repo.resolve(c.r.PathValue("ref"))
	if kind, _, err := c.repo.readObject(sha); err != nil || kind != "commit" {
		c.refuse(http.StatusUnprocessableEntity, "No commit found for SHA: "+c.r.PathValue("ref"))
		return
	}
	list := []map[string]any{}
	for _, j := range c.repo.refresh(sha) {
		list = append(list, c.checkRun(j, sha))
	}
	c.answer(http.StatusOK, map[string]any{"total_count": len(list), "check_runs": page(c, list)})
}

func (c *call) checkRun(j *job, sha string) map[string]any {
	out := c.f.example("GET /repos/{owner}/{repo}/check-runs/{check_run_id}", http.StatusOK)
	out["id"], out["head_sha"], out["name"], out["status"], out["conclusion"] = j.id, sha, j.check.Name, j.check.Status, orNull(j.check.Conclusion)
	out["output"] = map[string]any{"title": orNull(j.check.Summary), "summary": orNull(j.check.Summary), "text": nil, "annotations_count": 0, "annotations_url": c.base + "/annotations"}
	out["pull_requests"] = []any{}
	out["html_url"] = fmt.Sprintf("%s/runs/%d", c.repo.URL(), j.id)
	app := map[string]any{}
	if have, ok := out["app"].(map[string]any); ok {
		for k, v := range have {
			app[k] = v
		}
	}
	app["slug"] = "some-app"
	out["details_url"] = c.repo.URL() + "/checks"
	if j.run != nil {
		app["slug"], app["name"] = "github-actions", "GitHub Actions"
		out["details_url"] = fmt.Sprintf("%s/actions/runs/%d/job/%d", c.repo.URL(), j.run.id, j.id)
		out["html_url"] = out["details_url"]
	}
	out["app"] = app
	out["completed_at"] = nil
	if j.check.Status == "completed" {
		out["completed_at"] = stamp
	}
	return out
}

func (f *Forge) combinedStatus(c *call) {
	sha := c.repo.resolve(c.r.PathValue("ref"))
	state, list := "pending", []map[string]any{}
	failed, pending := false, false
	latest := map[string]Status{}
	var order []string
	for _, s := range c.repo.statuses[sha] {
		if _, seen := latest[s.Context]; !seen {
			order = append(order, s.Context)
		}
		latest[s.Context] = s
	}
	for _, name := range order {
		s := latest[name]
		failed = failed || s.State == "failure" || s.State == "error"
		pending = pending || s.State == "pending"
		list = append(list, c.statusJSON(len(list)+1, s))
	}
	switch {
	case failed:
		state = "failure"
	case len(list) > 0 && !pending:
		state = "success"
	}
	api := c.base + "/api/v3/repos/" + c.repo.FullName() + "/commits/" + sha
	c.answer(http.StatusOK, map[string]any{
		"state": state, "statuses": list, "sha": sha, "total_count": len(list), "commit_url": api, "url": api + "/status", "repository": c.repo.json(c.base, nil),
	})
}

func (f *Forge) getCheckRun(c *call) {
	for _, one := range c.repo.runs {
		for _, j := range one.jobs {
			if fmt.Sprint(j.id) == c.r.PathValue("id") {
				c.answer(http.StatusOK, c.checkRun(j, one.sha))
				return
			}
		}
	}
	c.refuse(http.StatusNotFound, "Not Found")
}

// annotations are what a check says of single lines; it says nothing here.
func (f *Forge) annotations(c *call) { c.answer(http.StatusOK, []any{}) }

func (f *Forge) listStatuses(c *call) {
	list := []map[string]any{}
	for _, s := range slices.Backward(c.repo.statuses[c.repo.resolve(c.r.PathValue("ref"))]) {
		list = append(list, c.statusJSON(len(list)+1, s))
	}
	c.answer(http.StatusOK, page(c, list))
}

func (c *call) statusJSON(id int, s Status) map[string]any {
	return map[string]any{
		"url": c.base + "/status", "avatar_url": c.base + "/avatar", "id": id, "node_id": "S_1", "state": s.State, "description": s.Description,
		"target_url": nil, "context": s.Context, "created_at": stamp, "updated_at": stamp, "creator": c.f.userLocked(actionsBot).json(c.base),
	}
}
