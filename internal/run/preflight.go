package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/repo"
)

// remote is the server that the work is published to.
type remote struct {
	*plan
	forge         *forge.Client // makes the pull request; nil: there will be none
	pusher        *forge.Client // has the token that pushes; nil: nobody asked for it
	facts         forge.Facts   // what the forge said before anything was spent
	contact       *repo.Contact // with the server of the branch; nil: nothing is pushed
	defaultBranch string        // the forge's word; empty if it was not asked
}

// openRemote asks the forge what the tokens may do, before anything is spent.
func openRemote(ctx context.Context, p *plan) (*remote, error) {
	r := &remote{plan: p}
	return r, r.checkForge(ctx)
}

func (j *remote) checkForge(ctx context.Context) error {
	if !j.publishes() {
		return nil
	}
	if j.cfg.Push == config.PushAlways && !j.pushes() && !j.cfg.DryRun {
		return invalid(errors.New("push is true, but there is nothing to push to: GITHUB_REPOSITORY and a token are needed"))
	}
	if !j.local() && j.site.Repository != "" && j.cfg.Push == config.PushAuto && !j.cfg.DryRun && !j.cfg.Token.IsSet() {
		// A secret with a misspelt name is an empty string. The machine and the
		// work on it are gone after the job.
		return invalid(errors.New("github-token is empty, so the work could not leave this machine: give a token (by default the job's own is used), or set push: false"))
	}
	if !j.pushes() {
		return nil
	}
	if err := j.callServer(ctx); err != nil {
		return err
	}
	if !j.cfg.PullRequest && !j.cfg.WaitForCI && !j.cfg.SignCommits && j.cfg.PushToFork == "" {
		return nil
	}
	client, err := j.client()
	if err != nil {
		return invalid(err)
	}
	ask := forge.Ask{Base: j.base(), Likely: j.usualBase, PullRequests: j.cfg.PullRequest}
	if j.cfg.PullRequest {
		ask.Milestone = j.cfg.Milestone
	}
	facts, err := client.Preflight(ctx, ask)
	if err != nil {
		return invalid(err)
	}
	j.facts, j.defaultBranch = facts, facts.DefaultBranch
	if err := j.checkPushing(ctx, client); err != nil {
		return invalid(err)
	}
	if !j.cfg.PullRequest {
		return nil
	}
	j.forge = client
	if j.cfg.AutoMerge && facts.AutoMerge == forge.No {
		return invalid(fmt.Errorf("merge: auto: the repository does not allow auto-merge: turn it on under Settings > General > Pull Requests, or leave merge out"))
	}
	return nil
}

// checkPushing looks at the token that pushes, where it is not the one that
// opens pull requests, and at the fork.
func (j *remote) checkPushing(ctx context.Context, client *forge.Client) error {
	j.pusher = client
	if j.cfg.PushToFork != "" || j.cfg.CIToken.IsSet() {
		var err error
		if j.pusher, err = j.connect(cmp.Or(j.cfg.PushToFork, j.site.Repository), true); err != nil {
			return err
		}
	}
	if j.cfg.PushToFork != "" {
		if err := client.CheckFork(ctx, j.pusher); err != nil {
			return err
		}
	}
	if j.cfg.SignCommits {
		return j.pusher.ProbeSigning(ctx)
	}
	return nil
}

// checkRules asks whether the branch takes a push, once its name is known and
// whether it is there.
func (j *branch) checkRules(ctx context.Context) error {
	if j.repo == nil || j.remote.pusher == nil {
		return nil
	}
	warning, err := j.remote.pusher.CheckRules(ctx, forge.Branch{Name: j.start.Branch, Exists: j.repo.State().Tip != "", Signed: j.cfg.SignCommits})
	if warning != "" {
		j.rec.warn(warning)
	}
	return invalid(err)
}
