package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/org/ralph-action/internal/repo/printable"
)

// goOn decides what becomes of a branch that exists at tip. head is tip, or
// what is checked out when that contains it. It returns the commit to start
// from, which the workspace has.
func (r *Repo) goOn(ctx context.Context, tip, head plumbing.Hash) (plumbing.Hash, error) {
	sp, err := r.span(ctx, head, r.baseTip)
	if err != nil {
		return r.blind(ctx, head, err)
	}
	if !r.baseTip.IsZero() && !sp.own[tip] {
		// Merged. What is checked out may be older than that.
		if head == r.base {
			return head, nil
		}
		return r.fromBase(ctx)
	}
	differs := true
	if !r.baseTip.IsZero() {
		if differs, err = r.differs(ctx, head); err != nil {
			return r.blind(ctx, head, err)
		}
		if w, err := r.workOf(ctx, head); err == nil {
			sp = w.span
			if w.by == (gained{}) {
				r.onBase = w.fork
			}
		}
	}
	if differs {
		r.start.Resumed, r.start.Cut = true, sp.cut
		for _, n := range sp.commits {
			r.start.Messages = append(r.start.Messages, n.message)
		}
		return head, nil
	}
	from, err := r.fromBase(ctx)
	if err != nil {
		return head, err
	}
	start, err := r.restart(head, from)
	if err != nil {
		return head, err
	}
	if err := r.objects.ExportCommit(ctx, start, from); err != nil {
		return head, err
	}
	r.start.Restarted = true
	r.server.synced = head
	r.note("everything on the branch %s is in %s already: the work starts again from there", r.opt.Branch, r.start.Base)
	return start, nil
}

// blind goes on with a branch that could not be compared with its base.
func (r *Repo) blind(ctx context.Context, head plumbing.Hash, err error) (plumbing.Hash, error) {
	if ctx.Err() != nil {
		return head, err
	}
	r.start.Resumed = true
	r.note("the branch %s could not be compared with %s, and is continued as it is: %s", r.opt.Branch, r.start.Base, printable.Line(err.Error(), 300))
	return head, nil
}

// fromBase brings the tip of the base to the workspace.
func (r *Repo) fromBase(ctx context.Context) (plumbing.Hash, error) {
	if r.baseTip == r.base {
		return r.base, nil
	}
	if r.objects.Remote == nil {
		return r.baseTip, r.objects.ImportCommit(ctx, r.baseTip)
	}
	from, adv, err := r.objects.BaseServer(ctx)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	known := r.objects.Known
	if r.objects.BaseRemote != nil {
		known = r.objects.Upstream
	}
	in, _, err := r.bring(ctx, from, adv, r.baseTip, known)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("fetch the base branch %s: %w", r.start.Base, err)
	}
	if in {
		// The checkout stands on it, perhaps without holding it: a shallow clone.
		if !r.tree.HasTree(ctx, r.baseTip) {
			return r.base, nil
		}
		if err := r.objects.ImportCommit(ctx, r.baseTip); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	if r.objects.BaseRemote == nil {
		r.objects.Known[r.baseTip] = true
	}
	return r.baseTip, nil
}

// stepAside prepares a new branch that is checked out as a branch other than
// the base: what that one has and the base lacks is none of our work. Ours is
// put on top of the base when it is pushed; the workspace keeps its own line.
func (r *Repo) stepAside(ctx context.Context, checkedOut string) error {
	if r.objects.Remote == nil || r.objects.BaseRemote != nil || !r.opt.Push || r.baseTip == r.base || checkedOut == r.start.Base || len(r.objects.Known) != 1 {
		return nil
	}
	if r.killed != nil && checkedOut == r.killed.Name {
		return nil // with a suffix of its own: what it has is the killed run's work
	}
	var at plumbing.Hash
	for h := range r.objects.Known {
		at = h
	}
	if at == r.baseTip {
		return nil
	}
	sp, err := r.between(ctx, []plumbing.Hash{at}, r.baseTip)
	if err == nil && len(sp.own) > 0 {
		_, err = r.objects.Commit(ctx, r.baseTip)
	}
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		r.note("what is checked out could not be compared with %s: its commits are proposed too (%s)", r.start.Base, printable.Line(err.Error(), 300))
		return nil
	}
	if len(sp.own) == 0 {
		return nil
	}
	r.objects.Known[r.baseTip] = true
	r.server.onto, r.server.synced, r.server.aside = r.baseTip, at, true
	what := "what is checked out"
	if checkedOut != "" {
		what = checkedOut
	}
	r.note("%s has %d commit(s) that %s lacks: the work is put on top of %s without them", what, len(sp.own), r.start.Base, r.start.Base)
	return nil
}

// comeBack gives up what stepAside began: the work does not fit on the base.
func (r *Repo) comeBack(path string) {
	r.server.onto, r.server.synced, r.server.aside = plumbing.ZeroHash, r.line.startHead, false
	r.onBase = plumbing.ZeroHash
	r.note("the work conflicts with %s, which has another %q: the commits that were checked out are proposed with it", r.start.Base, printable.Line(path, 200))
}

