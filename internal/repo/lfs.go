package repo

import (
	"context"
	"errors"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/lfs"
)

// checkLFS is the check of this repository.
func (r *Repo) checkLFS() lfs.Check { return lfs.Check{Tree: r.tree, Server: r.lfsServer()} }

// CheckLFS refuses, before anything is spent, a run that could change files of Git LFS and
// not publish them. Call it when setup is done, before the agent starts. The error is an
// *lfs.Error, or says what git said.
func (r *Repo) CheckLFS(ctx context.Context) error { return r.checkLFS().Run(ctx) }

// lfsServer is the server of the branch's files, or nil when nothing is pushed.
func (r *Repo) lfsServer() *lfs.Server {
	if r.objects == nil || r.objects.Remote == nil || !r.opt.Push {
		return nil
	}
	return lfs.NewServer(r.objects.Remote, r.State().Branch)
}

// earlier finds the LFS objects of commits that were made here before the run
// and are not on the server.
func (r *Repo) earlier() error {
	if r.largeEarly || r.objects.Known[r.base] {
		return nil
	}
	r.largeEarly = true
	base, err := r.objects.Store.Commit(r.base)
	if err != nil {
		return err
	}
	for h := range r.objects.Known {
		c, err := r.objects.Store.Commit(h)
		if err != nil {
			continue
		}
		changes, err := r.objects.Store.Diff(c.TreeHash, base.TreeHash, nil)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		for _, ch := range changes {
			if p, _, ok := lfs.ReadPointer(r.objects.Store, ch.New.Hash); ok && ch.New.IsBlob() {
				r.large.Need([]lfs.File{{Pointer: p, Path: ch.Path, Blob: ch.New.Hash}})
			}
		}
	}
	return nil
}
