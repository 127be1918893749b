package run

import (
	"context"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/run/crew"
	"github.com/org/ralph-action/internal/run/proposal"
	"github.com/org/ralph-action/internal/run/stories"
)

// work is a run that is ready for its loop: the branch, the agents, and those who
// are told.
type work struct {
	*branch
	agents  crew.Agents
	backlog *stories.Backlog // nil without a task list
	live    *proposal.Live   // keeps pull request and comment up to date; nil: nobody is told while the run goes on
	telling bool             // there is a comment that tells of the run
	comment forge.CommentRef // that was written last
	told    bool             // the pull request that told of the run as going on tells of its end
}

// attach brings the workspace to the run's branch.
func attach(ctx context.Context, b *branch, agents crew.Agents) (*work, error) {
	w := &work{branch: b, agents: agents}
	if err := b.attachBranch(ctx); err != nil {
		return w, err
	}
	b.supersede()
	if err := b.checkRules(ctx); err != nil {
		return w, err
	}
	if err := b.overlayBase(ctx); err != nil {
		return w, err
	}
	if err := w.goLive(ctx); err != nil {
		return w, err
	}
	if err := w.holdBack(ctx); err != nil {
		return w, err
	}
	if err := w.openTaskDir(); err != nil {
		return w, err
	}
	if err := w.openTaskList(); err != nil {
		return w, err
	}
	return w, w.checkPlan()
}