// update brings a branch whose base has moved to the base, as the options ask.
func (r *Repo) update(ctx context.Context, tip, head plumbing.Hash) (plumbing.Hash, error) {
	if r.opt.UpdateBase == UpdateNone && len(r.gained) == 0 || r.baseTip.IsZero() || r.server.aside || head == r.baseTip || r.start.Restarted {
		return head, nil
	}
	sp, err := r.span(ctx, head, r.baseTip)
	if err != nil && r.opt.UpdateBase == UpdateNone {
		return head, nil //nolint:nilerr // goOn has noted it
	}
	if err != nil {
		return head, fmt.Errorf("compare the branch %s with %s: %w", r.opt.Branch, r.start.Base, err)
	}
	if r.opt.UpdateBase != UpdateNone && len(sp.own) == 0 && !slices.Contains(sp.edges, r.baseTip) {
		return r.updated(r.fromBase(ctx)) // nothing new here
	}
	w, err := r.workOf(ctx, head)
	crossed := errors.Is(err, errCrossed)
	switch {
	case w.by == (gained{}) && (r.opt.UpdateBase == UpdateNone || slices.Contains(sp.edges, r.baseTip)):
		return head, nil // nothing new there, or not wanted
	case err != nil && !crossed:
		return head, err
	case r.opt.UpdateBase == UpdateRebase:
		if err := r.ownOnly(w.span); err != nil {
			return head, err
		}
	}
	if crossed {
		r.note("%s was not merged into the branch %s: %s; merge it by hand", r.start.Base, r.opt.Branch, err)
		return head, nil
	}
	trees, err := r.objects.Trees(ctx, w.fork, head, r.baseTip)
	if err != nil {
		return head, err
	}
	if r.opt.UpdateBase == UpdateRebase {
		return r.rebase(ctx, w.span, head)
	}
	tree, conflict, err := r.objects.Merge(ctx, trees[0], trees[1], trees[2])
	if err != nil || conflict != "" {
		return r.unmerged(head, conflict, err)
	}
	from, err := r.fromBase(ctx)
	if err != nil {
		return head, err
	}
	merge, err := r.mergeCommit(head, from, tree)
	if err != nil {
		return head, err
	}
	if r.server.tip == tip && !tip.IsZero() {
		r.server.synced = tip
	}
	if w.by == (gained{}) {
		r.note("%s has moved: it is merged into the branch %s", r.start.Base, r.opt.Branch)
	} else {
		r.note("%s: %s is merged into the branch %s, so that only what came after is proposed", w.by.how(r.start.Base), r.start.Base, r.opt.Branch)
	}
	return r.updated(merge, r.objects.ExportCommit(ctx, merge, head))
}

func (r *Repo) updated(h plumbing.Hash, err error) (plumbing.Hash, error) {
	if err == nil {
		r.start.Updated = true
	}
	return h, err
}

// unmerged notes that base and branch do not fit together.
func (r *Repo) unmerged(head plumbing.Hash, conflict string, err error) (plumbing.Hash, error) {
	if err != nil {
		return head, err
	}
	r.start.Conflict = conflict
	r.note("%s was not merged into the branch %s: both changed %q; the agent is told and may merge it", r.start.Base, r.opt.Branch, printable.Line(conflict, 200))
	return head, nil
}

// ownOnly refuses a branch with commits of somebody else. A commit is ours when
// it says which run made it, or when our committer made it, as the agent's are.
func (r *Repo) ownOnly(sp span) error {
	if sp.cut {
		return fmt.Errorf("update-base: rebase is for branches of at most %d commits, and %s has more: use merge", maxMessages, r.opt.Branch)
	}
	for _, n := range sp.commits {
		if n.by == r.opt.Committer || ralphRun.MatchString(n.message) {
			continue
		}
		return fmt.Errorf("update-base: rebase would rewrite %s by %q on %s, which is not ralph's: use merge, or another branch", n.hash.String()[:7], printable.Line(n.by.Name, 80), r.opt.Branch)
	}
	return nil
}

// rebase puts the branch's commits on top of the base. Merges of the base
// disappear; what else a merge brought becomes one commit.
func (r *Repo) rebase(ctx context.Context, sp span, head plumbing.Hash) (plumbing.Hash, error) {
	var chain []*object.Commit
	for h := head; sp.own[h]; {
		c, err := r.objects.Store.Commit(h)
		if err != nil {
			return head, err
		}
		foreign := len(c.ParentHashes) > 1
		for _, p := range c.ParentHashes[min(1, len(c.ParentHashes)):] {
			foreign = foreign && !sp.own[p]
		}
		if !foreign {
			chain = append(chain, c)
		}
		if len(c.ParentHashes) == 0 {
			break
		}
		h = c.ParentHashes[0]
	}
	made, err := r.graftOn(ctx, chain, r.baseTip)
	var conflict *conflictError
	if errors.As(err, &conflict) {
		return r.unmerged(head, conflict.path, nil)
	}
	if err != nil {
		return head, fmt.Errorf("rebase %s: %w", r.opt.Branch, err)
	}
	from, err := r.fromBase(ctx)
	if err != nil {
		return head, err
	}
	for _, h := range made {
		if err := r.objects.ExportCommit(ctx, h, from); err != nil {
			return head, err
		}
		from = h
	}
	r.note("%s has moved: the %d commit(s) of the branch %s are put on top of it, and replace those on the server", r.start.Base, len(made), r.opt.Branch)
	return r.updated(from, nil)
}
