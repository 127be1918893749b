package forge

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-github/v60/github"
)

// Run is a workflow run that failed. Names are cleaned and bounded; refs are
// the forge's own words, still to be validated by who uses them.
type Run struct {
	ID         int64
	Name       string // of the workflow
	Event      string // what started it
	Conclusion string
	URL        string // for people; empty when it is no web address
	HeadSHA    string
	HeadBranch string // empty for a tag's or a pull request's without one
	// HeadRepository is the repository the commit is from, owner/name: another one
	// for a pull request from a fork, whose log is what its author made it; empty
	// when it is gone.
	HeadRepository string
	Fork           bool // HeadRepository is not this repository
	Attempt        int
	Jobs           []FailedJob // those that failed, in order
	More           int         // jobs that failed besides
}

// FailedJob is a job of a Run. Text is as in Log.
type FailedJob struct {
	Name       string
	Conclusion string
	URL        string
	Step       string // the first that failed; empty when none did
	Tail       string
	Missing    string
}

// FailedRun reads a workflow run, and of its last attempt the jobs that failed,
// with the part of their logs around the errors; at most 8 of them. A run
// without failed jobs is no error: see Conclusion.
func (c *Client) FailedRun(ctx context.Context, id int64) (Run, error) {
	operation := fmt.Sprintf("read workflow run %d", id)
	var found github.WorkflowRun
	if err := c.call(ctx, http.MethodGet, c.path("/actions/runs/%d", id), nil, &found); err != nil {
		return Run{}, c.explain(operation, "actions: read", err)
	}
	if found.GetID() != id {
		return Run{}, fmt.Errorf("%s in %s: the answer is about another one", operation, c.where())
	}
	if !shaPattern.MatchString(found.GetHeadSHA()) {
		return Run{}, fmt.Errorf("%s in %s: the answer names no commit", operation, c.where())
	}
	run := Run{
		ID: id, Name: c.checkName(found.GetName()), Event: c.transport.clean(found.GetEvent()), Conclusion: c.transport.clean(found.GetConclusion()),
		URL: webAddress(found.GetHTMLURL()), HeadSHA: found.GetHeadSHA(), HeadBranch: found.GetHeadBranch(),
		HeadRepository: found.GetHeadRepository().GetFullName(), Attempt: found.GetRunAttempt(),
		Fork: isFork(found.GetHeadRepository(), found.GetRepository()),
	}
	jobs, err := c.failedJobs(ctx, id)
	if err != nil {
		return Run{}, err
	}
	for _, job := range jobs {
		if len(run.Jobs) == maxLogs {
			run.More++
			continue
		}
		failure := Failure{
			Name: c.checkName(job.GetName()), Conclusion: c.transport.clean(job.GetConclusion()), URL: webAddress(job.GetHTMLURL()),
			job: job.GetID(), check: job.GetID(), annotations: true,
		}
		log := c.failedLog(ctx, failure)
		run.Jobs = append(run.Jobs, FailedJob{
			Name: log.Name, Conclusion: log.Conclusion, URL: log.URL, Tail: log.Tail, Missing: log.Missing,
			Step: c.failedStep(job),
		})
	}
	return run, nil
}

// isFork says that a head is not from the repository it is compared with, both
// as one answer of the forge has them: names change. A repository that is gone
// is a fork.
func isFork(head, base *github.Repository) bool {
	if head.GetID() != 0 && base.GetID() != 0 {
		return head.GetID() != base.GetID()
	}
	return head.GetFullName() == "" || !strings.EqualFold(head.GetFullName(), base.GetFullName())
}

func (c *Client) failedJobs(ctx context.Context, run int64) ([]*github.WorkflowJob, error) {
	var all []*github.WorkflowJob
	for page := 1; page <= maxCheckPages; page++ {
		req, err := c.api.newRequest(ctx, http.MethodGet, c.path("/actions/runs/%d/jobs?filter=latest&per_page=100&page=%d", run, page), nil)
		if err != nil {
			return nil, err
		}
		var answer github.Jobs
		resp, err := c.api.do(req, &answer)
		if err != nil {
			return nil, c.explain(fmt.Sprintf("read the jobs of workflow run %d", run), "actions: read", err)
		}
		for _, job := range answer.Jobs {
			if job != nil && stands(job.GetStatus(), job.GetConclusion()) == hasFailed {
				all = append(all, job)
			}
		}
		if resp.NextPage == 0 || len(answer.Jobs) == 0 {
			break
		}
	}
	return all, nil
}

func (c *Client) failedStep(job *github.WorkflowJob) string {
	for _, step := range job.Steps {
		if step != nil && stands(step.GetStatus(), step.GetConclusion()) == hasFailed {
			return c.checkName(step.GetName())
		}
	}
	return ""
}
