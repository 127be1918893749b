package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/history"
	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
)

// found is a branch that exists already.
type found struct {
	tip plumbing.Hash // on the server, or in the workspace when there is no server; zero if it does not exist
	in  bool          // the checkout contains tip
}

// existing finds the branch on the server, or in the workspace when there is no server, and
// brings it into both.
func (r *Repo) existing(ctx context.Context, adv remote.Advertisement) (found, error) {
	var b found
	var err error
	if r.branch.Remote == nil {
		if b.tip, err = r.tree.Ref(ctx, "refs/heads/"+r.opt.Branch); b.tip.IsZero() || err != nil {
			return b, err
		}
		if b.in, err = r.tree.Contains(ctx, r.base, b.tip); b.in || err != nil {
			return b, err
		}
		return b, r.branch.ImportCommit(ctx, b.tip)
	}
	b.tip = adv.Branch(r.opt.Branch)
	r.branch.ServerTip = b.tip
	if b.tip.IsZero() {
		return b, nil
	}
	var sp history.Range
	if b.in, sp, err = r.bring(ctx, r.branch.Remote, adv, b.tip, r.branch.Published); err != nil {
		return b, fmt.Errorf("fetch the branch %s: %w", r.opt.Branch, err)
	}
	if !b.in && len(r.branch.Published) == 1 && r.branch.Published[r.base] {
		// All that came is what the branch has and the checkout has not.
		r.branch.Remember(sp, b.tip, r.base)
	}
	r.branch.Published[b.tip] = r.branch.Published[b.tip] || r.store.Has(b.tip)
	if b.in && (r.opt.Continue || r.opt.Apart) && b.tip != r.base {
		b.in = false
		if err := r.dig(ctx, adv, b.tip); err != nil {
			return b, fmt.Errorf("fetch the branch %s: %w", r.opt.Branch, err)
		}
	}
	return b, nil
}

// dig brings a commit into store and workspace that lies below what is checked
// out, as the head of a pull request below its merge: a shallow clone does not
// have it.
func (r *Repo) dig(ctx context.Context, adv remote.Advertisement, tip plumbing.Hash) error {
	if r.tree.HasTree(ctx, tip) {
		return r.branch.ImportCommit(ctx, tip)
	}
	f, err := r.store.Spool()
	if err != nil {
		return err
	}
	defer store.Discard(f)
	if err := r.branch.Remote.Fetch(ctx, adv, remote.Wanted{Tips: []plumbing.Hash{tip}, Depth: 1}, f); err != nil {
		return err
	}
	if _, err := r.store.ImportPack(f, false); err != nil {
		return err
	}
	r.branch.Published[tip] = true
	if err := r.tree.AddShallow([]plumbing.Hash{tip}); err != nil {
		return err
	}
	if err := r.tree.IndexPack(ctx, f); err != nil {
		return err
	}
	return r.branch.ImportCommit(ctx, tip)
}

// keepLocal gives a branch of the same name in the workspace, when the run
// would leave its commits without a name, a reference of its own.
func (r *Repo) keepLocal(ctx context.Context, next plumbing.Hash) error {
	if r.tree.BranchFile() == next {
		return nil
	}
	local, err := r.tree.Ref(ctx, "refs/heads/"+r.opt.Branch)
	if local.IsZero() || err != nil {
		return err
	}
	in, err := r.tree.Contains(ctx, next, local)
	if in || err != nil {
		return err
	}
	ref, err := r.tree.Keep(ctx, local)
	if err != nil {
		return err
	}
	r.branch.Note("the branch %s here had commits that the server's does not have: they are kept as %s", r.opt.Branch, ref)
	return nil
}

// bring takes a commit of a server into the store and the workspace, with all
// that is needed to check it out. contained reports whether the checkout has all of
// it already; else came are the commits that came.
func (r *Repo) bring(ctx context.Context, from *remote.Server, adv remote.Advertisement, tip plumbing.Hash, known map[plumbing.Hash]bool) (contained bool, came history.Range, err error) {
	if in, err := r.tree.Contains(ctx, r.base, tip); in || err != nil {
		return in, came, err
	}
	if came, ok := r.atHand(ctx, tip); ok {
		return false, came, nil
	}
	f, err := r.store.Spool()
	if err != nil {
		return false, came, err
	}
	defer store.Discard(f)
	have := slices.Collect(maps.Keys(known))
	if err := from.Fetch(ctx, adv, remote.Wanted{Tips: []plumbing.Hash{tip}, Have: have}, f); err != nil {
		return false, came, err
	}
	n, err := r.store.ImportPack(f, false)
	if err != nil {
		return false, came, err
	}
	if n == 0 && !r.store.Has(tip) {
		// Nothing was sent: the tip is below a commit we said we have.
		return true, came, nil
	}
	if came, err = r.fresh(tip); err != nil {
		return false, came, err
	}
	if err := r.fill(ctx, from, adv, tip, known, f); err != nil {
		return false, came, err
	}
	if err := r.tree.IndexPack(ctx, f); err != nil {
		return false, came, err
	}
	return false, came, r.branch.ImportCommit(ctx, tip)
}

