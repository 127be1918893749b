package publish

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/inspection"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/signing"
	"github.com/org/ralph-action/internal/repo/store"
)

// signed is what a run knows of the commits the forge made for it.
type signed struct {
	made    map[plumbing.Hash]plumbing.Hash // tips, each with the commit of the line it brought to the server
	commits int                             // that arrived on a branch
	unsure  int                             // of these not verified
}

// pushSigned is pushOnce by the API: each commit of the line that the server
// lacks is made anew there, on top of what the branch holds, and the branch
// moves once, at the end. The server's commits are others than the line's from
// then on, as if somebody else had pushed them.
func (b *Branch) pushSigned(ctx context.Context, adv remote.Advertisement) error {
	old := adv.Branch(b.Name)
	if err := b.recognise(ctx, old); err != nil {
		return err
	}
	if err := b.buildOn(ctx, old); err != nil {
		return err
	}
	if err := b.withdrawUnsignable(); err != nil || !b.Pending {
		return err // nothing may be left
	}
	tip, chain, err := b.unsigned(adv)
	if err != nil {
		return err
	}
	var made []signing.Signed
	at, err := b.Store.Commit(tip)
	if err != nil {
		return err
	}
	tree := at.TreeHash
	for _, c := range slices.Backward(chain) {
		want, to, err := b.onTop(ctx, adv, c, tip, tree)
		if err != nil {
			return err
		}
		if want == nil {
			continue // brings nothing new
		}
		one, err := b.signing.Make(ctx, *want)
		if err != nil {
			return err
		}
		made = append(made, one)
		tip, tree = plumbing.NewHash(one.ID), to
	}
	if tip != old {
		b.signed.made[tip] = b.Tip
		moved, err := b.signing.MoveBranch(ctx, b.Name, tip.String(), old.IsZero())
		if err != nil {
			return err
		}
		if moved {
			return remote.ErrNotFastForward
		}
		b.countSigned(made)
	}
	if !b.Store.Has(tip) {
		if err := b.fetchForeign(ctx, tip); err != nil {
			return fmt.Errorf("fetch the commits the forge made: %w", err)
		}
	}
	b.ServerTip, b.Onto, b.Pushed, b.Synced = tip, tip, tip, b.Tip
	b.Published[tip] = true
	b.Join = plumbing.ZeroHash
	return nil
}

// recognise finds a branch that stands where this run brought it, though the
// answer got lost.
func (b *Branch) recognise(ctx context.Context, old plumbing.Hash) error {
	end, ours := b.signed.made[old]
	if !ours || old == b.ServerTip {
		return nil
	}
	_, at, err := b.Store.Chain(b.Tip, func(h plumbing.Hash) bool { return h == end || h == b.Synced })
	if err != nil || at != end {
		return nil //nolint:nilerr // the line was made anew since
	}
	if !b.Store.Has(old) {
		if err := b.fetchForeign(ctx, old); err != nil {
			return fmt.Errorf("fetch the commits the forge made: %w", err)
		}
	}
	b.ServerTip, b.Onto, b.Synced = old, old, end
	b.Published[old] = true
	return nil
}

// unsigned lists the commits to make, newest first, and what they go on top of.
// Commits that were made here before the run are among them.
func (b *Branch) unsigned(adv remote.Advertisement) (onto plumbing.Hash, chain []*store.Commit, err error) {
	chain, onto, err = b.Store.Chain(b.Tip, func(h plumbing.Hash) bool {
		return b.Onto.IsZero() && b.surelyOnServer(adv, h) || !b.Onto.IsZero() && h == b.Synced
	})
	if err != nil {
		return onto, nil, fmt.Errorf("no way from %s down to what the server has: %w", b.Tip, err)
	}
	if b.Onto.IsZero() {
		return onto, chain, nil
	}
	if join, err := b.Store.Commit(b.Join); err == nil && join.ParentHashes[0] == b.Onto {
		chain = []*store.Commit{join}
	}
	return b.Onto, chain, nil
}

