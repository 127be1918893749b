package fakegithub

import (
	"maps"
	"testing"

	"github.com/org/ralph-action/internal/testing/openapi"
)

// examples are GitHub's own answers by what they are of, into which ours are
// put, so that a client finds all that GitHub sends.
func examples(t testing.TB) map[string]object {
	const repo = "GET /repos/{owner}/{repo}"
	all := map[string]object{}
	for kind, operation := range map[string]string{
		"pull of a list": repo + "/pulls", "pull": repo + "/pulls/{pull_number}", "review": repo + "/pulls/{pull_number}/reviews",
		"issue": repo + "/issues/{issue_number}", "comment": repo + "/issues/comments/{comment_id}", "label": repo + "/issues/{issue_number}/labels",
		"milestone": repo + "/milestones/{milestone_number}", "check run": repo + "/check-runs/{check_run_id}", "status": repo + "/commits/{ref}/statuses",
		"run": repo + "/actions/runs/{run_id}", "job": repo + "/actions/jobs/{job_id}", "repository": repo, "user": "GET /users/{username}",
		"branch": repo + "/branches/{branch}", "comparison": repo + "/compare/{basehead}", "file": repo + "/contents/{path}",
	} {
		all[kind] = openapi.Example(t, operation, 200)
	}
	for _, name := range []string{"organization", "parent", "source", "template_repository"} {
		delete(all["repository"], name)
	}
	return all
}

// like is GitHub's example with values of ours; what lies deeper than its first
// level is shared.
func (f *Forge) like(kind string, ours object) object {
	out := maps.Clone(f.examples[kind])
	maps.Copy(out, ours)
	return out
}
