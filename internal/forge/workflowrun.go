package forge

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/go-github/v60/github"
)

// FailedRun reads the jobs that failed in the last attempt of a workflow run, with the part
// of their logs around the errors; at most 8 of them. A run without failed jobs is no error.
func (c *Client) FailedRun(ctx context.Context, id int64) ([]Log, error) {
	var logs []Log
	for page := 1; page <= maxCheckPages; page++ {
		var answer github.Jobs
		resp, err := c.api.Exchange(ctx, http.MethodGet, c.api.Path("/actions/runs/%d/jobs?filter=latest&per_page=100&page=%d", id, page), nil, &answer)
		if err != nil {
			return nil, c.api.Explain(fmt.Sprintf("read the jobs of workflow run %d", id), "actions: read", err)
		}
		for _, job := range answer.Jobs {
			if job == nil || stands(job.GetStatus(), job.GetConclusion()) != hasFailed {
				continue
			}
			logs = append(logs, c.failedLog(ctx, Failure{
				Name: c.checkName(job.GetName()), Conclusion: c.api.Clean(job.GetConclusion()), URL: webAddress(job.GetHTMLURL()),
				job: job.GetID(), check: job.GetID(), annotations: true,
			}))
			if len(logs) == maxLogs {
				return logs, nil
			}
		}
		if resp.NextPage == 0 || len(answer.Jobs) == 0 {
			break
		}
	}
	return logs, nil
}
