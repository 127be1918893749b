package fakegithub

import (
	"fmt"
	"maps"
	"testing"

	"github.com/org/ralph-action/internal/testing/openapi"
)

// examples are GitHub's own answers, into which ours are put, so that a client
// finds all that GitHub sends.
func examples(t testing.TB) map[string]map[string]any {
	all := map[string]map[string]any{}
	for _, operation := range []string{
		"GET /repos/{owner}/{repo}/pulls", "GET /repos/{owner}/{repo}/pulls/{pull_number}",
		"GET /repos/{owner}/{repo}/issues/{issue_number}", "GET /repos/{owner}/{repo}/milestones/{milestone_number}",
		"GET /repos/{owner}/{repo}/check-runs/{check_run_id}", "GET /repos/{owner}/{repo}/actions/runs/{run_id}",
		"GET /repos/{owner}/{repo}/actions/jobs/{job_id}",
	} {
		all[operation+" 200"] = openapi.Example(t, operation, 200)
	}
	return all
}

// example is a copy; what lies deeper than its first level is shared.
func (f *Forge) example(operation string, status int) map[string]any {
	return maps.Clone(f.examples[fmt.Sprintf("%s %d", operation, status)])
}
