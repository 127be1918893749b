package publish

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

// Ahead reports whether the branch, as it is published, has changes that the base
// lacks: only then there is something to propose. Without a push, it is said of
// the branch in the workspace. Changes that the base gained in another way are
// none, and commits without changes neither.
//
// The base is the one last seen, at the last push. When it has moved since the
// run began, it is fetched. An error says nothing about the branch: true is
// returned with it. ErrBaseGone means that the base was deleted.
func (b *Branch) Ahead(ctx context.Context) (bool, error) {
	tip := b.ServerTip
	if b.Remote == nil || !b.opt.Push || b.Pending {
		tip = b.Tip
	}
	switch {
	case tip.IsZero():
		return false, nil // nothing was published
	case b.Base == "":
		return true, nil // a local run that knows no base
	case b.BaseTip.IsZero():
		return true, fmt.Errorf("%w: %s", ErrBaseGone, b.Base)
	}
	return b.ahead(ctx, tip)
}

func (b *Branch) ahead(ctx context.Context, tip plumbing.Hash) (bool, error) {
	ahead, err := b.Differs(ctx, tip)
	if err != nil {
		return true, fmt.Errorf("compare %s with %s: %w", b.Name, b.Base, err)
	}
	return ahead, nil
}

// DeleteBranch deletes the branch on the server. It must have nothing that the
// base lacks (else ErrHasChanges), and still be where it was last seen (else
// remote.ErrNotFastForward). A branch that is gone already is no error. The workspace
// keeps its own.
func (b *Branch) DeleteBranch(ctx context.Context) error {
	if b.Remote == nil || !b.opt.Push {
		return errors.New("no branch of a server to delete")
	}
	branch := b.Name
	if b.BaseRemote == nil && (branch == b.Base || branch == b.opt.DefaultBranch) || branch == "" {
		return fmt.Errorf("delete %s: it is the base or the default branch", branch)
	}
	if b.Pending {
		return fmt.Errorf("delete %s: %w", branch, ErrHasChanges)
	}
	err := b.Remote.Retry(ctx, func() error {
		adv, err := b.Remote.Refs(ctx, remote.ReceivePack)
		if err != nil {
			return err
		}
		if b.BaseRemote == nil {
			b.BaseTip = adv.Branch(b.Base)
		}
		old := adv.Branch(branch)
		switch {
		case old.IsZero():
			b.ServerTip = old
			return nil
		case old != b.ServerTip:
			return remote.ErrNotFastForward
		case b.BaseTip.IsZero():
			return fmt.Errorf("%w: %s", ErrBaseGone, b.Base)
		}
		ahead, err := b.ahead(ctx, old)
		if err != nil {
			return err
		}
		if ahead {
			return ErrHasChanges
		}
		if err := b.Remote.Send(ctx, adv, branch, old, plumbing.ZeroHash, nil); err != nil {
			return err
		}
		b.ServerTip = plumbing.ZeroHash
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete %s: %w", branch, err)
	}
	return nil
}