// atHand takes a commit into the store that is the work branch of the workspace, as
// an earlier run left it, with all that a fetch on top of what is checked out would
// bring. It returns false if the workspace lacks a part of that, or holds something
// else under its name.
func (r *Repo) atHand(ctx context.Context, tip plumbing.Hash) (came history.Range, ok bool) {
	if r.tree.BranchFile() != tip || r.tree.Partial() {
		return came, false
	}
	// Of what lies between the two, the commits will do: a branch of many runs has many
	// versions of its files.
	if err := r.branch.Import(ctx, []string{tip.String(), "^" + r.base.String()}, "--revs", "--filter=tree:0"); err != nil || !r.store.Has(tip) {
		return came, false
	}
	came, err := r.fresh(tip)
	base, wrong := r.store.Commit(r.base)
	c, broken := r.store.Commit(tip)
	if errors.Join(err, wrong, broken) != nil || !slices.Equal(came.Edges, []plumbing.Hash{r.base}) || r.branch.ImportNew(ctx, []plumbing.Hash{c.TreeHash}, base.TreeHash) != nil {
		return came, false
	}
	return came, r.filled(base, c)
}

// fresh returns the commits of the store from tip down to what is checked out, and
// to those that the workspace may lack.
func (r *Repo) fresh(tip plumbing.Hash) (history.Range, error) {
	return history.Walk(r.store, []plumbing.Hash{tip}, func(h plumbing.Hash) bool { return h == r.base || r.branch.Apart[h] })
}

// fill fetches into f what a clone that does not hold everything needs besides,
// and tells a shallow one where its history ends.
func (r *Repo) fill(ctx context.Context, from *remote.Server, adv remote.Advertisement, tip plumbing.Hash, known map[plumbing.Hash]bool, f *os.File) error {
	_, err := r.tree.Common.Lstat("shallow")
	shallow := err == nil
	if !shallow && !r.tree.Partial() {
		return nil
	}
	// What was fetched for a comparison only is not in the workspace.
	if ok, most := r.complete(tip); !ok || len(r.branch.Apart) > 0 {
		// The branch began at a commit this clone does not hold, and counts on
		// its files.
		w := remote.Wanted{Tips: []plumbing.Hash{tip}, Depth: 1}
		if known[r.base] {
			w = remote.Wanted{Tips: w.Tips, Have: []plumbing.Hash{r.base}, Shallow: []plumbing.Hash{r.base}, Depth: most}
		}
		if err := from.Fetch(ctx, adv, w, f); err != nil {
			return err
		}
		if _, err := r.store.ImportPack(f, false); err != nil {
			return err
		}
	}
	if !shallow {
		return nil
	}
	edges, err := r.edges(ctx, tip)
	if err != nil {
		return err
	}
	return r.tree.AddShallow(edges)
}

// edges returns the fetched commits with a parent this workspace does not have.
func (r *Repo) edges(ctx context.Context, tip plumbing.Hash) ([]plumbing.Hash, error) {
	sp, err := r.fresh(tip)
	if err != nil {
		return nil, err
	}
	lack := map[plumbing.Hash]bool{}
	for _, h := range sp.Edges {
		lack[h] = h != r.base && !r.tree.HasTree(ctx, h)
	}
	var list []plumbing.Hash
	for h := range sp.Own {
		c, err := r.store.Commit(h)
		if err != nil {
			return nil, err
		}
		for _, p := range c.ParentHashes {
			if lack[p] || !sp.Own[p] && !r.store.Has(p) && !r.tree.HasTree(ctx, p) {
				list = append(list, h)
				break
			}
		}
	}
	return remote.SortedHashes(list), nil
}

// complete reports whether the store and the checkout together hold every file of a
// fetched commit, and of the commits that came with it; most is their number, at
// most maxLocal and at least 1.
func (r *Repo) complete(tip plumbing.Hash) (ok bool, most int) {
	b, err := r.store.Commit(r.base)
	if err != nil {
		return false, 1
	}
	sp, err := r.fresh(tip)
	if err != nil || len(sp.Own) > maxLocal {
		return false, 1
	}
	most = max(1, len(sp.Own))
	for h := range sp.Own {
		if c, err := r.store.Commit(h); err != nil || !r.filled(b, c) {
			return false, most
		}
	}
	return true, most
}

// filled reports whether the store holds every file of a commit that is not in base.
func (r *Repo) filled(base, c *store.Commit) bool {
	changes, err := r.store.Diff(base.TreeHash, c.TreeHash, nil)
	return err == nil && !slices.ContainsFunc(changes, func(ch store.Change) bool {
		return ch.New.IsBlob() && !r.store.Has(ch.New.Hash)
	})
}

// checkOut checks the branch out at tip, which the workspace has. Files that were
// changed before the run are kept, or git refuses.
func (r *Repo) checkOut(ctx context.Context, tip plumbing.Hash) error {
	if err := r.makeRoom(ctx, tip); err != nil {
		return fmt.Errorf("make way for the branch %s: %w", r.opt.Branch, err)
	}
	return r.tree.CheckOut(ctx, tip)
}
