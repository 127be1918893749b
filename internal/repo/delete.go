package repo

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/remote"
)

// What Ahead and DeleteBranch can find.
var (
	// ErrBaseGone is a base branch that was deleted during the run.
	ErrBaseGone = errors.New("the base branch is not on the server any more")
	// ErrHasChanges is a branch that must not be deleted, because the base lacks
	// something of it.
	ErrHasChanges = errors.New("the branch has changes that its base lacks")
)

// Ahead says whether the branch, as it is published, has changes that the base
// lacks: only then there is something to propose. Without a push, it is said of
// the branch in the workspace. Changes that the base gained in another way are
// none, and commits without changes neither.
//
// The base is the one last seen, at the last push. When it has moved since the
// run began, it is fetched. An error says nothing about the branch: true is
// returned with it. ErrBaseGone says that the base was deleted.
func (r *Repo) Ahead(ctx context.Context) (bool, error) {
	tip := r.server.tip
	if r.objects.Remote == nil || !r.opt.Push || r.server.pending {
		tip = r.line.tip
	}
	switch {
	case tip.IsZero():
		return false, nil // nothing was published
	case r.start.Base == "":
		return true, nil // a desk that knows no base
	case r.baseTip.IsZero():
		return true, fmt.Errorf("%w: %s", ErrBaseGone, r.start.Base)
	}
	return r.ahead(ctx, tip)
}

func (r *Repo) ahead(ctx context.Context, tip plumbing.Hash) (bool, error) {
	ahead, err := r.differs(ctx, tip)
	if err != nil {
		return true, fmt.Errorf("compare %s with %s: %w", r.server.branch, r.start.Base, err)
	}
	return ahead, nil
}

// DeleteBranch deletes the branch on the server. It must have nothing that the
// base lacks (else ErrHasChanges), and still be where it was last seen (else
// remote.ErrNotFastForward). A branch that is gone already is no error. The workspace
// keeps its own.
func (r *Repo) DeleteBranch(ctx context.Context) error {
	if r.objects.Remote == nil || !r.opt.Push {
		return errors.New("no branch of a server to delete")
	}
	branch := r.server.branch
	if r.objects.BaseRemote == nil && (branch == r.start.Base || branch == r.opt.DefaultBranch) || branch == "" {
		return fmt.Errorf("delete %s: it is the base or the default branch", branch)
	}
	if r.server.pending {
		return fmt.Errorf("delete %s: %w", branch, ErrHasChanges)
	}
	err := r.objects.Remote.Retry(ctx, func() error {
		adv, err := r.objects.Remote.Refs(ctx, remote.ReceivePack)
		if err != nil {
			return err
		}
		if r.objects.BaseRemote == nil {
			r.baseTip = adv.Branch(r.start.Base)
		}
		old := adv.Branch(branch)
		switch {
		case old.IsZero():
			r.server.tip = old
			return nil
		case old != r.server.tip:
			return remote.ErrNotFastForward
		case r.baseTip.IsZero():
			return fmt.Errorf("%w: %s", ErrBaseGone, r.start.Base)
		}
		ahead, err := r.ahead(ctx, old)
		if err != nil {
			return err
		}
		if ahead {
			return ErrHasChanges
		}
		if err := r.objects.Remote.Send(ctx, adv, branch, old, plumbing.ZeroHash, nil); err != nil {
			return err
		}
		r.server.tip = plumbing.ZeroHash
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete %s: %w", branch, err)
	}
	return nil
}
