package repo

import (
	"errors"
	"strings"

	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
)

// workflowsDir is where GitHub keeps workflow files. A push that changes one of
// them is refused as a whole to a token without the right to.
const workflowsDir = ".github/workflows"

const workflowsReason = "the token may not change workflow files: GITHUB_TOKEN never can; pass a token with " + remote.PermWorkflows +
	" (GitHub App) or the workflow scope (personal access token) as github-token"

func isWorkflow(path string) bool {
	return path == workflowsDir || strings.HasPrefix(path, workflowsDir+"/")
}

// withoutRefused takes out of what is to be pushed what the server refused a push
// for, and could do without. It says whether another try makes sense.
func (r *Repo) withoutRefused(err error) bool {
	return r.withoutWorkflows(err) || r.withoutUnknown(err)
}

// withoutWorkflows is withoutRefused for workflow files.
func (r *Repo) withoutWorkflows(refused error) bool {
	var p *remote.PermissionError
	if !errors.As(refused, &p) || p.Permission != remote.PermWorkflows || r.opt.NoWorkflows {
		return false
	}
	r.opt.NoWorkflows = true
	taken, err := r.withdraw(func(ch store.Change) bool { return isWorkflow(ch.Path) })
	if err != nil || len(taken) == 0 {
		return false // they stand in commits that were here before the run
	}
	r.withdrawn(omission{reason: workflowsReason, changes: taken})
	return true
}
