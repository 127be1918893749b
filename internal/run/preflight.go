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

func (r *remote) checkForge(ctx context.Context) error {
	if !r.publishes() {
		return nil
	}
	if r.cfg.Git.Push == config.PushAlways && !r.pushes() && !r.cfg.DryRun {
		return invalid(errors.New("push is true, but there is nothing to push to: GITHUB_REPOSITORY and a token are needed"))
	}
	if !r.local() && r.site.Repository != "" && r.cfg.Git.Push == config.PushAuto && !r.cfg.DryRun && !r.cfg.Git.Token.IsSet() {
		// A secret with a misspelt name is an empty string. The machine and the
		// work on it are gone after the job.
		return invalid(errors.New("github-token is empty, so the work could not leave this machine: give a token (by default the job's own is used), or set push: false"))
	}
	if !r.pushes() {
		return nil
	}
	if err := r.callServer(ctx); err != nil {
		return err
	}
	if !r.cfg.PullRequest.Wanted && !r.cfg.PullRequest.WaitForCI && !r.cfg.Git.SignCommits && r.cfg.Git.PushToFork == "" {
		return nil
	}
	client, err := r.client()
	if err != nil {
		return invalid(err)
	}
	ask := forge.Ask{Base: r.base(), Likely: r.usualBase, PullRequests: r.cfg.PullRequest.Wanted}
	if r.cfg.PullRequest.Wanted {
		ask.Milestone = r.cfg.PullRequest.Milestone
	}
	facts, err := client.Preflight(ctx, ask)
	if err != nil {
		return invalid(err)
	}
	r.facts, r.defaultBranch = facts, facts.DefaultBranch
	if err := r.checkPushing(ctx, client); err != nil {
		return invalid(err)
	}
	if !r.cfg.PullRequest.Wanted {
		return nil
	}
	r.forge = client
	if r.cfg.PullRequest.AutoMerge && facts.AutoMerge == forge.No {
		return invalid(fmt.Errorf("merge: auto: the repository does not allow auto-merge: turn it on under Settings > General > Pull Requests, or leave merge out"))
	}
	return nil
}

// checkPushing looks at the token that pushes, where it is not the one that
// opens pull requests, and at the fork.
func (r *remote) checkPushing(ctx context.Context, client *forge.Client) error {
	r.pusher = client
	if r.cfg.Git.PushToFork != "" || r.cfg.Git.CIToken.IsSet() {
		var err error
		if r.pusher, err = r.connect(cmp.Or(r.cfg.Git.PushToFork, r.site.Repository), true); err != nil {
			return err
		}
	}
	if r.cfg.Git.PushToFork != "" {
		if err := client.CheckFork(ctx, r.pusher); err != nil {
			return err
		}
	}
	if r.cfg.Git.SignCommits {
		return r.pusher.ProbeSigning(ctx)
	}
	return nil
}

// checkRules asks whether the branch takes a push, once its name is known and
// whether it is there.
func (b *branch) checkRules(ctx context.Context) error {
	if b.repo == nil || b.remote.pusher == nil {
		return nil
	}
	warning, err := b.remote.pusher.CheckRules(ctx, forge.Branch{Name: b.start.Branch, Exists: b.repo.State().Tip != "", Signed: b.cfg.Git.SignCommits})
	if warning != "" {
		b.rec.warn(warning)
	}
	return invalid(err)
}
