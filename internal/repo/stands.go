package repo

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
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
	sp, err := r.store.walk([]plumbing.Hash{tip}, func(h plumbing.Hash) bool { return h == old || r.server.known[h] })
	if err != nil {
		return false, err
	}
	if slices.Contains(sp.edges, old) {
		return true, nil
	}
	met := false
	err = r.scratch(ctx, r.remote, r.server.reads, wanted{tips: sp.edges, have: []plumbing.Hash{old}, filter: packp.FilterTreeDepth(0)}, func(s *store) error {
		below, err := s.walk(sp.edges, func(h plumbing.Hash) bool { return h == old })
		met = slices.Contains(below.edges, old)
		return err
	})
	if err == nil {
		return met, nil
	}
	if ctx.Err() != nil {
		return false, err
	}
	// A server that does not show single commits: the workspace's word is all there is.
	for _, h := range sp.edges {
		if in, err := r.contains(ctx, h, old); in || err != nil {
			return in, err
		}
	}
	return false, nil
}

func notOn(ok bool, branch string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("the commits here do not stand on what the branch %s holds on the server, although the checkout says so: check the repository out again, from nothing", branch)
}
