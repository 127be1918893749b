package repo

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
)

// standsOn says that a commit has another one, the branch's on the server, among
// those it stands on, so that pushing it only adds. That the checkout contains the branch
// is what the workspace said when the run began, and an earlier run's agent may have
// written there (objects under false names): the server is asked for the part of the way
// that the store does not hold. A branch that was rebased on purpose is not asked for.
func (r *Repo) standsOn(ctx context.Context, tip, old plumbing.Hash) (bool, error) {
	if old.IsZero() || r.opt.UpdateBase == UpdateRebase && r.start.Updated && r.server.pushed.IsZero() {
		return true, nil
	}
	met, edges, err := reaches(r.objects.Store, []plumbing.Hash{tip}, old, r.objects.Known)
	if met || err != nil {
		return met, err
	}
	err = r.objects.FetchApart(ctx, r.objects.Remote, r.server.reads, remote.Wanted{Tips: edges, Have: []plumbing.Hash{old}}, func(s *store.Store) error {
		met, _, err = reaches(s, edges, old, nil)
		return err
	})
	if err == nil {
		return met, nil
	}
	if ctx.Err() != nil {
		return false, err
	}
	// A server that does not show single commits: the workspace's word is all there is.
	for _, h := range edges {
		if in, err := r.tree.Contains(ctx, h, old); in || err != nil {
			return in, err
		}
	}
	return false, nil
}

// reaches looks for a commit among some and those they stand on, down to those
// that stop holds and those the store lacks: the edges.
func reaches(s *store.Store, from []plumbing.Hash, goal plumbing.Hash, stop map[plumbing.Hash]bool) (met bool, edges []plumbing.Hash, err error) {
	seen := map[plumbing.Hash]bool{}
	queue := slices.Clone(from)
	for len(queue) > 0 {
		h := queue[0]
		queue = queue[1:]
		switch {
		case h == goal:
			return true, nil, nil
		case seen[h]:
			continue
		case len(seen) == maxWalk:
			return false, nil, errLongHistory
		}
		seen[h] = true
		if stop[h] || !s.Has(h) {
			edges = append(edges, h)
			continue
		}
		c, err := s.Commit(h)
		if err != nil {
			return false, nil, err
		}
		queue = append(queue, c.ParentHashes...)
	}
	return false, edges, nil
}

func notOn(ok bool, branch string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("the commits here are not based on what the branch %s holds on the server, although the checkout says so: check the repository out again, from scratch", branch)
}
