package publish

import (
	"context"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/bundle"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

// Squash makes one commit, on top of another, of what the branch holds now. It is not of the
// branch. Like all that leaves the machine it was inspected, or is inspected now; the error
// is a *inspection.BlockedError if something of it may not go.
func (b *Branch) Squash(ctx context.Context, onto string, c store.Commit) (commit string, paths []string, err error) {
	if large := b.Large.Needed(); len(large) > 0 {
		return "", nil, fmt.Errorf("%q is kept by Git LFS, whose objects a bundle cannot hold: work on this story by pull request", printable.Line(large[0].Path, 200))
	}
	parent := plumbing.NewHash(onto)
	c.TreeHash, c.ParentHashes, c.Message = b.TipTree, []plumbing.Hash{parent}, store.Message(c.Message)
	made, err := b.Store.WriteCommit(&c)
	if err != nil {
		return "", nil, err
	}
	if err := b.inspectOutgoing(ctx, made, func(h plumbing.Hash) bool { return h == parent }); err != nil {
		return "", nil, err
	}
	changes, err := b.Store.ChangesOf(&c)
	for _, ch := range changes {
		paths = append(paths, ch.Path)
	}
	return made.String(), paths, err
}

// Bundle writes the commits from a base up to a tip as a git bundle.
func (b *Branch) Bundle(w io.Writer, base, tip, name string) error {
	return bundle.Write(w, b.Store, plumbing.NewHash(base), plumbing.NewHash(tip), name)
}

// Unbundle brings the commits of a bundle into the store.
func (b *Branch) Unbundle(f io.Reader, want bundle.Want) error { return bundle.Read(f, b.Store, want) }

// Judge says why the commits up to a tip, on top of a base, are not what this run could have
// made: they are not whole, or hold what may not be published.
func (b *Branch) Judge(ctx context.Context, tip, base string) error {
	below := plumbing.NewHash(base)
	have := func(h plumbing.Hash) bool { return h == below }
	at, err := b.Store.Commit(below)
	if err != nil {
		return err
	}
	for c, err := range b.Store.Since([]plumbing.Hash{plumbing.NewHash(tip)}, have) {
		if err != nil {
			return err
		}
		if !b.Store.Whole(c.TreeHash) {
			return fmt.Errorf("the commit %.12s is not whole", c.Hash)
		}
		changes, err := b.Store.Diff(at.TreeHash, c.TreeHash, nil)
		if err != nil {
			return err
		}
		lacking := map[plumbing.Hash]bool{}
		for _, ch := range changes {
			if ch.New.IsBlob() && !b.Store.IsBlob(ch.New.Hash) {
				lacking[ch.New.Hash] = false
			}
		}
		if err := b.Store.Mark(at.TreeHash, lacking); err != nil {
			return err
		}
		for h, there := range lacking {
			if !there {
				return fmt.Errorf("the commit %.12s lacks the file %.12s", c.Hash, h)
			}
		}
	}
	return b.inspectOutgoing(ctx, plumbing.NewHash(tip), have)
}

// StartAt has the branch begin at a commit that is in the store, on top of the one that is
// checked out, once the run begins. The workspace gets what it lacks of it. What its branch
// of this name held is kept under a reference that a note names.
func (b *Branch) StartAt(ctx context.Context, commit, base string) error {
	tip := plumbing.NewHash(commit)
	objects, err := b.Store.Missing(tip, func(h plumbing.Hash) bool { return h == plumbing.NewHash(base) })
	if err != nil {
		return err
	}
	if err := b.Export(ctx, objects); err != nil {
		return err
	}
	return b.moveTo(ctx, tip)
}

// Afresh has the branch begin at what is checked out.
func (b *Branch) Afresh(ctx context.Context) error { return b.moveTo(ctx, plumbing.ZeroHash) }

func (b *Branch) moveTo(ctx context.Context, tip plumbing.Hash) error {
	ref := "refs/heads/" + b.opt.Branch
	old, err := b.Tree.Ref(ctx, ref)
	if err != nil || old == tip {
		return err
	}
	if !old.IsZero() {
		kept, err := b.Tree.Keep(ctx, old)
		if err != nil {
			return err
		}
		b.Note("the branch %s was here already, and is kept as %s", b.opt.Branch, kept)
	}
	if tip.IsZero() {
		return b.Tree.Git(ctx, nil, nil, "update-ref", "-d", ref)
	}
	if err := b.Tree.Git(ctx, nil, nil, "update-ref", ref, tip.String()); err != nil {
		return fmt.Errorf("begin at %s: %w", tip, err)
	}
	return nil
}
