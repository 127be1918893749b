package repo

import (
	"context"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/store"
)

// importCommit takes a commit and its trees, without its blobs and its
// parents, from the guest.
func (r *Repo) importCommit(ctx context.Context, h plumbing.Hash) error {
	filter := []string{"--revs", "--filter=blob:none"}
	if !r.store.Has(h) {
		// A commit that is called shallow is packed without its parents.
		if err := r.importObjects(ctx, []string{"--shallow " + h.String(), h.String()}, filter...); err != nil {
			return err
		}
	}
	c, err := r.store.Commit(h)
	if err != nil {
		return err
	}
	if r.store.Has(c.TreeHash) && r.store.Whole(c.TreeHash) {
		return nil
	}
	return r.importObjects(ctx, []string{c.TreeHash.String()}, filter...)
}

// importObjects takes what pack-objects makes of the given revisions into the
// store. Whole objects only: a delta would have to be trusted before it can be
// measured.
func (r *Repo) importObjects(ctx context.Context, revs []string, options ...string) error {
	return r.importLimited(ctx, store.MaxPackBytes, revs, options...)
}

func (r *Repo) importLimited(ctx context.Context, limit int64, revs []string, options ...string) error {
	f, err := r.store.Spool()
	if err != nil {
		return err
	}
	defer store.Discard(f)
	if err := r.tree.Pack(ctx, f, limit, revs, options...); err != nil {
		return err
	}
	if _, err := r.store.ImportPack(f, true); err != nil {
		return fmt.Errorf("what the workspace handed over: %w", err)
	}
	return nil
}

// handBack gives the guest objects of ours.
func (r *Repo) handBack(ctx context.Context, hashes []plumbing.Hash) error {
	if len(hashes) == 0 {
		return nil
	}
	pr, pw := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		pw.CloseWithError(r.store.WritePack(pw, hashes))
	}()
	err := r.tree.Git(ctx, pr, nil, "unpack-objects", "-q")
	pr.CloseWithError(io.ErrClosedPipe)
	<-done
	return err
}

// attachFirst attaches the work branch at the commit that is checked out.
func (r *Repo) attachFirst(ctx context.Context) error {
	if !r.clean || r.tree.Attached() || !r.tree.LacksRef("refs/heads/"+r.opt.Branch) {
		return r.tree.Attach(ctx, r.base)
	}
	// Branch and HEAD in one command. Without -q, a new branch is all that git
	// makes; with it, it also writes the index.
	args := []string{"-c", "branch.autoSetupMerge=false", "-c", "submodule.recurse=false", "checkout", "-b", r.opt.Branch}
	if r.tree.Git(ctx, nil, nil, args...) == nil {
		if head, err := r.tree.Head(ctx); err == nil && head == r.base {
			return nil
		}
	}
	return r.tree.Attach(ctx, r.base) // HEAD had moved, or git says what is wrong
}
