package fakegithub

import (
	"maps"
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
	r.locked(func() {
		r.ci = func(sha string) []Check {
			asked[sha]++
			return checks(sha, asked[sha])
		}
	})
}

// SetStatus sets a commit status.
func (r *Repository) SetStatus(sha string, s Status) {
	r.locked(func() { r.statuses[sha] = append(r.statuses[sha], s) })
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
		one.add(r.forge.id(), check)
	}
	r.runs = append(r.runs, one)
	return one
}

func (o *run) add(id int64, check Check) {
	o.jobs = append(o.jobs, &job{id: id, check: check, run: o})
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
			if at := slices.IndexFunc(ours.jobs, func(have *job) bool { return have.check.Name == check.Name }); at >= 0 {
				ours.jobs[at].check = check
			} else {
				ours.add(r.forge.id(), check)
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

// commit is the commit that a path names; empty: there is none.
func (c *call) commit() string {
	sha := c.repo.resolve(c.r.PathValue("ref"))
	if !c.repo.is(sha, "commit") {
		return ""
	}
	return sha
}

func (c *call) noCommit() reply {
	return unprocessable("No commit found for SHA: " + c.r.PathValue("ref"))
}

func (c *call) checkRuns() reply {
	sha := c.commit()
	if sha == "" {
		return c.noCommit()
	}
	all := list(c.repo.refresh(sha), func(j *job) object { return c.checkRun(j, sha) })
	return ok(object{"total_count": len(all), "check_runs": page(c, all)})
}

func (c *call) checkRun(j *job, sha string) object {
	app := object{}
	if have, ok := c.f.examples["check run"]["app"].(object); ok {
		app = maps.Clone(have)
	}
	app["slug"] = "some-app"
	out := c.f.like("check run", object{
		"id": j.id, "head_sha": sha, "name": j.check.Name, "status": j.check.Status, "conclusion": orNull(j.check.Conclusion), "app": app,
		"output":        object{"title": orNull(j.check.Summary), "summary": orNull(j.check.Summary), "text": nil, "annotations_count": 0, "annotations_url": c.base + "/annotations"},
		"pull_requests": []any{}, "html_url": c.html("/runs/%d", j.id), "details_url": c.html("/checks"), "completed_at": nil,
	})
	if j.run != nil {
		app["slug"], app["name"] = "github-actions", "GitHub Actions"
		out["details_url"] = c.html("/actions/runs/%d/job/%d", j.run.id, j.id)
		out["html_url"] = out["details_url"]
	}
	if j.check.Status == "completed" {
		out["completed_at"] = stamp
	}
	return out
}

func (c *call) combinedStatus() reply {
	sha := c.repo.resolve(c.r.PathValue("ref"))
	latest := map[string]Status{}
	var order []string
	for _, s := range c.repo.statuses[sha] {
		if _, seen := latest[s.Context]; !seen {
			order = append(order, s.Context)
		}
		latest[s.Context] = s
	}
	all := list(order, func(name string) object { return c.statusJSON(latest[name]) })
	has := func(states ...string) bool {
		return slices.ContainsFunc(order, func(name string) bool { return slices.Contains(states, latest[name].State) })
	}
	state := "pending"
	switch {
	case has("failure", "error"):
		state = "failure"
	case len(all) > 0 && !has("pending"):
		state = "success"
	}
	return ok(object{
		"state": state, "statuses": all, "sha": sha, "total_count": len(all), "commit_url": c.api("/commits/%s", sha), "url": c.api("/commits/%s/status", sha),
		"repository": c.repo.json(c.base, nil),
	})
}

func (c *call) listStatuses() reply {
	all := slices.Clone(c.repo.statuses[c.repo.resolve(c.r.PathValue("ref"))])
	slices.Reverse(all)
	return ok(page(c, list(all, c.statusJSON)))
}

func (c *call) statusJSON(s Status) object {
	return c.f.like("status", object{"state": s.State, "description": s.Description, "context": s.Context, "target_url": nil, "creator": c.f.userLocked(ActionsBot).json(c.base)})
}

func (c *call) runJSON(one *run) object {
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
	return c.f.like("run", object{
		"id": one.id, "name": name, "head_sha": one.sha, "event": one.event, "status": status, "conclusion": orNull(conclusion),
		"run_attempt": attempt, "pull_requests": []any{}, "repository": c.repo.json(c.base, nil), "head_branch": orNull(c.repo.branchOf(one.sha)),
		"html_url": c.html("/actions/runs/%d", one.id), "jobs_url": c.api("/actions/runs/%d/jobs", one.id),
	})
}

func (r *Repository) branchOf(sha string) string {
	heads := r.Heads()
	for _, name := range r.Branches() {
		if heads[name] == sha {
			return name
		}
	}
	return ""
}

func (c *call) listRuns() reply {
	sha := c.r.URL.Query().Get("head_sha")
	runs := slices.DeleteFunc(slices.Clone(c.repo.runs), func(one *run) bool { return sha != "" && sha != one.sha })
	return ok(object{"total_count": len(runs), "workflow_runs": page(c, list(runs, c.runJSON))})
}

func (c *call) jobJSON(j *job) object {
	return c.f.like("job", object{
		"id": j.id, "run_id": j.run.id, "name": j.check.Name, "head_sha": j.run.sha, "status": j.check.Status, "conclusion": orNull(j.check.Conclusion),
		"run_attempt": max(j.check.Attempt, 1), "workflow_name": orNull(j.check.Workflow), "html_url": c.html("/actions/runs/%d/job/%d", j.run.id, j.id),
		"steps": []object{{"name": "Run tests", "number": 1, "status": j.check.Status, "conclusion": orNull(j.check.Conclusion), "started_at": stamp, "completed_at": stamp}},
	})
}

func (c *call) runJobs() reply {
	return ok(object{"total_count": len(c.run.jobs), "jobs": page(c, list(c.run.jobs, c.jobJSON))})
}

// jobLogs sends the client to another server, which must not see the token.
func (c *call) jobLogs() reply {
	if c.job.check.Status != "completed" {
		return notFound()
	}
	c.w.Header().Set("Location", c.f.logs.add(c.job.id, c.job.check.Log))
	return reply{status: 302}
}
