package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// found is the branch where it already is.
type found struct {
	tip plumbing.Hash // to go on from, on the server or at a desk in the workspace; zero: there is none
	in  bool          // the checkout contains tip
}

// existing finds the branch on the server, or on a desk in the workspace, and
// brings it into both.
func (r *Repo) existing(ctx context.Context, adv remote.Advertisement) (found, error) {
	var b found
	var err error
	if r.objects.Remote == nil {
		if b.tip, err = r.tree.Ref(ctx, "refs/heads/"+r.opt.Branch); b.tip.IsZero() || err != nil {
			return b, err
		}
		if b.in, err = r.tree.Contains(ctx, r.base, b.tip); b.in || err != nil {
			return b, err
		}
		return b, r.objects.ImportCommit(ctx, b.tip)
	}
	b.tip = adv.Branch(r.opt.Branch)
	r.server.tip = b.tip
	if b.tip.IsZero() {
		return b, nil
	}
	var sp span
	if b.in, sp, err = r.bring(ctx, r.objects.Remote, adv, b.tip, r.objects.Known); err != nil {
		return b, fmt.Errorf("fetch the branch %s: %w", r.opt.Branch, err)
	}
	if !b.in && len(r.objects.Known) == 1 && r.objects.Known[r.base] {
		// All that came is what the branch has and the checkout has not.
		r.remember(fmt.Sprint(b.tip, []plumbing.Hash{r.base}), sp)
	}
	r.objects.Known[b.tip] = r.objects.Known[b.tip] || r.objects.Store.Has(b.tip)
	if b.in && r.opt.Continue && b.tip != r.base {
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
		return r.objects.ImportCommit(ctx, tip)
	}
	f, err := r.objects.Store.Spool()
	if err != nil {
		return err
	}
	defer store.Discard(f)
	if err := r.objects.Remote.Fetch(ctx, adv, remote.Wanted{Tips: []plumbing.Hash{tip}, Depth: 1}, f); err != nil {
		return err
	}
	if _, err := r.objects.Store.ImportPack(f, false); err != nil {
		return err
	}
	r.objects.Known[tip] = true
	if err := r.tree.AddShallow([]plumbing.Hash{tip}); err != nil {
		return err
	}
	if err := r.tree.IndexPack(ctx, f); err != nil {
		return err
	}
	return r.objects.ImportCommit(ctx, tip)
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
	ref := "refs/ralph/kept/" + local.String()
	if err := r.tree.Git(ctx, nil, nil, "update-ref", ref, local.String()); err != nil {
		return err
	}
	r.note("the branch %s here had commits that the server's does not have: they are kept as %s", r.opt.Branch, ref)
	return nil
}

