package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/org/ralph-action/internal/forge"
)

// forge is a client of a repository that is asked once and not for long.
func (d *doctor) forge(repository string) (*forge.Client, error) {
	return forge.New(forge.Options{
		APIURL: d.Site.APIURL, ServerURL: d.Site.ServerURL, GraphQLURL: d.Site.GraphQLURL, Repository: repository,
		Token: d.Config.Git.Token, UserAgent: "ralph-action/" + d.Version, RequestTimeout: 10 * time.Second,
	})
}

// checkPublishing asks the forge for what some settings need beyond the token, as
// a run does before it starts. Signing is left to the run: asking stores a byte.
func (d *doctor) checkPublishing(ctx context.Context, client *forge.Client, facts forge.Facts) {
	if to := d.Config.Git.PushToFork; to != "" {
		fork, err := d.forge(to)
		if err == nil {
			err = client.CheckFork(ctx, fork)
		}
		if err != nil {
			d.add("fork", StatusFail, err.Error(), "give a fork that the token may push to: contents: write")
		} else {
			d.add("fork", StatusOK, "the token may push to "+to+", as far as the forge tells", "")
		}
	}
	if d.Config.PullRequest.WaitForCI && facts.Token.JobToken() == forge.Yes {
		d.add("checks", StatusWarn, "wait-for-ci: no workflow starts for what GITHUB_TOKEN pushes", "give an App's or a personal token, in a workflow as ci-token")
	}
	if d.Config.PullRequest.Milestone > 0 {
		if err := client.CheckMilestone(ctx, d.Config.PullRequest.Milestone); err != nil {
			d.add("milestone", StatusFail, err.Error(), "")
		} else {
			d.add("milestone", StatusOK, fmt.Sprintf("number %d is there", d.Config.PullRequest.Milestone), "")
		}
	}
	if d.Config.PullRequest.AutoMerge && facts.AutoMerge == forge.No {
		d.add("auto-merge", StatusFail, "merge: auto, and the repository does not allow auto-merge", "turn it on under Settings > General > Pull Requests, or leave merge out")
	}
}
