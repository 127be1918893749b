package repo

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
)

// Update is what becomes of a branch whose base has moved.
type Update string

// Values of Update.
const (
	UpdateNone   Update = ""       // it stays where it is
	UpdateMerge  Update = "merge"  // the base is merged into it
	UpdateRebase Update = "rebase" // its commits, all of them ours, are put on top of the base
)

// restartTrailer names, in a merge commit of ours, the parent whose tree it
// holds: from there on the branch starts again, and what its other parent held
// is the base's already.
const restartTrailer = "Ralph-Restart"

// ralphRun is the trailer that names the run a commit was made by.
var ralphRun = regexp.MustCompile(`(?m)^Ralph-Run: \S`)

// restarts says that a commit starts the branch again from its second parent.
func restarts(c *object.Commit) bool {
	if len(c.ParentHashes) != 2 {
		return false
	}
	lines := strings.Split(strings.TrimRight(c.Message, "\n"), "\n")
	return lines[len(lines)-1] == restartTrailer+": "+c.ParentHashes[1].String()
}

// whole makes sure that the store holds a commit with all folders of its tree:
// from the workspace, else from the server the base is read from.
func (r *Repo) whole(ctx context.Context, h plumbing.Hash) (*object.Commit, error) {
	if c, err := r.store.Commit(h); err == nil && r.store.Has(c.TreeHash) && r.store.Whole(c.TreeHash) {
		return c, nil
	}
	// A partial clone has no files to merge.
	if r.remote == nil || !r.tree.Partial() && r.tree.HasTree(ctx, h) {
		if err := r.importCommit(ctx, h); err == nil || r.remote == nil {
			if err != nil {
				return nil, err
			}
			return r.store.Commit(h)
		}
	}
	from, adv, err := r.source(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.take(ctx, from, adv, r.alone(h)); err != nil {
		return nil, fmt.Errorf("fetch the commit %s: %w", h, err)
	}
	r.apart[h] = true
	c, err := r.store.Commit(h)
	if err != nil {
		return nil, err
	}
	if !r.store.Whole(c.TreeHash) {
		return nil, fmt.Errorf("the server did not send all of %s", h)
	}
	return c, nil
}

// alone asks for one commit without its parents: what the checkout does not
// hold of it, where the server has the checkout too.
func (r *Repo) alone(h plumbing.Hash) remote.Wanted {
	w := remote.Wanted{Tips: []plumbing.Hash{h}, Depth: 1}
	if r.server.known[r.base] {
		w.Have, w.Shallow = []plumbing.Hash{r.base}, []plumbing.Hash{r.base}
	} else {
		w.Filter = packp.FilterBlobNone()
	}
	return w
}

// take fetches into the store, and only there.
func (r *Repo) take(ctx context.Context, from *remote.Server, adv remote.Advertisement, w remote.Wanted) error {
	f, err := r.store.Spool()
	if err != nil {
		return err
	}
	defer store.Discard(f)
	if err := from.Fetch(ctx, adv, w, f); err != nil {
		return err
	}
	_, err = r.store.ImportPack(f, false)
	return err
}

// trees are those of some commits; the zero commit has the zero tree.
func (r *Repo) trees(ctx context.Context, commits ...plumbing.Hash) ([]plumbing.Hash, error) {
	var list []plumbing.Hash
	for _, h := range commits {
		if h.IsZero() {
			list = append(list, h)
			continue
		}
		c, err := r.whole(ctx, h)
		if err != nil {
			return nil, err
		}
		list = append(list, c.TreeHash)
	}
	return list, nil
}

// adds says whether merging what changed from one tree to another would change
// a third.
func (r *Repo) adds(ctx context.Context, from, to, onto plumbing.Hash) (bool, error) {
	changes, err := r.store.Diff(from, to, nil)
	if err != nil {
		return true, err
	}
	for _, c := range changes {
		there, err := r.store.Lookup(onto, c.Path)
		if err != nil {
			return true, err
		}
		if there == c.New {
			continue
		}
		if merged, ok := r.mergeFile(ctx, c.Old, c.New, there); !ok || merged != there {
			return true, nil
		}
	}
	return false, nil
}

// restart makes the commit at which a branch starts again whose changes the
// base has: it stands on the branch, so that a push only ever adds, and on the
// commit to start from, whose tree it holds. It is published with the first
// new work and not before.
func (r *Repo) restart(tip, from plumbing.Hash) (plumbing.Hash, error) {
	c, err := r.store.Commit(from)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	now := r.opt.Clock()
	return r.store.WriteCommit(&object.Commit{
		Author: signature(r.opt.Committer, now), Committer: signature(r.opt.Committer, now),
		Message: fmt.Sprintf("ralph: start again from %s\n\nAll changes of this branch were in %s already.\n\n%s: %s\n",
			r.start.Base, r.start.Base, restartTrailer, from),
		TreeHash: c.TreeHash, ParentHashes: []plumbing.Hash{tip, from},
	})
}

// handCommit gives the workspace a commit of ours and the folders it may lack.
func (r *Repo) handCommit(ctx context.Context, h plumbing.Hash, than plumbing.Hash) error {
	c, err := r.store.Commit(h)
	if err != nil {
		return err
	}
	was, err := r.store.Commit(than)
	if err != nil {
		return err
	}
	objects := []plumbing.Hash{h}
	changes, err := r.store.Diff(was.TreeHash, c.TreeHash, func(t plumbing.Hash) { objects = append(objects, t) })
	if err != nil {
		return err
	}
	for _, ch := range changes {
		if r.blended[ch.New.Hash] {
			objects = append(objects, ch.New.Hash)
		}
	}
	return r.handBack(ctx, objects)
}
