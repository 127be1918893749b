package publish

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/inspection"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

// inspectOutgoing is the last look before a push: what goes out with a commit, below it
// down to what the server has, was inspected, or is inspected now. The error is a
// *inspection.BlockedError when something may not go.
func (b *Branch) inspectOutgoing(ctx context.Context, tip plumbing.Hash, have func(plumbing.Hash) bool) error {
	if b.opt.Inspect == nil {
		return nil
	}
	there := have
	have = func(h plumbing.Hash) bool { return there(h) || b.Upstream[h] || b.Theirs[h] }
	var changes []store.Change
	var messages []inspection.Message
	for c, err := range b.Store.Since([]plumbing.Hash{tip}, have) {
		if err != nil {
			return err
		}
		list, err := b.Store.ChangesOf(c)
		if err != nil {
			return err
		}
		for _, ch := range list {
			if !b.there(c, ch, have) {
				changes = append(changes, ch)
			}
		}
		text, err := b.Store.MessageText(c.Hash)
		if err != nil {
			return err
		}
		messages = append(messages, inspection.Message{Commit: c.Hash.String(), Text: text})
	}
	return b.judge(ctx, changes, messages)
}

// there reports whether a merge has something from a parent that the server has.
func (b *Branch) there(c *store.Commit, ch store.Change, have func(plumbing.Hash) bool) bool {
	for _, p := range c.ParentHashes[min(1, len(c.ParentHashes)):] {
		if !have(p) {
			continue
		}
		parent, err := b.Store.Commit(p)
		if err != nil {
			continue
		}
		if e, err := b.Store.Lookup(parent.TreeHash, ch.Path); err == nil && e == ch.New {
			return true
		}
	}
	return false
}

// MergedTrees returns the trees of the base's commits that a merge brought in.
func (b *Branch) MergedTrees(c *store.Commit) []plumbing.Hash {
	var trees []plumbing.Hash
	for _, p := range c.ParentHashes[min(1, len(c.ParentHashes)):] {
		if !b.Theirs[p] {
			continue
		}
		if m, err := b.Store.Commit(p); err == nil {
			trees = append(trees, m.TreeHash)
		}
	}
	return trees
}

// judge inspects what no snapshot has shown. Removed files are not inspected.
func (b *Branch) judge(ctx context.Context, changes []store.Change, messages []inspection.Message) error {
	if b.opt.Inspect == nil {
		return nil
	}
	changes = slices.DeleteFunc(changes, func(ch store.Change) bool {
		return ch.New == (store.Entry{}) || b.entries[placed{ch.Path, ch.New}]
	})
	messages = slices.DeleteFunc(messages, func(m inspection.Message) bool { return b.texts[sha256.Sum256([]byte(m.Text))] })
	for _, ch := range changes {
		if !ch.New.IsBlob() || !b.Store.Has(ch.New.Hash) {
			continue // nothing of it is sent
		}
		if !b.Store.IsBlob(ch.New.Hash) {
			return fmt.Errorf("%q is no file but another object of git's", printable.Line(ch.Path, 200))
		}
	}
	if len(changes) == 0 && len(messages) == 0 {
		return nil
	}
	found, err := b.opt.Inspect(ctx, inspection.Request{
		Since: inspection.Describe(b.Objects, changes, plumbing.ZeroHash), Messages: messages, Branch: b.Name, Last: true,
	})
	if err != nil {
		return err
	}
	if err := inspection.Blocked(found); err != nil {
		b.Blocked = found
		return err
	}
	b.Blocked = nil
	b.Pass(changes, messages)
	for _, f := range found {
		b.Keep(f)
	}
	return nil
}

// Keep remembers a finding that no later look at the tree would bring back.
func (b *Branch) Keep(f ralph.Finding) {
	if !slices.Contains(b.Kept, f) {
		b.Kept = append(b.Kept, f)
	}
}

// placed is something under a name.
type placed struct {
	path string
	store.Entry
}

// Pass notes what may leave the machine.
func (b *Branch) Pass(changes []store.Change, messages []inspection.Message) {
	for _, ch := range changes {
		b.entries[placed{ch.Path, ch.New}] = true
		b.blobs[ch.New.Hash] = true
	}
	for _, m := range messages {
		b.texts[sha256.Sum256([]byte(m.Text))] = true
	}
}