// bring takes a commit of a server into the store and the workspace, with all
// that is needed to check it out. contained says that the checkout has all of
// it already; else came are the commits that came.
func (r *Repo) bring(ctx context.Context, from *remote.Server, adv remote.Advertisement, tip plumbing.Hash, known map[plumbing.Hash]bool) (contained bool, came span, err error) {
	if in, err := r.tree.Contains(ctx, r.base, tip); in || err != nil {
		return in, came, err
	}
	if came, ok := r.atHand(ctx, tip); ok {
		return false, came, nil
	}
	f, err := r.objects.Store.Spool()
	if err != nil {
		return false, came, err
	}
	defer store.Discard(f)
	have := make([]plumbing.Hash, 0, len(known))
	for h := range known {
		have = append(have, h)
	}
	if err := from.Fetch(ctx, adv, remote.Wanted{Tips: []plumbing.Hash{tip}, Have: have}, f); err != nil {
		return false, came, err
	}
	n, err := r.objects.Store.ImportPack(f, false)
	if err != nil {
		return false, came, err
	}
	if n == 0 && !r.objects.Store.Has(tip) {
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
	return false, came, r.objects.ImportCommit(ctx, tip)
}

// atHand takes a commit into the store that is the work branch of the workspace, as
// an earlier run left it, with the commits that lead down to what is checked out and
// what its tree adds to that. Only a rebase looks into the trees between. It returns
// false if the workspace lacks a part of that, or holds something else under its name.
func (r *Repo) atHand(ctx context.Context, tip plumbing.Hash) (came span, ok bool) {
	if r.tree.BranchFile() != tip || r.tree.Partial() || r.opt.UpdateBase == UpdateRebase {
		return came, false
	}
	base, err := r.objects.Store.Commit(r.base)
	if err == nil {
		err = r.objects.Import(ctx, []string{tip.String(), "^" + r.base.String()}, "--revs", "--filter=tree:0")
	}
	if err != nil || !r.objects.Store.Has(tip) {
		return came, false
	}
	came, err = r.fresh(tip)
	if err != nil || !slices.Equal(came.edges, []plumbing.Hash{r.base}) {
		return came, false
	}
	c, err := r.objects.Store.Commit(tip)
	if err == nil {
		err = r.objects.ImportNew(ctx, []plumbing.Hash{c.TreeHash}, base.TreeHash)
	}
	return came, err == nil && r.filled(base, c)
}

// fresh are the commits of the store from tip down to what is checked out, and
// to those that the workspace may lack.
func (r *Repo) fresh(tip plumbing.Hash) (span, error) {
	return walk(r.objects.Store, []plumbing.Hash{tip}, func(h plumbing.Hash) bool { return h == r.base || r.objects.Apart[h] })
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
	if ok, most := r.complete(tip); !ok || len(r.objects.Apart) > 0 {
		// The branch began at a commit this clone does not hold, and counts on
		// its files.
		w := remote.Wanted{Tips: []plumbing.Hash{tip}, Depth: 1}
		if known[r.base] {
			w = remote.Wanted{Tips: w.Tips, Have: []plumbing.Hash{r.base}, Shallow: []plumbing.Hash{r.base}, Depth: most}
		}
		if err := from.Fetch(ctx, adv, w, f); err != nil {
			return err
		}
		if _, err := r.objects.Store.ImportPack(f, false); err != nil {
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

// edges are the fetched commits with a parent this workspace does not have.
func (r *Repo) edges(ctx context.Context, tip plumbing.Hash) ([]plumbing.Hash, error) {
	sp, err := r.fresh(tip)
	if err != nil {
		return nil, err
	}
	lack := map[plumbing.Hash]bool{}
	for _, h := range sp.edges {
		lack[h] = h != r.base && !r.tree.HasTree(ctx, h)
	}
	var list []plumbing.Hash
	for h := range sp.own {
		c, err := r.objects.Store.Commit(h)
		if err != nil {
			return nil, err
		}
		for _, p := range c.ParentHashes {
			if lack[p] || !sp.own[p] && !r.objects.Store.Has(p) && !r.tree.HasTree(ctx, p) {
				list = append(list, h)
				break
			}
		}
	}
	return remote.SortedHashes(list), nil
}

// complete says that the store and the checkout together hold every file of a
// fetched commit, and of the commits that came with it; most is their number, at
// most maxLocal and at least 1.
func (r *Repo) complete(tip plumbing.Hash) (ok bool, most int) {
	b, err := r.objects.Store.Commit(r.base)
	if err != nil {
		return false, 1
	}
	sp, err := r.fresh(tip)
	if err != nil || len(sp.own) > maxLocal {
		return false, 1
	}
	most = max(1, len(sp.own))
	for h := range sp.own {
		if c, err := r.objects.Store.Commit(h); err != nil || !r.filled(b, c) {
			return false, most
		}
	}
	return true, most
}

// filled reports whether the store holds every file of a commit that is not in base.
func (r *Repo) filled(base, c *object.Commit) bool {
	changes, err := r.objects.Store.Diff(base.TreeHash, c.TreeHash, nil)
	return err == nil && !slices.ContainsFunc(changes, func(ch store.Change) bool {
		return ch.New.IsBlob() && !r.objects.Store.Has(ch.New.Hash)
	})
}

// resume checks the branch out at tip, which the workspace has. Files that were
// changed before the run are kept, or git refuses.
func (r *Repo) resume(ctx context.Context, tip plumbing.Hash) error {
	if err := r.makeWay(ctx, tip); err != nil {
		return fmt.Errorf("make way for the branch %s: %w", r.opt.Branch, err)
	}
	err := r.tree.Git(ctx, nil, io.Discard, "-c", "advice.detachedHead=false", "checkout", "-q", "--no-track", "-B", r.opt.Branch, tip.String())
	var g *worktree.GitError
	if errors.As(err, &g) && strings.Contains(g.Stderr, "would be overwritten") {
		return &OverwriteError{Branch: r.opt.Branch, Err: err}
	}
	if err != nil {
		return fmt.Errorf("check out the branch %s: %w", r.opt.Branch, err)
	}
	return nil
}
