package repo

import (
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/history"
	"github.com/org/ralph-action/internal/repo/printable"
)

// resume decides what becomes of a branch that exists at tip. head is tip, or
// what is checked out when that contains it. It returns the commit to start
// from, which the workspace has.
func (r *Repo) resume(ctx context.Context, tip, head plumbing.Hash) (plumbing.Hash, error) {
	sp, err := r.branch.Between(ctx, head, r.branch.BaseTip)
	if err != nil {
		return r.resumeUnchecked(ctx, head, err)
	}
	if !r.branch.BaseTip.IsZero() && !sp.Own[tip] {
		// Merged. What is checked out may be older than that.
		if head == r.base {
			return head, nil
		}
		return r.fetchBase(ctx)
	}
	differs := true
	if !r.branch.BaseTip.IsZero() {
		if differs, err = r.branch.Differs(ctx, head); err != nil {
			return r.resumeUnchecked(ctx, head, err)
		}
		if w, err := r.branch.Work(ctx, head); err == nil {
			sp = w.Range
			if w.By == (history.Merged{}) {
				r.branch.OnBase = w.Fork
			}
		}
	}
	if differs {
		r.start.Resumed, r.start.Cut = true, sp.Cut
		for _, n := range sp.Commits {
			r.start.Messages = append(r.start.Messages, n.Message)
		}
		return head, nil
	}
	from, err := r.fetchBase(ctx)
	if err != nil {
		return head, err
	}
	start, err := r.restart(head, from)
	if err != nil {
		return head, err
	}
	if err := r.branch.ExportCommit(ctx, start, from); err != nil {
		return head, err
	}
	r.start.Restarted, r.branch.Restarted = true, true
	r.branch.Synced = head
	r.branch.Note("everything on the branch %s is in %s already: the work starts again from there", r.opt.Branch, r.start.Base)
	return start, nil
}

// resumeUnchecked goes on with a branch that could not be compared with its base.
func (r *Repo) resumeUnchecked(ctx context.Context, head plumbing.Hash, err error) (plumbing.Hash, error) {
	if ctx.Err() != nil {
		return head, err
	}
	r.start.Resumed = true
	r.branch.Note("the branch %s could not be compared with %s, and is continued as it is: %s", r.opt.Branch, r.start.Base, printable.Line(err.Error(), 300))
	return head, nil
}

// fetchBase brings the tip of the base to the workspace.
func (r *Repo) fetchBase(ctx context.Context) (plumbing.Hash, error) {
	if r.branch.BaseTip == r.base {
		return r.base, nil
	}
	if r.branch.Remote == nil {
		return r.branch.BaseTip, r.branch.ImportCommit(ctx, r.branch.BaseTip)
	}
	from, adv, err := r.branch.BaseServer(ctx)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	known := r.branch.Published
	if r.branch.BaseRemote != nil {
		known = r.branch.Upstream
	}
	in, _, err := r.bring(ctx, from, adv, r.branch.BaseTip, known)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("fetch the base branch %s: %w", r.start.Base, err)
	}
	if in {
		// The checkout stands on it, perhaps without holding it: a shallow clone.
		if !r.tree.HasTree(ctx, r.branch.BaseTip) {
			return r.base, nil
		}
		if err := r.branch.ImportCommit(ctx, r.branch.BaseTip); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	if r.branch.BaseRemote == nil {
		r.branch.Published[r.branch.BaseTip] = true
	}
	return r.branch.BaseTip, nil
}

// rebaseOntoBase prepares a new branch that is checked out as a branch other than
// the base: what that one has and the base lacks is not the run's work. The run's is
// put on top of the base when it is pushed; the workspace keeps its own line.
func (r *Repo) rebaseOntoBase(ctx context.Context, checkedOut string) error {
	if r.branch.Remote == nil || r.branch.BaseRemote != nil || !r.opt.Push || r.branch.BaseTip == r.base || checkedOut == r.start.Base || len(r.branch.Published) != 1 {
		return nil
	}
	if r.killed != nil && checkedOut == r.killed.Name {
		return nil // with a suffix of its own: what it has is the killed run's work
	}
	var at plumbing.Hash
	for h := range r.branch.Published {
		at = h
	}
	if at == r.branch.BaseTip {
		return nil
	}
	sp, err := r.branch.Between(ctx, at, r.branch.BaseTip)
	if err == nil && len(sp.Own) > 0 {
		_, err = r.branch.Commit(ctx, r.branch.BaseTip)
	}
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		r.branch.Note("what is checked out could not be compared with %s: its commits are proposed too (%s)", r.start.Base, printable.Line(err.Error(), 300))
		return nil
	}
	if len(sp.Own) == 0 {
		return nil
	}
	r.branch.Published[r.branch.BaseTip] = true
	r.branch.Onto, r.branch.Synced, r.branch.Aside = r.branch.BaseTip, at, true
	what := "what is checked out"
	if checkedOut != "" {
		what = checkedOut
	}
	r.branch.Note("%s has %d commit(s) that %s lacks: the work is put on top of %s without them", what, len(sp.Own), r.start.Base, r.start.Base)
	return nil
}
