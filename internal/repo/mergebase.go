package repo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
	"github.com/org/ralph-action/internal/repo/worktree"
)

var errCrossed = errors.New("the two have been merged into each other more than once")

// mergeBase is the commit at which tip left base, by what tip has and base lacks;
// zero when they have no history in common. errCrossed says that there is more
// than one.
func (r *Repo) mergeBase(ctx context.Context, sp span, tip, base plumbing.Hash) (plumbing.Hash, error) {
	switch {
	case len(sp.edges) == 0:
		return plumbing.ZeroHash, nil
	case len(sp.edges) == 1:
		return sp.edges[0], nil
	case slices.Contains(sp.edges, base):
		return base, nil
	case r.objects.Remote == nil:
		s, err := r.tree.Line(ctx, "merge-base", "--all", tip.String(), base.String())
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if strings.Contains(s, "\n") {
			return plumbing.ZeroHash, errCrossed
		}
		return worktree.ParseHash(s)
	}
	return r.newest(ctx, sp.edges)
}

// newest is the one of several commits that contains all others.
func (r *Repo) newest(ctx context.Context, list []plumbing.Hash) (plumbing.Hash, error) {
	from, adv, err := r.objects.BaseServer(ctx)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	var best plumbing.Hash
	var at time.Time
	err = r.objects.FetchApart(ctx, from, adv, remote.Wanted{Tips: list, Depth: 1}, func(s *store.Store) error {
		for _, h := range list {
			c, err := s.Commit(h)
			if err != nil {
				return err
			}
			if best.IsZero() || c.Committer.When.After(at) {
				best, at = h, c.Committer.When
			}
		}
		return nil
	})
	if err != nil {
		return plumbing.ZeroHash, err
	}
	others := slices.DeleteFunc(slices.Clone(list), func(h plumbing.Hash) bool { return h == best })
	sp, err := r.between(ctx, others, best)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if len(sp.own) > 0 {
		return plumbing.ZeroHash, errCrossed
	}
	return best, nil
}