// surelyOnServer reports whether the server has a commit for certain.
func (b *Branch) surelyOnServer(adv remote.Advertisement, h plumbing.Hash) bool {
	if b.Published[h] {
		return true
	}
	for _, tip := range adv.Refs {
		if tip == h {
			return true
		}
	}
	return false
}

// onTop describes a commit of the line on top of another one, whose tree is
// base. A merge keeps its other parents when the server has them, and is one
// commit with what it brought when not. nil: it brings nothing.
func (b *Branch) onTop(ctx context.Context, adv remote.Advertisement, c *store.Commit, tip, base plumbing.Hash) (*signing.Commit, plumbing.Hash, error) {
	parent, err := b.Store.ParentTree(c)
	if err != nil {
		return nil, base, err
	}
	tree := c.TreeHash
	if parent != base {
		var conflicts []string
		if tree, conflicts, err = b.Merge(ctx, parent, c.TreeHash, base); err != nil {
			return nil, base, err
		}
		if len(conflicts) > 0 {
			return nil, base, &ConflictError{Path: conflicts[0]}
		}
	}
	want := &signing.Commit{Message: c.Message, Parents: []string{tip.String()}, Base: base.String(), Tree: tree.String()}
	for _, p := range c.ParentHashes[1:] {
		if c.Hash == b.Start || b.surelyOnServer(adv, p) {
			want.Parents = append(want.Parents, p.String())
		}
	}
	if tree == base && len(want.Parents) == 1 && c.TreeHash != parent {
		return nil, base, nil
	}
	changes, err := b.Store.Diff(base, tree, nil)
	if err != nil {
		return nil, base, err
	}
	unseen := slices.DeleteFunc(slices.Clone(changes), func(ch store.Change) bool {
		return b.there(c, ch, func(h plumbing.Hash) bool { return b.surelyOnServer(adv, h) })
	})
	if err := b.judge(ctx, unseen, nil); err != nil {
		return nil, base, err
	}
	want.Files, err = b.signing.Files(changes)
	return want, tree, err
}

// countSigned counts commits that are on a branch now.
func (b *Branch) countSigned(made []signing.Signed) {
	for _, one := range made {
		b.signed.commits++
		if one.Verified {
			continue
		}
		b.signed.unsure++
		if b.signed.unsure == 1 {
			b.Note("the forge made the commit %s and does not call it verified (%s): it signs for bots alone, GITHUB_TOKEN or the token of a GitHub App; a personal token's commits stay unsigned", one.ID[:7], printable.Line(one.Reason, 100))
		}
	}
}

// verified reports whether the forge made commits and calls each of them verified.
func (s signed) verified() bool { return s.commits > 0 && s.unsure == 0 }

// withdrawUnsignable takes out of the line what the API cannot carry: a push
// that fails each time would lose everything else, too.
func (b *Branch) withdrawUnsignable() error {
	chain, err := b.unpublished()
	if err != nil {
		return nil //nolint:nilerr // such a line holds commits of before the run, and is judged file by file
	}
	unsignable := func(ch store.Change) bool { return signing.Unsignable(b.Store, ch) }
	found := false
	for _, c := range chain {
		changes, err := b.Store.ChangesOf(c)
		if err != nil {
			return err
		}
		found = found || slices.ContainsFunc(changes, unsignable)
	}
	if !found {
		return nil // withdraw would make merges anew
	}
	large := inspection.Omission{Reason: fmt.Sprintf("larger than %d MB, which the forge's API does not take; use Git LFS, ignore it, or set sign-commits to false", signing.MaxBytes/1_000_000)}
	named := inspection.Omission{Reason: "the name is not UTF-8, which the forge's API does not take; rename it, or set sign-commits to false"}
	taken, err := b.withdraw(unsignable)
	if err != nil {
		return err
	}
	for _, ch := range taken {
		if utf8.ValidString(ch.Path) {
			large.Changes = append(large.Changes, ch)
		} else {
			named.Changes = append(named.Changes, ch)
		}
	}
	for _, o := range []inspection.Omission{large, named} {
		if len(o.Changes) > 0 {
			b.withdrawn(o)
		}
	}
	return nil
}
