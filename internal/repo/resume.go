package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// existing finds the branch where it already is: on the server, or on a desk in
// the workspace. It returns its tip when it has to be continued, zero when
// there is none or the checkout contains it.
func (r *Repo) existing(ctx context.Context, adv advertisement, checkedOut string) (plumbing.Hash, error) {
	local, err := r.ref(ctx, "refs/heads/"+r.opt.Branch)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if r.remote == nil {
		if local.IsZero() || checkedOut == r.opt.Branch {
			return plumbing.ZeroHash, nil
		}
		in, err := r.contains(ctx, r.base, local)
		if in || err != nil {
			return plumbing.ZeroHash, err
		}
		return local, r.collect(ctx, local)
	}
	tip := adv.branch(r.opt.Branch)
	r.server.tip, r.server.synced = tip, r.base
	if !tip.IsZero() {
		in, err := r.fetchBranch(ctx, adv, tip)
		if err != nil {
			return plumbing.ZeroHash, fmt.Errorf("fetch the branch %s: %w", r.opt.Branch, err)
		}
		r.server.known[tip] = r.server.known[tip] || r.store.has(tip)
		if in {
			tip = plumbing.ZeroHash
		}
	}
	return tip, r.keepLocal(ctx, local, tip)
}

// contains says that old is an ancestor of (or the same as) tip. Commits the
// workspace does not have are not.
func (r *Repo) contains(ctx context.Context, tip, old plumbing.Hash) (bool, error) {
	if tip == old {
		return true, nil
	}
	err := r.git(ctx, nil, nil, "merge-base", "--is-ancestor", old.String(), tip.String())
	if _, ok := exitCode(err); ok {
		return false, nil
	}
	return err == nil, err
}

// keepLocal gives a branch of the same name in the workspace, when the run
// would leave its commits without a name, a reference of its own.
func (r *Repo) keepLocal(ctx context.Context, local, tip plumbing.Hash) error {
	if local.IsZero() {
		return nil
	}
	next := tip
	if next.IsZero() {
		next = r.base
	}
	in, err := r.contains(ctx, next, local)
	if in || err != nil {
		return err
	}
	ref := "refs/ralph/kept/" + local.String()
	if err := r.git(ctx, nil, nil, "update-ref", ref, local.String()); err != nil {
		return err
	}
	r.note("the branch %s here had commits that the server's does not have: they are kept as %s", r.opt.Branch, ref)
	return nil
}

// fetchBranch brings the server's branch into the store and the workspace.
// contained says that the checkout has all of it already.
func (r *Repo) fetchBranch(ctx context.Context, adv advertisement, tip plumbing.Hash) (contained bool, err error) {
	if in, err := r.contains(ctx, r.base, tip); in || err != nil {
		return in, err
	}
	f, err := r.store.spool()
	if err != nil {
		return false, err
	}
	defer discard(f)
	have := make([]plumbing.Hash, 0, len(r.server.known))
	for h := range r.server.known {
		have = append(have, h)
	}
	if err := r.remote.fetch(ctx, adv, tip, have, 0, f); err != nil {
		return false, err
	}
	n, err := r.store.importPack(f, false)
	if err != nil {
		return false, err
	}
	_, shallowErr := r.common.Lstat("shallow")
	shallow := shallowErr == nil
	if n == 0 && !r.store.has(tip) {
		// Nothing was sent: the tip is below a commit we said we have.
		return true, nil
	}
	if err := r.collectFetched(tip); err != nil {
		return false, err
	}
	if shallow && !r.complete(tip) {
		// The branch began at a commit this shallow clone does not have.
		if err := r.remote.fetch(ctx, adv, tip, nil, 1, f); err != nil {
			return false, err
		}
		if _, err := r.store.importPack(f, false); err != nil {
			return false, err
		}
		if err := r.graft([]plumbing.Hash{tip}); err != nil {
			return false, err
		}
	} else if shallow {
		if err := r.graft(r.edges(tip)); err != nil {
			return false, err
		}
	}
	if err := r.handFile(ctx, f); err != nil {
		return false, err
	}
	return false, r.importCommit(ctx, tip)
}

// newCommits lists the commits of the store from tip down to known ones.
func (r *Repo) newCommits(tip plumbing.Hash, limit int) []plumbing.Hash {
	var list []plumbing.Hash
	seen := map[plumbing.Hash]bool{}
	queue := []plumbing.Hash{tip}
	for len(queue) > 0 && len(list) < limit {
		h := queue[0]
		queue = queue[1:]
		if seen[h] || h == r.base || r.server.known[h] {
			continue
		}
		seen[h] = true
		c, err := r.store.commit(h)
		if err != nil {
			continue
		}
		list = append(list, h)
		queue = append(queue, c.ParentHashes...)
	}
	return list
}

func (r *Repo) collectFetched(tip plumbing.Hash) error {
	for _, h := range r.newCommits(tip, maxMessages) {
		c, err := r.store.commit(h)
		if err != nil {
			return err
		}
		r.start.Messages = append(r.start.Messages, c.Message[:min(len(c.Message), 4096)])
	}
	return nil
}

// edges are the fetched commits with a parent this workspace does not have.
func (r *Repo) edges(tip plumbing.Hash) []plumbing.Hash {
	var list []plumbing.Hash
	for _, h := range r.newCommits(tip, maxLocal) {
		c, err := r.store.commit(h)
		if err != nil {
			continue
		}
		if slices.ContainsFunc(c.ParentHashes, func(p plumbing.Hash) bool { return !r.store.has(p) }) {
			list = append(list, h)
		}
	}
	return list
}

// complete says that the store and the checkout together hold every file of a
// fetched commit.
func (r *Repo) complete(tip plumbing.Hash) bool {
	c, err := r.store.commit(tip)
	if err != nil {
		return false
	}
	b, err := r.store.commit(r.base)
	if err != nil {
		return false
	}
	changes, err := r.store.diff(b.TreeHash, c.TreeHash, nil)
	if err != nil {
		return false
	}
	for _, ch := range changes {
		if ch.new.isBlob() && !r.store.has(ch.new.hash) {
			return false
		}
	}
	return true
}

// collect imports a branch of the workspace that is to be continued.
func (r *Repo) collect(ctx context.Context, tip plumbing.Hash) error {
	s, err := r.out(ctx, nil, "rev-list", fmt.Sprintf("--max-count=%d", maxMessages), tip.String(), "^"+r.base.String())
	if err != nil {
		return err
	}
	for l := range strings.Lines(s) {
		raw, err := r.out(ctx, nil, "cat-file", "commit", strings.TrimSpace(l))
		if err != nil {
			return err
		}
		if _, err := r.store.write(plumbing.CommitObject, []byte(raw)); err != nil {
			return err
		}
	}
	if err := r.collectFetched(tip); err != nil {
		return err
	}
	return r.importCommit(ctx, tip)
}

// resume checks the branch out at tip, which the workspace has. Files that were
// changed before the run are kept, or git refuses.
func (r *Repo) resume(ctx context.Context, tip plumbing.Hash) error {
	err := r.git(ctx, nil, io.Discard, "-c", "advice.detachedHead=false", "checkout", "-q", "--no-track", "-B", r.opt.Branch, tip.String())
	var g *GuestError
	if errors.As(err, &g) && strings.Contains(g.Stderr, "would be overwritten") {
		return &OverwriteError{Branch: r.opt.Branch, Err: err}
	}
	if err != nil {
		return fmt.Errorf("check out the branch %s: %w", r.opt.Branch, err)
	}
	return nil
}
